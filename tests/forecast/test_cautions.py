"""Every caution is given where it applies, and says by how much."""

import numpy as np
import pytest

from edgelaw import data
from edgelaw.laws import EdgeFit
from edgelaw_app.forecast import predict
from edgelaw_app.forecast.cautions import BY_WEIGHT, Facts, cautions
from edgelaw_app.forecast.results import Diagnostic

FITS = Diagnostic(0.2, 0.2, 0.0, 0.01, 0.03, True, "As it should.")


def facts(**changes):
    """Two hundred square rows with nothing to be said about them, and changes to that."""
    plain = {
        "shape": (200, 200),
        "eigenvalues": np.linspace(0.001, 2, 200),
        "edge": EdgeFit(0.5, 0.64, window=(1e-4, 0.1)),
        "edge_error": 0.02,
        "diagnostic": FITS,
        "duplicates": 0,
        "epochs": 20,
        "step": 1.0,
        "target": None,
    }
    return Facts(**(plain | changes))


def codes(given):
    return [caution.code for caution in cautions(given)]


def test_rows_of_the_kind_assumed_get_no_caution():
    assert codes(facts()) == []


@pytest.mark.parametrize(
    ("changes", "code", "text"),
    [
        ({"diagnostic": Diagnostic(0.3, 0.2, 0.5, 0.01, 0.03, False, "Too much.")}, "not_haar", "Too much."),
        (
            {"diagnostic": Diagnostic(0.3, 0.2, 0.5, 0.3, 0.05, False, "Who knows?", "undecided")},
            "undecided",
            "Who knows?",
        ),
        ({"shape": (39, 39)}, "few_rows", "39 rows"),
        ({"columns": ("Column 'id' is odd.", "So is 'x'.")}, "columns", "Column 'id' is odd. So is 'x'."),
        ({"duplicates": 7}, "duplicates", "7 rows repeat"),
        (
            {"shape": (100, 200), "eigenvalues": np.append(np.zeros(100), np.ones(100))},
            "plateau",
            "at 0.5 for",
        ),
        ({"eigenvalues": np.append(0, np.ones(199))}, "null_direction", "1 direction of 200 is in no row"),
        (
            {"eigenvalues": np.append([0, 0], np.ones(198))},
            "null_direction",
            "2 directions of 200 are in no row",
        ),
        ({"shape": (400, 200), "eigenvalues": np.ones(200)}, "exponential", "With 2 rows per dimension"),
        ({"edge_error": 0.16}, "edge_uncertain", "0.50 ± 0.16"),
        ({"edge": None, "edge_error": None, "edge_reason": "It is bent."}, "no_window", "It is bent."),
        ({"step": 1e-9}, None, None),
        ({"edge": EdgeFit(0.5, 1e-3, window=(1e-4, 0.1))}, "no_window", "No power law to speak of"),
    ],
)
def test_each_caution_is_given_alone_where_it_alone_applies(changes, code, text):
    given = cautions(facts(**changes))
    assert [caution.code for caution in given] == ([code] if code else [])
    assert all(text in caution.text for caution in given)


def test_the_weightiest_caution_comes_first():
    bad = Diagnostic(0.3, 0.2, 0.5, 0.01, 0.03, False, "Too much.")
    values = np.append(np.zeros(30), np.ones(30))
    every = facts(
        shape=(30, 60), eigenvalues=values, diagnostic=bad, duplicates=3, edge=None, edge_error=None
    )
    assert codes(every) == ["not_haar", "few_rows", "duplicates", "plateau", "no_window"]
    assert [function.__name__ for function in BY_WEIGHT][:2] == ["not_haar", "few_rows"]


def test_a_plateau_is_announced_with_its_height_and_the_training_loss_decides():
    prediction = predict(
        data.gaussian(40, 80, rng=0), epochs=5, target=0.3, orders=["iid", "single_shuffle"], search=False
    )
    text = next(caution.text for caution in prediction.warnings if caution.code == "plateau")
    assert "0.5" in text
    assert "never" in text
    assert prediction.forecasts["iid"].beyond["test"].startswith("never")
    assert prediction.forecasts["iid"].epochs_to_target["train"] is not None
    assert "the training loss is" in prediction.advice.reason


def test_centring_leaves_a_null_direction():
    X = data.gaussian(60, 60, rng=0)
    prediction = predict(X - X.mean(axis=0), epochs=3, orders=["iid"], search=False)
    assert "null_direction" in {caution.code for caution in prediction.warnings}
    assert prediction.eigenvalues[0] == 0 < prediction.eigenvalues[1]


def test_too_few_eigenvalues_have_no_edge_and_say_so():
    prediction = predict(data.gaussian(25, 25, rng=0), epochs=2, orders=["iid"], search=False)
    assert prediction.edge is None
    assert {"few_rows", "no_window"} <= {caution.code for caution in prediction.warnings}
