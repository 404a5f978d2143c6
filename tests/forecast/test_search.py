"""The search for the best step, beside fine grids of real curves and of losses made up to be hard."""

import functools
from types import SimpleNamespace

import numpy as np
import pytest

from edgelaw import data, exact, spectrum
from edgelaw.exact.labels import LabelledRows
from edgelaw_app.forecast import search
from edgelaw_app.forecast.exact_curves import exact_curve

SPECTRA = {
    "flat": (100, 80, 0.0),
    "power": (80, 80, 0.5),
    "few rows": (50, 100, 0.3),
    "tall": (300, 60, 0.4),
}


def searched(loss_at, limit, highest, guess=None):
    """The step that the search finds, and its loss."""
    calls = []

    def counted(step):
        calls.append(step)
        return loss_at(step)

    step = search.best(counted, limit, highest, guess)
    found = SimpleNamespace(step=step, loss=loss_at(step))
    assert len(calls) <= search.MOST
    assert max(calls) <= highest
    assert step in calls
    return found


@pytest.mark.parametrize(
    ("order", "name"),
    [*((order, name) for order in ("iid", "single_shuffle") for name in SPECTRA), ("flip_flop", "few rows")],
)
def test_the_best_step_is_that_of_a_fine_grid_within_a_per_cent_of_the_loss(name, order):
    m, d, power = SPECTRA[name]
    X = data.normalize_rows(data.gaussian(m, d, rng=3) * np.arange(1, d + 1) ** -power)
    values, n = np.maximum(spectrum.gram_eigenvalues(X), 0), 6
    limit = exact.stability(order, values, m / d)
    curve_at = functools.cache(lambda step: exact_curve(order, values, [n], step, m / d))
    for loss in ("test", "train"):

        def loss_at(step, loss=loss):
            return float(getattr(curve_at(step), loss)[-1])

        found = searched(loss_at, limit, 0.9 * limit)
        for factor in (0.8, 0.93, 1.07, 1.25):
            assert found.loss <= 1.01 * loss_at(min(found.step * factor, 0.9 * limit))


@pytest.mark.parametrize("guess", [0.01, 0.3, 1.7])
def test_a_guess_however_wrong_leads_to_the_same_place(guess):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 40)) * np.arange(1, 41) ** -0.4
    rows = LabelledRows.of(X, X @ rng.standard_normal(40) + 2 * rng.standard_normal(200))

    def loss_at(step):
        return float(exact.probe_curve("iid", rows, [5], step).train[-1])

    grid = np.geomspace(1e-3, 1, 400)
    lowest = min(loss_at(step) for step in grid)
    assert searched(loss_at, 1.2, 1.0, guess).loss <= 1.01 * lowest


@pytest.mark.parametrize("power", [0.5, 1.5])
def test_a_loss_that_falls_with_the_step_is_followed_to_the_highest(power):
    found = searched(lambda step: np.exp(-(step**power)), 2.0, 1.8)
    assert found.step == 1.8


@pytest.mark.parametrize("guess", [None, 0.9])
def test_steps_at_which_sgd_diverges_are_left(guess):
    found = searched(lambda step: np.inf if step > 0.5 else np.exp(-step), 2.0, 1.8, guess)
    assert 0.4 < found.step <= 0.5


@pytest.mark.parametrize("best", [1e-4, 1e-3, 0.05, 0.7])
@pytest.mark.parametrize("width", [0.2, 1.0])
def test_a_minimum_far_below_the_limit_and_a_sharp_one_are_found(best, width):
    found = searched(lambda step: np.exp(min((np.log(step / best) / width) ** 2, 600)), 2.0, 1.8)
    assert found.loss <= 1.02
