"""A design of a file is the preprocessed matrix, read in blocks; what cannot be a design is refused."""

import pickle

import numpy as np
import pytest
from input_files import X, refusal

from edgelaw import data, spectrum
from edgelaw_app import files
from edgelaw_app.files import InputError, design, open_matrix


@pytest.mark.parametrize(
    ("name", "rows", "dims", "center", "normalize"),
    [
        ("x.npy", None, None, True, True),
        ("x.npz", None, None, False, False),
        ("list.parquet", 100, None, True, False),
        ("x.npy", 100, None, False, True),
        ("small.npz", None, 21, False, True),
        ("list.parquet", None, 21, True, False),
        ("x.csv", 80, 20, True, True),
        ("x.npy", 80, 20, False, False),
    ],
)
def test_a_streamed_design_is_the_preprocessed_matrix(files, name, rows, dims, center, normalize):
    options = {"rows": rows, "dims": dims, "rng": 7, "center": center, "normalize": normalize}
    expected = data.preprocess(X, **options)
    made = design(open_matrix(files / name), **options)
    assert (made.shape, made.steps) == (expected.X.shape, expected.steps)
    assert (made.bytes, made.duplicates) == (expected.X.nbytes, 0)
    rtol = 1e-7 if name == "x.csv" else 1e-12  # nine digits of float32 are in the text
    tolerance = {"rtol": rtol, "atol": rtol}
    np.testing.assert_allclose(made.matrix(), expected.X, **tolerance)
    np.testing.assert_allclose(made.take([7, 0, 7]), expected.X[[7, 0, 7]], **tolerance)


def test_a_generator_is_used_and_moved_on_as_preprocess_does(files):
    one, other = np.random.default_rng(5), np.random.default_rng(5)
    made = design(open_matrix(files / "x.npy"), rows=50, dims=20, rng=one)
    expected = data.preprocess(X, 50, 20, other)
    np.testing.assert_allclose(made.matrix(), expected.X, rtol=1e-12, atol=1e-12)
    assert one.random() == other.random()


@pytest.mark.parametrize("name", ["x.npy", "x.npz", "x.csv", "list.parquet", "x.pt", "shards"])
def test_a_design_travels_to_another_process(files, name):
    made = design(open_matrix(files / name), rows=60, dims=20, rng=3)
    again = pickle.loads(pickle.dumps(made))
    np.testing.assert_array_equal(again.matrix(), made.matrix())
    assert len(pickle.dumps(made)) < 20_000  # a description, not the data nor the projection


def test_an_array_becomes_a_design_without_a_second_copy():
    rows = np.random.default_rng(8).normal(size=(60, 30))
    made = design(rows, center=False)
    assert (made.name, made.shape, made.bytes) == ("X", (60, 30), rows.nbytes)
    assert repr(made) == "Design('X', shape=(60, 30))"
    assert made.source.in_memory
    assert made.steps[-1] == "Scaled every row to norm sqrt(30)."
    expected = rows * np.sqrt(30) / np.linalg.norm(rows, axis=1, keepdims=True)
    np.testing.assert_allclose(made.matrix(), expected, rtol=1e-14)
    np.testing.assert_array_equal(made.take([3, 1]), made.matrix()[[3, 1]])
    np.testing.assert_array_equal(made.gram_eigenvalues(), spectrum.gram_eigenvalues(made.matrix()))
    assert np.shares_memory(next(made.source.blocks(10)), rows)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(made)).matrix(), made.matrix())


# the spectrum


@pytest.fixture(scope="module")
def long(tmp_path_factory):
    """5000 rows with a large mean, as an array and in two files: one that seeks, one that is a stream."""
    folder = tmp_path_factory.mktemp("long")
    rng = np.random.default_rng(1)
    wide = rng.normal(size=(5000, 40)) * np.arange(1, 41) ** -1.0 + 30 * rng.normal(size=40)
    np.save(folder / "x.npy", wide)
    np.savez_compressed(folder / "x.npz", wide)
    return wide, folder


