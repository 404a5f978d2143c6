"""One accumulator of outer products, whatever the panels and the blocks."""

import pickle

import numpy as np
import pytest

from edgelaw._common.gram import OuterProducts, smaller_gram


@pytest.mark.parametrize("panel", [1, 7, 30, 256])
def test_the_lower_triangle_is_the_sum_of_outer_products_for_any_panel(panel):
    X = np.random.default_rng(0).normal(size=(50, 30))
    products = OuterProducts(30, panel)
    for block in (X[:20], X[20:21], X[21:]):
        products.add(block)
        products = pickle.loads(pickle.dumps(products))
    assert products.count == 50
    np.testing.assert_allclose(np.tril(products.total), np.tril(X.T @ X), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("shape", [(40, 9), (9, 40)])
def test_the_smaller_of_the_two_gram_matrices_is_summed_over_blocks(shape):
    X = np.random.default_rng(1).normal(size=shape).astype(np.float32)
    wide = X.astype(np.float64)
    expected = wide.T @ wide if shape[0] > shape[1] else wide @ wide.T
    np.testing.assert_allclose(smaller_gram(X, 7), expected, rtol=1e-12, atol=1e-12)
    X[3, 2] = np.nan
    with pytest.raises(ValueError, match="X must be finite"):
        smaller_gram(X, 7)
