"""Flip-flop's thresholds: what each is for, and that a factor of ten the wrong way is noticed."""

import numpy as np
import pytest

from edgelaw import exact
from edgelaw.exact import flip_flop, graded_circle, levy, sources
from edgelaw.exact.batches.partition import partition
from edgelaw.exact.flip_flop import batches, boundary, collocation, spectra, walk
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


def levels(power, count):
    """Levels j^−power of 96 eigenvalues, zeros otherwise."""
    return np.append(np.zeros(96 - count), np.arange(1.0, count + 1) ** -power)


SPIKED = np.append(np.linspace(0.5, 1, 60), [20.0, 40.0])
POWER = np.arange(1, 81.0) ** -1.0


@pytest.mark.parametrize(
    ("room", "name", "wrong", "case", "worse"),
    [
        (boundary, "_BELOW", 8.5, (POWER, 20, 1.0, 4.0), "error"),
        (boundary, "_BELOW", 0.085, (POWER, 20, 1.0, 4.0), "error"),
        (boundary, "_FOLDS", 0.3, (POWER, 20, 1.0, 4.0), "work"),
        (collocation, "_GROWTH", 40.0, (POWER, 20, 1.0, 4.0), "error"),
        (collocation, "_CHART_TOO_LARGE", 0.2, (levels(0.5, 48), 40, 0.5, 0.5), "error"),
        (collocation, "_CHART_TOO_LARGE", 20.0, (levels(1.0, 24), 100, 1.0, 0.25), "work"),
        (walk, "_SHORTEST_STRIDE", 0.3, (levels(1.0, 24), 60, 0.4, 0.25), "error"),
        (walk, "_SHORTEST_STRIDE", 0.003, (levels(0.5, 24), 20, 1.2, 0.25), "work"),
        (walk, "_GUESSES_FROM", 1, (POWER, 60, 0.5, 1.0), "work"),
    ],
)
def test_moved_by_ten_a_curve_is_worse_or_takes_more_work(monkeypatch, room, name, wrong, case, worse):
    """The stated error is four times as large, or the curve refused; or Newton's equations are half as much more."""
    work = []
    linearised = collocation.Problem.linearised

    def counted(self, z, X):
        work[-1] += X.shape[1] ** 2 * X.shape[0]
        return linearised(self, z, X)

    def tried():
        (values, last, step, rho) = case
        work.append(0)
        try:
            return exact.curve("flip_flop", values, [last // 2, last], step, rho).error
        except (ArithmeticError, ValueError):
            return np.inf

    monkeypatch.setattr(collocation.Problem, "linearised", counted)
    right = tried()
    monkeypatch.setattr(room, name, wrong)
    moved = tried()
    assert right < 1e-3
    assert moved > 4 * right if worse == "error" else work[1] > 1.5 * work[0]


def test_few_folds_of_a_loss_are_in_a_panel(monkeypatch):
    """_FOLDS."""
    right = isotropic(8.0, 0.7, 8).error
    monkeypatch.setattr(boundary, "_FOLDS", 30.0)
    assert isotropic(8.0, 0.7, 8).error > 10 * right


def test_no_less_is_stated_than_sums_over_a_circle_have_lost(monkeypatch):
    """LEAST: a tenth of it would not cover this curve's true error."""
    n = np.array([150, 200])
    curve = isotropic(2.0, 1.8, n)
    truth = closed_form.test_loss(n, 1.8, 2.0)
    assert graded_circle.LEAST <= curve.error < 1e-6
    assert np.abs(curve.test[1:] / truth - 1).max() < graded_circle.LEAST


def test_a_contour_that_leaves_weight_outside_is_not_used():
    """An exact power law leaves weight outside a contour in its gap, random rows do not."""
    random, exactly = (
        spectra.SampleSpectrum(*sources.sample(values, weights), rho)
        for values, weights, rho in (
            (*marchenko_pastur(2.0), 2.0),
            (np.arange(1, 193.0) ** -0.5, None, 1.3177),
        )
    )
    assert random.gapped
    assert not exactly.gapped


@pytest.mark.parametrize("batch", [4, 20])
def test_a_newton_step_of_batches_leaves_as_little_as_gmres_and_differences_may(batch):
    """_GMRES_LEAVES, and differences: a step from nearby leaves a thousandth or so."""
    average = levy.from_covariance([0.2, 0.9, 4.0])
    present, z = batches.Problem(average, partition(40, 50, batch, 0.7 * batch)), 0.6 + 0.3j
    X, _ = present.newton(z, present.start())
    off = 1e-6 * X * np.random.default_rng(0).standard_normal(X.shape)
    left = X + off + present._change(z, X + off) - X
    assert np.abs(left).max() < 3e-3 * np.abs(off).max()


def test_training_constants_with_batches_are_extrapolated_from_late_epochs(monkeypatch):
    """_LATE_EPOCHS: from a tenth of them the constant is 2 % off. _TRUSTED_CONSTANT: from a hundredth it is none."""
    values = np.array([0.05, 0.5, 1.0, 2.45] * 5)

    def constant(*late):
        monkeypatch.setattr(flip_flop, "_LATE_EPOCHS", late)
        return exact.constants("flip_flop", values, 1.5, 2)[1]

    known = constant(*flip_flop._LATE_EPOCHS)
    assert known == pytest.approx(constant(500, 1000, 2000), rel=1e-3)
    assert known != pytest.approx(constant(100, 200, 400), rel=1e-2)
    assert np.isnan(constant(10, 20, 40))
    monkeypatch.setattr(flip_flop, "_TRUSTED_CONSTANT", 10 * flip_flop._TRUSTED_CONSTANT)
    assert constant(10, 20, 40) != pytest.approx(known, rel=0.1)
