"""Every path is bounded by the operations that it may take, whatever the shape of the rows."""

import numpy as np
import pytest

from edgelaw import data
from edgelaw_app.forecast import predict, probe
from edgelaw_app.forecast.runs import Budget

SHAPES = [(m, d) for m in (25, 96, 500, 4000) for d in (20, 96, 1000)]
OPERATIONS = 2e7


@pytest.fixture
def steps_of_theory(monkeypatch):
    """Counts the curves and the losses that are computed: the part of a forecast that is not running SGD."""
    from edgelaw_app.forecast.labelled import Labelled
    from edgelaw_app.forecast.spectral import Spectral

    calls = []
    for kind in (Labelled, Spectral):

        def counted(problem, *arguments, theory=kind.theory, **options):
            calls.append(problem.shape)
            return theory(problem, *arguments, **options)

        monkeypatch.setattr(kind, "theory", counted)
    return calls


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_rows_of_odd_shapes_are_forecast_within_the_operations(steps_of_theory, shape):
    X = data.gaussian(*shape, rng=sum(shape)) * np.arange(1, shape[1] + 1) ** -0.25
    made = predict(X, 5, ["iid", "single_shuffle"], operations=OPERATIONS)
    assert made.operations <= OPERATIONS
    assert set(made.orders) == {"iid", "single_shuffle"}
    assert len(steps_of_theory) <= 60


@pytest.mark.parametrize("shape", [(m, d) for m, d in SHAPES if m * d <= 10**6], ids=str)
def test_labels_of_odd_shapes_are_forecast_within_the_operations(steps_of_theory, shape):
    rng = np.random.default_rng(sum(shape))
    X = rng.standard_normal(shape) * np.arange(1, shape[1] + 1) ** -0.25
    y = X @ rng.standard_normal(shape[1]) + rng.standard_normal(shape[0])
    made = probe(X, y, 3, ["iid", "random_reshuffle", "flip_flop"], operations=OPERATIONS)
    assert made.operations <= OPERATIONS
    assert {"iid", "random_reshuffle"} <= set(made.orders)
    left_out = "left_out" in [one.code for one in made.cautions]
    assert left_out == ("flip_flop" not in made.orders)
    assert len(steps_of_theory) <= 60


def test_a_budget_has_never_less_than_nothing_left():
    budget = Budget(10.0)
    budget.spent += 4.0
    assert (budget.left, budget.spent) == (6, 4)
    budget.spent += 8.0
    assert budget.left == 0
