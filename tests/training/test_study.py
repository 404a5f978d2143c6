"""The recorded study: ratios are paired on each split, best steps are the least means, bad names are refused."""

import numpy as np
import pytest

from edgelaw_app.training import study


@pytest.fixture
def small():
    """Two orders and the reference, two splits, three steps; every loss made up."""
    means = np.zeros((3, 3, 2, 3))
    means[:, 0, :, :2] = np.array([3.0, 1.0, 2.0])[:, None, None]
    means[:, 1, :, 0] = np.array([5.0, 4.0, 6.0])[:, None]
    means[:, 1, :, 1] = np.array([2.0, 0.0, 1.0])[:, None]
    runs = np.ones((2, 3, 2, 2, 2))
    runs[:, 0, 1, 0, 0] = 2.0, 8.0  # over the reference: 2 and 4 with the next line, mean 8 ** 0.5
    runs[:, 2, 1, 0, 0] = 1.0, 2.0
    runs[:, 0, 1, 0, 1] = 0.7, 0.9
    runs[:, 2, 1, 0, 1] = 0.6, 0.6
    names = ("iid", "flip_flop", "random_reshuffle")
    return study.Grid("tall", "squares", "sgd", 1, names, (3, 12), np.array([0.5, 1.0, 2.0]), means, runs)


def test_a_ratio_is_the_geometric_mean_of_the_splits_ratios(small):
    ratio = small.ratio("iid", "parameter error")
    assert ratio.value == pytest.approx(8**0.5)
    assert ratio.error == pytest.approx(np.log(2) / 2)
    assert small.ratio("iid", "parameter error", "few") == (1.0, 0.0)


def test_points_are_differences_of_accuracies_in_per_cent(small):
    points = small.points("iid", "parameter error")
    assert points.value == pytest.approx(20)
    assert points.error == pytest.approx(10)


def test_the_best_step_is_where_the_mean_is_least(small):
    assert small.best_step("iid", "parameter error") == 1.0
    assert small.best_step("flip_flop", "training loss", "few") == 1.0
    small.means[0, 0, 1, 1] = -1
    assert small.best_step("iid", "training loss") == 0.5
    assert small.best_step("iid", "training loss", "few") == 1.0


def test_noise_is_a_matter_of_targets_that_cannot_be_fitted(small):
    assert small.noisy
    kinds = {(grid.problem, grid.loss): grid.noisy for grid in study.grids()}
    assert [key for key, noisy in kinds.items() if noisy] == [
        ("isotropic noisy", "squares"),
        ("labels", "cross_entropy"),
        ("tall", "squares"),
        ("tall", "cross_entropy"),
    ]


def test_grids_are_chosen_by_every_fact_about_them():
    assert len(study.chosen()) == len(study.grids()) == 42
    few = study.chosen(["taught", "tall"], ["squares"], ["adam", "sgd"], [32])
    assert [(grid.problem, grid.optimiser) for grid in few] == [
        ("taught", "sgd"),
        ("taught", "adam"),
        ("tall", "sgd"),
        ("tall", "adam"),
    ]
    assert all(grid.loss == "squares" and grid.batch == 32 for grid in few)


def test_names_that_are_not_there_are_refused(small):
    for arguments in (("sorted", "parameter error"), ("iid", "loss"), ("iid", "training loss", "some")):
        with pytest.raises(ValueError, match="must be"):
            small.ratio(*arguments)


def test_a_span_runs_over_every_grid_measure_and_budget(small):
    assert study.span([small], "iid") == pytest.approx((1.0, 8**0.5))
    assert study.span([small], "iid", ["training loss"]) == (1.0, 1.0)
    assert study.span([small], "iid", budgets=["few"]) == (1.0, 1.0)
