"""Arrays and designs become designs of rows of equal norm, and what was done is said."""

import numpy as np
import pytest

from edgelaw import data, inputs
from edgelaw.forecast import rows
from edgelaw.forecast.rows import SCALED, equal_norm_design
from edgelaw.predict import predict


def test_an_array_is_scaled_and_says_so_only_where_lengths_differ():
    X = data.normalize_rows(data.gaussian(30, 24, rng=0))
    design, preparation = equal_norm_design(X)
    assert preparation == ()
    assert np.allclose(design.matrix(), X, rtol=1e-14)
    uneven, preparation = equal_norm_design(X * np.logspace(-150, 150, 30)[:, None])
    assert preparation == (SCALED,)
    assert np.allclose(uneven.matrix(), X, rtol=1e-12)


def test_rows_of_one_direction_count_as_repeated():
    X = data.gaussian(30, 24, rng=0)
    X[20:] = 2 * X[:10]
    assert equal_norm_design(X)[0].duplicates == 10


def test_a_design_is_taken_as_it_is_unless_its_norms_differ(monkeypatch):
    X = data.gaussian(40, 24, rng=3)
    made = inputs.design(X, rng=0)
    assert equal_norm_design(made) == (made, made.steps)
    uneven = inputs.design(X, center=False, normalize=False)
    design, preparation = equal_norm_design(uneven)
    assert preparation == (*uneven.steps, SCALED)
    assert np.allclose(design.matrix(), data.normalize_rows(X))
    monkeypatch.setattr(rows, "LARGEST_BYTES", 1)
    with pytest.raises(ValueError, match="make it with normalize=True"):
        equal_norm_design(uneven)


def test_a_design_gives_the_prediction_of_its_array():
    X = data.gaussian(40, 40, rng=3)
    array = predict(X, epochs=3, orders=["iid"], search=False)
    design = predict(inputs.design(X, center=False), epochs=3, orders=["iid"], search=False)
    assert array.preparation == (SCALED,)
    assert design.preparation[-1] == "Scaled every row to norm sqrt(40)."
    assert np.allclose(array.forecasts["iid"].curve.test, design.forecasts["iid"].curve.test, rtol=1e-12)
