"""Arrays, tensors and sparse matrices in memory are read as files are, or refused in one sentence."""

import numpy as np
import pytest
import scipy.sparse
import torch
from input_files import X, refusal

from edgelaw_app.files import Source, design
from edgelaw_app.files.memory import as_reader
from edgelaw_app.forecast import predict

SPARSE = X.astype(np.float64) * (np.random.default_rng(1).random(X.shape) < 0.3)


def rows(values, size=70):
    return np.concatenate(list(Source([as_reader(values)], "X").blocks(size)))


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr"])
@pytest.mark.parametrize("make", [scipy.sparse.csr_matrix, scipy.sparse.csr_array])
def test_sparse_matrices_are_read_by_blocks(kind, make):
    matrix = make(SPARSE).asformat(kind)
    np.testing.assert_array_equal(rows(matrix), SPARSE)
    source = Source([as_reader(matrix)], "X")
    np.testing.assert_array_equal(source.take([7, 3, 299]), SPARSE[[7, 3, 299]])
    assert np.array_equal(design(matrix).gram_eigenvalues(), design(SPARSE).gram_eigenvalues())


def test_a_wide_sparse_matrix_is_never_filled_up_whole():
    wide = scipy.sparse.random_array((5000, 10**6), density=1e-6, rng=np.random.default_rng(0), format="csr")
    blocks = as_reader(wide).read(0, 5000, 4096)
    assert next(blocks).nbytes <= 2**26


def test_sparse_matrices_that_cannot_be_read_are_refused():
    assert (
        "format csr, csc, bsr or coo, with a number in many of its rows, not one in the format dia"
        in refusal(design, scipy.sparse.dia_array(np.eye(30)))
    )
    damaged = scipy.sparse.csr_array(SPARSE)
    damaged.indices[5] = 10**6
    assert "X must be a rectangular array of real numbers: " in refusal(design, damaged)
    assert "not dtype complex128" in refusal(design, scipy.sparse.csr_array(SPARSE * 1j))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32, torch.float64, torch.int16])
def test_tensors_are_read_whatever_numbers_they_hold(dtype):
    tensor = torch.from_numpy(X).to(dtype)
    np.testing.assert_array_equal(rows(tensor), tensor.double().numpy())
    if dtype.is_floating_point:
        np.testing.assert_array_equal(rows(tensor.clone().requires_grad_()), tensor.double().numpy())


def test_tensors_that_are_no_plain_matrix_are_refused():
    assert "to_dense()" in refusal(design, torch.from_numpy(SPARSE).to_sparse())
    assert "must be a rectangular array of real numbers: " in refusal(
        design, torch.ones(30, 30).to(torch.float8_e5m2)
    )
    assert "not dtype complex64" in refusal(design, torch.ones(30, 30, dtype=torch.complex64))
    assert "not an array of shape (30,)" in refusal(design, torch.ones(30))


def test_a_few_bytes_that_mean_a_matrix_beyond_all_bounds_are_refused():
    one = ([1.0], ([0], [0]))
    tall, wide = (scipy.sparse.coo_array(one, shape=shape) for shape in ((10**12, 30), (30, 10**12)))
    assert "of 1 numbers in 1,000,000,000,000 rows" in refusal(design, tall)
    assert "2 to 4,194,304 columns, not an array of shape (30, 1000000000000)" in refusal(design, wide)


class Stubborn:
    """What numpy cannot make an array of."""

    def __array__(self, *_, **__):
        raise TypeError("not today.\nNor ever.")


def test_what_is_no_array_of_numbers_is_refused():
    assert "rectangular" in refusal(design, [[1.0, 2.0], [3.0]])
    assert "not dtype object" in refusal(design, np.full((30, 30), "a", dtype=object))
    assert "not today. Nor ever." in refusal(design, Stubborn())
    assert "dtype <U1" in refusal(design, np.full((30, 30), "a"))


def test_predict_takes_tensors_sparse_matrices_and_truth_values():
    options = {"epochs": 2, "orders": "iid", "operations": 1e8}
    truth = SPARSE > 0
    expected = predict(truth.astype(float), **options).to_dict()
    assert predict(truth, **options).to_dict() == expected
    assert predict(scipy.sparse.csr_array(truth.astype(float)), **options).to_dict() == expected
    assert predict(torch.from_numpy(truth).to(torch.bfloat16), **options).to_dict() == expected
