"""The checks of chapter 12's sentences look at every grid, loss and budget: one exception anywhere turns them red."""

import dataclasses

import pytest

from edgelaw_app.training import study
from edgelaw_ledger import load_sentences

CHECKS = {name: entry.function() for name, entry in load_sentences().items() if name[:3] in ("12-", "adv")}


@pytest.fixture
def planted(monkeypatch):
    """Give one order in one grid another loss at one budget, by a factor."""

    def plant(place, order, measure, budget, factor):
        grids = list(study.grids())
        runs = grids[place].runs.copy()
        at = grids[place].orders.index(order), study.BUDGETS.index(budget), study.MEASURES.index(measure)
        runs[:, *at, 0] *= factor
        grids[place] = dataclasses.replace(grids[place], runs=runs)
        monkeypatch.setattr(study, "grids", lambda: tuple(grids))

    return plant


@pytest.mark.parametrize("place", [0, 17, 41])
@pytest.mark.parametrize("measure", study.MEASURES)
@pytest.mark.parametrize("budget", study.BUDGETS)
def test_one_grid_in_which_replacement_is_ahead_is_noticed(planted, place, measure, budget):
    assert CHECKS["12-1"]().verdict == "holds"
    ratio = study.grids()[place].ratio("iid", measure, budget).value
    planted(place, "iid", measure, budget, 0.99 / ratio)
    assert CHECKS["12-1"]().verdict == "fails"


@pytest.mark.parametrize("measure", study.MEASURES)
@pytest.mark.parametrize("budget", study.BUDGETS)
def test_one_grid_of_real_rows_in_which_single_shuffle_is_ahead_is_noticed(planted, measure, budget):
    assert CHECKS["12-2"]().verdict == "holds"
    place = next(k for k, grid in enumerate(study.grids()) if (grid.problem, grid.batch) == ("tall", 1))
    ratio = study.grids()[place].ratio("single_shuffle", measure, budget).value
    planted(place, "single_shuffle", measure, budget, 0.99 / ratio)
    assert CHECKS["12-2"]().verdict == "fails"


@pytest.mark.parametrize(
    ("name", "problem", "batch"),
    [
        ("advice-2", "isotropic", 32),
        ("advice-4", "wide", 1),
        ("advice-5", "taught tall", 32),
        ("advice-6", "labels", 1),
        ("advice-7", "isotropic noisy", 32),
    ],
)
@pytest.mark.parametrize("factor", [0.01, 100.0])
def test_a_range_has_no_exception(planted, name, problem, batch, factor):
    assert CHECKS[name]().verdict == "holds"
    places = [k for k, grid in enumerate(study.grids()) if (grid.problem, grid.batch) == (problem, batch)]
    place = places[-1] if problem == "labels" else places[0]  # the labels of cross-entropy are the noisy ones
    planted(place, "single_shuffle", "training loss", "few", factor)
    assert CHECKS[name]().verdict == "fails"


def test_flip_flop_ahead_without_noise_is_noticed(planted):
    assert CHECKS["advice-8"]().verdict == "holds"
    planted(0, "flip_flop", "parameter error", "all", 0.1)
    assert CHECKS["advice-8"]().verdict == "fails"
