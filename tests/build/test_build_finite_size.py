"""The script that measures finite size: a recorded case again, and rows in their span."""

import finite_size
import numpy as np
import pytest

from edgelaw import data
from edgelaw.spectrum import gram_eigenvalues


@pytest.mark.parametrize("case", [("1/j", 100, 0.3, 1.0), ("cifar10", 160, 0.5, 0.7)])
def test_a_recorded_case_comes_out_again(case):
    number, recorded = finite_size.CASES.index(case), data.sweep("finite_size")
    part = finite_size.cell(number)
    for key in ("effective_rank", "slowest", "predicted"):
        np.testing.assert_allclose(part[key], recorded[key][number], rtol=1e-4)
    np.testing.assert_allclose(part["off"], recorded["off"][number], rtol=2e-3, atol=1e-4)


def test_fewer_rows_are_taken_in_their_span_with_their_inner_products():
    X = finite_size.rows("1/j", 20, 50, np.random.default_rng(0))
    U = X / np.linalg.norm(X, axis=1)[:, None]
    inside = finite_size.in_span(X)
    assert inside.shape == (20, 20)
    np.testing.assert_allclose(inside @ inside.T, U @ U.T, atol=1e-12)
    np.testing.assert_allclose(gram_eigenvalues(inside), gram_eigenvalues(U)[30:], rtol=1e-9)
    assert finite_size.in_span(X[:, :10]).shape == (20, 10)


def test_every_kind_of_row_has_the_shape_that_was_asked_for():
    for kind in (*finite_size.FITTED, *finite_size.TRIED):
        assert finite_size.rows(kind, 30, 24, np.random.default_rng(1)).shape == (30, 24)