@pytest.mark.parametrize(
    ("name", "rows", "dims", "center", "normalize"),
    [
        ("x.npy", None, None, True, True),
        ("x.npz", None, None, True, False),
        ("x.npy", None, None, False, True),
        ("x.npz", None, None, False, False),
        ("x.npz", 4500, 30, True, True),
        ("x.npy", 4500, 30, True, False),
        ("x.npz", 4500, 30, False, True),
        ("x.npy", 4500, 30, False, False),
    ],
)
def test_the_streamed_spectrum_is_that_of_the_matrix(long, name, rows, dims, center, normalize):
    wide, folder = long
    options = {"rows": rows, "dims": dims, "rng": 2, "center": center, "normalize": normalize}
    singular = np.linalg.svd(data.preprocess(wide, **options).X, compute_uv=False)[::-1]
    expected, calls = singular**2 / (rows or 5000), []
    made = design(open_matrix(folder / name), **options)
    values = made.gram_eigenvalues(progress=lambda *call: calls.append(call))
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-13 * expected[-1])
    assert calls[-1][:2] == (made.shape[0], made.shape[0])
    assert made.duplicates == 0
    np.testing.assert_array_equal(made.gram_eigenvalues(), values)


def test_parts_of_the_rows_add_up_to_the_whole(long):
    made = design(open_matrix(long[1] / "x.npy"))
    assert made.parts(2) == [(0, 2500), (2500, 5000)]
    survey = made.survey(0, 2000).merge(made.survey(2000, 5000))
    sums = [
        made.partial(start, stop, survey._replace(prints=None)) for start, stop in ((0, 1000), (1000, 5000))
    ]
    both = pickle.loads(pickle.dumps(sums[0])).merge(sums[1])
    expected = design(long[0]).gram_eigenvalues()
    np.testing.assert_allclose(made.finish(survey, both), expected, rtol=0, atol=1e-13 * expected[-1])
    np.testing.assert_array_equal(made.gram_eigenvalues(), made.finish(survey, both))
    for lost in ((survey, sums[0]), (made.survey(0, 1000), both)):
        assert "has lost or gained rows" in refusal(made.finish, *lost)


def test_a_large_mean_costs_no_digits_of_a_centred_spectrum():
    small = np.random.default_rng(3).normal(size=(5000, 20))
    values = design(small + 1e6, normalize=False).gram_eigenvalues()
    expected = np.linalg.eigvalsh(np.cov(small.T, bias=True))
    np.testing.assert_allclose(values, expected, rtol=1e-7)  # 1e6 plus a number near 1 keeps ten digits of it
    naive = np.linalg.eigvalsh(
        (small + 1e6).T @ (small + 1e6) / 5000 - np.outer(*[(small + 1e6).mean(axis=0)] * 2)
    )
    assert abs(naive / expected - 1).max() > 1e-4  # what subtracting afterwards would have left


@pytest.mark.parametrize(("m", "d"), [(30, 40), (40, 40), (60, 40)])
def test_zeros_by_construction_are_exact_zeros(m, d):
    made = design(np.random.default_rng(4).normal(size=(m, d)) + 1)
    values = made.gram_eigenvalues()
    assert (values == 0).sum() == max(d - m + 1, 0)
    np.testing.assert_array_equal(values, spectrum.gram_eigenvalues(made.matrix()))


def test_a_null_direction_of_a_long_file_is_an_exact_zero():
    long = np.random.default_rng(4).normal(size=(5000, 21))
    long[:, 20] = long[:, 0] - long[:, 1]
    values = design(long).gram_eigenvalues()
    assert (values == 0).sum() == 1
    assert values[1] > 0.01


# refusals


