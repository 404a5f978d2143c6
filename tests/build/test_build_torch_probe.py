"""The script behind the recorded PyTorch runs still computes them."""

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


def test_the_file_holds_the_cells_of_its_script(sweep, cells):
    assert cells == list(torch_probe.CELLS)
    assert sweep["orders"].tolist() == list(torch_probe.ORDERS)
    for number in range(len(cells)):
        recorded = sweep[f"cell {number}"]
        assert recorded.shape == (12, 5, 7, 3)
        assert np.isfinite(recorded).all()
        assert recorded[..., 2].max() <= 1


@pytest.mark.parametrize(
    "cell", [("taught", "squares", "sgd", 32, 8.0), ("taught", "squares", "adam", 32, 3e-3)]
)
def test_a_recorded_run_is_computed_again(sweep, cells, cell):
    orders = ("flip_flop", "shuffle=True")
    again, _ = torch_probe.cell(*cell, splits=[3], names=orders)
    recorded = sweep[f"cell {cells.index(cell)}"][3, [torch_probe.ORDERS.index(order) for order in orders]]
    assert np.abs(again[0, ..., :2] / recorded[..., :2] - 1).max() < 1e-4
