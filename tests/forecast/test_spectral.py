"""Arrays and designs become designs of rows of equal norm, and what was done is said."""

import json

import numpy as np
import pytest
from edgelaw_app.forecast.rows import SCALED, equal_norm_design
from running import run

from edgelaw import data
from edgelaw_app import files
from edgelaw_app.forecast import predict, rows


def with_a_mean(m, d, seed=0):
    """Rows with a mean far from zero, as embeddings have."""
    return data.gaussian(m, d, rng=seed) + 3.0


def test_an_array_is_prepared_as_the_command_prepares_a_file():
    X = with_a_mean(40, 24)
    for center in (True, False):
        design, preparation = equal_norm_design(X, center)
        file = files.design(X, center=center)
        assert preparation == file.steps
        assert design.center is center
        assert np.array_equal(design.matrix(), file.matrix())


def test_rows_of_any_length_are_scaled():
    X = data.normalize_rows(data.gaussian(30, 24, rng=0))
    uneven, preparation = equal_norm_design(X * np.logspace(-300, 90, 30)[:, None], center=False)
    assert preparation[-1] == "Scaled every row to norm sqrt(24)."
    assert np.allclose(uneven.matrix(), X, rtol=1e-12)


def test_a_design_is_taken_as_it_is_unless_its_norms_differ(monkeypatch):
    X = data.gaussian(40, 24, rng=3)
    made = files.design(X, rng=0)
    assert equal_norm_design(made) == (made, made.steps)
    uneven = files.design(X, center=False, normalize=False)
    design, preparation = equal_norm_design(uneven)
    assert preparation == (*uneven.steps, SCALED)
    assert np.allclose(design.matrix(), data.normalize_rows(X))
    monkeypatch.setattr(rows, "LARGEST_BYTES", 1)
    with pytest.raises(ValueError, match="make it with normalize=True"):
        equal_norm_design(uneven)


@pytest.mark.parametrize("center", [True, False])
def test_a_design_gives_the_prediction_of_its_array(center):
    X = with_a_mean(40, 40, seed=3)
    array = predict(X, epochs=3, orders=["iid"], search=False, center=center)
    design = predict(files.design(X, center=center), epochs=3, orders=["iid"], search=False)
    assert array.to_dict() == design.to_dict()


def test_python_and_the_command_say_the_same_of_the_same_rows(tmp_path):
    X = with_a_mean(60, 50)
    np.save(tmp_path / "x.npy", X)
    for center, option in ((True, "--center"), (False, "--no-center")):
        words = ["--json", "--epochs", 3, "--order", "iid", "--no-search", "--no-simulate"]
        status, out, _ = run("predict", tmp_path / "x.npy", *words, option)
        prediction = predict(X, 3, orders=["iid"], search=False, simulate=False, center=center)
        printed = json.loads(out)
        assert status == 0
        assert {key: printed[key] for key in prediction.to_dict()} == prediction.to_dict()
        assert (
            prediction.effective_rank > 20
        ) is center  # the mean row is all there is to see without centring


def test_a_design_is_centred_where_it_is_made():
    with pytest.raises(ValueError, match="already a design; give center to the call that made it"):
        predict(files.design(with_a_mean(40, 24)), 3, center=False)