def test_equal_rows_are_counted_and_refused_only_where_nothing_is_left():
    rng = np.random.default_rng(5)
    signs = rng.choice([-1.0, 1.0], size=(2000, 33)).astype(np.float32)
    distinct = len(np.unique(signs, axis=0))
    assert design(signs).duplicates == 2000 - distinct
    repeated = np.concatenate([signs, signs[:10], signs[:10]])
    assert design(repeated, center=False).duplicates == 2020 - distinct
    equal = np.tile(rng.normal(size=(1, 25)), (30, 1))
    for options in ({}, {"center": False}, {"normalize": False}, {"center": False, "normalize": False}):
        assert "all equal" in refusal(
            lambda options=options: design(np.tile(equal, (200, 1)), **options).gram_eigenvalues()
        )
        assert "all equal" in refusal(design(equal, **options).gram_eigenvalues)
    assert "all equal" in refusal(lambda: design(equal, center=False).duplicates)


def test_a_row_that_cannot_be_scaled_is_named_in_the_files_own_numbering():
    rows = np.random.default_rng(6).normal(size=(100, 20))
    rows[50:] = -rows[:50]
    rows = np.concatenate([rows, np.zeros((1, 20))])  # zero, and the mean
    assert "Row 100 of X equals the mean row" in refusal(design(rows).matrix)
    assert "Row 100 of X is zero" in refusal(design(rows, center=False).gram_eigenvalues)
    assert design(rows, normalize=False).matrix().shape == (101, 20)
    long = np.concatenate([rows] + [rows[:100]] * 50)
    assert "Row 100 of X equals the mean row" in refusal(design(long).gram_eigenvalues)
    assert "Row 100 of X equals the mean row" in refusal(design(long, rows=5101, rng=1).gram_eigenvalues)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rows": 301}, "rows must be at most the 300"),
        ({"rows": 1}, "rows must be an integer of at least 2"),
        ({"rows": 2.5}, "rows must be an integer"),
        ({"dims": 25}, "dims must be at most the 24"),
        ({"dims": 19}, "leaves 19 dimensions, but at least 20"),
        ({"rng": -1}, "rng must be"),
    ],
)
def test_a_design_that_cannot_be_is_refused(files, options, words):
    assert words in refusal(design, open_matrix(files / "x.npy"), **options)


def test_few_columns_and_bad_arrays_are_refused():
    assert "leaves 3 dimensions" in refusal(design, np.eye(3))
    assert "rectangular" in refusal(design, [[1, 2], [3]])
    assert "not an array of shape (3,)" in refusal(design, np.ones(3))
    nan = np.ones((30, 30))
    nan[3, 4] = np.nan
    assert "row 3, column '4'" in refusal(design(nan).matrix)
    assert "row 3, column '4'" in refusal(design(nan).gram_eigenvalues)


def test_an_error_about_x_is_an_error_about_the_file():
    with (
        pytest.raises(InputError, match=r"Row 3 of my X\.npy is zero, unlike X\."),
        files.named_errors("my X.npy"),
    ):
        raise ValueError("Row 3 of X is zero, unlike X.")
    with pytest.raises(InputError, match="As it is"), files.named_errors("file"):
        raise InputError("As it is: X.")


@pytest.mark.parametrize("shape", [(30, 4 * 10**6), (10**6, 10**6)])
def test_what_needs_more_memory_than_the_machine_has_is_refused(tmp_path, monkeypatch, shape):
    np.lib.format.open_memmap(tmp_path / "x.npy", "w+", np.int8, shape if shape[0] < 100 else (2, 20))
    made = design(open_matrix(tmp_path / "x.npy"), center=False)
    made.shape = shape
    monkeypatch.setattr("os.sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 10**5}.get)
    call = made.matrix if shape[0] < shape[1] else lambda: made.partial(0, None, None)
    assert "and this machine has 0.4 GB; use rows and dims for a smaller matrix" in refusal(call)

    def unknown(name):
        raise ValueError(name)

    monkeypatch.setattr("os.sysconf", unknown)
    assert design(np.eye(20)).matrix().shape == (20, 20)
