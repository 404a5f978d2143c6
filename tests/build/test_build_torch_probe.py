"""The script behind the recorded PyTorch runs still computes them, and every best step lies inside its ladder."""

import json

import numpy as np
import pytest
import torch_probe

from edgelaw import data


@pytest.fixture(scope="module")
def sweep():
    return data.sweep("torch_probe")


@pytest.fixture(scope="module")
def cells(sweep):
    return [tuple(cell) for cell in json.loads(str(sweep["cells"]))]


def test_the_file_holds_the_cells_and_grids_of_its_script(sweep, cells):
    assert cells == list(torch_probe.CELLS)
    assert [tuple(grid) for grid in json.loads(str(sweep["grids"]))] == list(torch_probe.GRIDS)
    assert sweep["orders"].tolist() == list(torch_probe.ORDERS)
    for number in range(len(cells)):
        recorded = sweep[f"cell {number}"]
        assert recorded.shape == (6, 5, 7, 3)
        assert np.isfinite(recorded).all()
        assert recorded[..., 2].max() <= 1


def test_the_kept_runs_of_a_grid_are_those_of_its_best_steps(sweep):
    for number in range(len(torch_probe.GRIDS)):
        means, runs = sweep[f"grid {number}"], sweep[f"tuned {number}"]
        best = torch_probe.best_steps(means)
        assert best.min() > 0
        assert best.max() < len(means) - 1
        least = np.take_along_axis(means[..., :2], best[None], axis=0)[0]
        assert np.abs(np.log(runs[..., 0].astype(float)).mean(axis=0) - least).max() < 1e-5


@pytest.mark.parametrize(
    "cell", [("taught", "squares", "sgd", 32, 8.0), ("taught", "squares", "sgd", 1, 1.0)]
)
def test_a_recorded_run_is_computed_again(sweep, cells, cell):
    orders = ("flip_flop", "shuffle=True")
    again = torch_probe.cell(*cell, splits=[3], names=orders)
    recorded = sweep[f"cell {cells.index(cell)}"][3, [torch_probe.ORDERS.index(order) for order in orders]]
    assert np.abs(again[0, ..., :2] / recorded[..., :2] - 1).max() < 1e-4


@pytest.mark.parametrize("grid", [("wide", "squares", "sgd", 32), ("isotropic", "squares", "adam", 32)])
def test_a_best_step_of_a_grid_is_computed_again(sweep, grid):
    """One order at its best step for the parameter error, over all splits: the mean of the grid comes out again."""
    number, order = torch_probe.GRIDS.index(grid), torch_probe.ORDERS.index("single_shuffle")
    means = sweep[f"grid {number}"]
    place = torch_probe.best_steps(means)[order, 1, 0]
    step = sweep[f"steps {number}"][place]
    again = torch_probe.cell(*grid, step, names=("single_shuffle",), record=(40,))[:, 0, 0]
    assert np.abs(again[:, 0] / sweep[f"tuned {number}"][:, order, 1, 0, 0] - 1).max() < 1e-4
    assert np.abs(np.log(again[:, :2]).mean(axis=0) - means[place, order, 1, :2]).max() < 1e-4


def test_a_ladder_grows_on_either_side_until_every_best_step_is_inside(monkeypatch):
    """Made-up losses with their least values at steps 1/64 and 64, far from where the ladder begins."""

    def cell(name, loss, optimiser, batch, step, splits, names, record):
        best = np.array([1 / 64, 64])[:, None, None]  # two orders
        losses = np.exp(np.log(step / best) ** 2) * np.ones((len(splits), 2, 2, 3))
        return np.where(step > 100, torch_probe.LARGEST, losses)

    monkeypatch.setattr(torch_probe, "cell", cell)
    steps, means, runs = torch_probe.tuned("taught", "squares", "sgd", 32, range(3), ("a", "b"), (5, 40))
    assert steps[1] == pytest.approx(1 / 64)
    assert steps[-2] == pytest.approx(64)
    assert means.shape == (len(steps), 2, 2, 3)
    assert runs.shape == (3, 2, 2, 2, 2)
    assert runs == pytest.approx(1)
