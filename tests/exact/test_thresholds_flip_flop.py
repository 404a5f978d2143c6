"""Flip-flop's thresholds: what each is for, and that a factor of ten the wrong way is noticed."""

import numpy as np
import pytest

from edgelaw import exact
from edgelaw.exact import graded_circle
from edgelaw.exact.flip_flop import boundary, collocation
from edgelaw.theory import flip_flop as closed_form


def marchenko_pastur(rho, size=400):
    """Eigenvalues of XᵀX/m and their shares, for m = ρd isotropic rows with ρ > 1."""
    x, weights = np.polynomial.legendre.leggauss(size)
    values = 1 + 1 / rho - 2 * np.cos(np.pi * (x + 1) / 2) / np.sqrt(rho)
    weights = weights * np.sin(np.pi * (x + 1) / 2) ** 2 / values
    return values, weights / weights.sum()


def isotropic(rho, step, epochs):
    values, weights = marchenko_pastur(rho)
    return exact.curve("flip_flop", values, epochs, step, rho, weights=weights)


SPIKED = np.append(np.linspace(0.5, 1, 60), [20.0, 40.0])


@pytest.mark.parametrize(
    ("room", "name", "wrong", "worse"),
    [
        (collocation, "_FOLDS", 0.3, "work"),
        (collocation, "_FOLDS", 30.0, "error"),
        (collocation, "_GROWTH", 40.0, "error"),
        (boundary, "_GUESSES_FROM", 1, "work"),
    ],
)
def test_moved_by_ten_a_curve_is_worse_or_takes_more_work(monkeypatch, room, name, wrong, worse):
    """The stated error is four times as large, or the curve refused; or Newton's equations are half as much more."""
    work = []
    linearised = collocation.Problem.linearised

    def counted(self, z, X):
        work[-1] += X.shape[1] ** 2 * X.shape[0]
        return linearised(self, z, X)

    def tried():
        work.append(0)
        try:
            return exact.curve("flip_flop", SPIKED, 20, 1.5).error
        except ArithmeticError:
            return np.inf

    monkeypatch.setattr(collocation.Problem, "linearised", counted)
    right = tried()
    monkeypatch.setattr(room, name, wrong)
    moved = tried()
    assert right < 1e-3
    assert moved > 4 * right if worse == "error" else work[1] > 1.5 * work[0]


def test_no_less_is_stated_than_sums_over_a_circle_have_lost(monkeypatch):
    """LEAST: a tenth of it would not cover this curve's true error."""
    n = np.array([15, 20])
    curve = isotropic(2.0, 1.8, n)
    truth = closed_form.test_loss(n, 1.8, 2.0)
    assert graded_circle.LEAST <= curve.error < 1e-6
    assert np.abs(curve.test[1:] / truth - 1).max() < graded_circle.LEAST
