"""Least squares and ridge regression from the decomposition, beside solutions of the normal equations."""

import numpy as np
import pytest

from edgelaw.exact.labels import LabelledRows
from edgelaw_app.forecast import ridge as closed_form
from edgelaw_app.forecast.preparation import prepare


def direct(made, ridge):
    m, d = made.X.shape
    W = np.linalg.solve(made.X.T @ made.X / m + ridge * np.eye(d), made.X.T @ made.T / m)
    return [float(((X @ W - T) ** 2).sum() / len(X)) for X, T in ((made.X, made.T), made.held)]


@pytest.mark.parametrize("rows", [300, 24])  # more rows than dimensions, and fewer
def test_losses_are_those_of_the_solved_equations(numbers, rows):
    X, y = numbers
    made = prepare(X[:rows], y[:rows], (X[200:], y[200:]), ("center", "intercept"), np.random.default_rng(0))
    solved = closed_form.solve(LabelledRows.of(made.X, made.T, made.held))
    train, held = direct(made, solved.ridge)
    assert solved.ridge_train == pytest.approx(train, rel=1e-6, abs=1e-9)
    assert solved.ridge_held_out == pytest.approx(held, rel=1e-6)
    W = np.linalg.lstsq(made.X, made.T, rcond=1e-10)[0]
    assert solved.least_squares_held_out == pytest.approx(
        ((made.held[0] @ W - made.held[1]) ** 2).sum() / 100
    )
    assert solved.least_squares_train == pytest.approx(((made.X @ W - made.T) ** 2).sum() / rows, abs=1e-9)
    for factor in (0.3, 3.0):  # no other ridge is better by more than the grid's spacing allows
        assert direct(made, factor * solved.ridge)[1] >= 0.999 * held


def test_without_held_out_rows_there_is_no_best_ridge(numbers):
    made = prepare(*numbers, None, ("center", "intercept"), np.random.default_rng(0))
    solved = closed_form.solve(LabelledRows.of(made.X, made.T))
    assert solved.ridge is None
    assert solved.ridge_held_out is None
