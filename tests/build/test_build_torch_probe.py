"""The script behind the recorded PyTorch runs still computes them, and every best step lies inside its ladder."""

import json

import numpy as np
import pytest
import torch
import torch_probe
from torch.utils.data import RandomSampler

from edgelaw import data
from edgelaw.orders import ORDERS, stream
from edgelaw_app.training import probe


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


OPTIMISERS = ("sgd", "momentum", "adam", "decay")


def by_hand(kind, one, indices, loss, step, batch, ridge):
    """The weights after every epoch of plain loops: of SGD as `probe` has it, of the others as torch's page says."""
    if kind == "sgd":
        order = iter(indices.tolist())
        yield from probe.train_one(one, Epochs(order), loss, step, batch, len(indices), ridge)
        return
    d = one.X.shape[1]
    model = torch.nn.Linear(d, one.targets.shape[1], bias=False, dtype=torch.float64)
    torch.nn.init.zeros_(model.weight)
    if kind == "adam":
        rule = torch.optim.Adam(model.parameters(), lr=step, weight_decay=ridge)
    else:
        lr, momentum = (0.1 * step / d, 0.9) if kind == "momentum" else (step / d, 0)
        rule = torch.optim.SGD(model.parameters(), lr=lr, momentum=momentum, weight_decay=ridge)
    yield model.weight.detach().numpy().copy()
    aims = torch.tensor(one.targets if loss == "squares" else one.labels)
    for n, rows in enumerate(indices):
        if kind == "decay":
            rule.param_groups[0]["lr"] = step / d / (1 + n / 5)
        for part in torch.tensor(rows).split(batch):
            rule.zero_grad()
            scores = model(torch.tensor(one.X)[part])
            if loss == "squares":
                cost = (scores - aims[part]).square().sum(dim=1).mean() / 2
            else:
                cost = torch.nn.functional.cross_entropy(scores, aims[part])
            cost.backward()
            rule.step()
        yield model.weight.detach().numpy().copy()


class Epochs(torch.utils.data.Sampler):
    """An order that is given."""

    def __init__(self, epochs):
        self.epochs = epochs

    def __iter__(self):
        return iter(next(self.epochs))


# Every loss with every optimiser, and either of them with both batches; 20 rows: the last batch of eight is short.
@pytest.mark.parametrize(
    ("loss", "optimiser", "batch"),
    [
        (loss, optimiser, (1, 8)[(i + j) % 2])
        for i, loss in enumerate(probe.LOSSES)
        for j, optimiser in enumerate(OPTIMISERS)
    ],
)
def test_many_runs_in_one_tensor_are_loops_of_their_own(two, loss, optimiser, batch):
    ridge, step = (0.0, 1.0) if loss == "squares" else (0.01, 2.0)
    step = 1e-3 if optimiser == "adam" else step
    indices = np.stack([stream(order, 20, 7).epochs(0, 3) for order in ORDERS])
    probes = [two[0], two[1], two[0], two[1]]
    together = list(torch_probe.train(probes, indices, loss, optimiser, step, batch, ridge))
    assert len(together) == 4
    assert (together[0] == 0).all()
    for k, one in enumerate(probes):
        alone = by_hand(optimiser, one, indices[k], loss, step, batch, ridge)
        for both, weights in zip(together, alone, strict=True):
            assert np.abs(both[k] - weights).max() < 1e-12
        assert np.abs(weights).max() > 1e-3


def test_without_a_sampler_the_loop_shuffles_as_torch_does(two):
    torch.manual_seed(5)
    *_, alone = probe.train_one(two[0], None, "squares", epochs=1)
    torch.manual_seed(5)
    torch.nn.Linear(16, 3, bias=False, dtype=torch.float64)  # the model spends its random numbers first
    torch.empty((), dtype=torch.int64).random_()  # then the loader draws the seed of its workers
    order = list(RandomSampler(range(20)))
    *_, together = torch_probe.train([two[0]], np.array([[order]]), "squares", "sgd", 1.0, 1, 0.0)
    assert np.abs(together[0] - alone).max() < 1e-12
