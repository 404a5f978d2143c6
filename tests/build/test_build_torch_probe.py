"""The recorded PyTorch runs: their script still computes them, and they say what the chapter says."""

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
        found = sweep[f"cell {number}"]
        assert found.shape == (12, 5, 7, 3)
        assert np.isfinite(found).all()
        assert found[..., 2].max() <= 1


@pytest.mark.parametrize(
    "cell", [("taught", "squares", "sgd", 32, 8.0), ("taught", "squares", "adam", 32, 3e-3)]
)
def test_a_recorded_run_is_computed_again(sweep, cells, cell):
    orders = ("flip_flop", "shuffle=True")
    found, _ = torch_probe.cell(*cell, splits=[3], names=orders)
    kept = sweep[f"cell {cells.index(cell)}"][3, [torch_probe.ORDERS.index(order) for order in orders]]
    assert np.abs(found[0, ..., :2] / kept[..., :2] - 1).max() < 1e-4


def paired(sweep, number, over, metric):
    """Mean log ratio over random reshuffle at the last epoch, and its standard error."""
    logs = np.log(sweep[f"cell {number}"][:, :, -1, metric].astype(float))
    gaps = logs[:, torch_probe.ORDERS.index(over)] - logs[:, torch_probe.ORDERS.index("random_reshuffle")]
    return gaps.mean(), gaps.std(ddof=1) / np.sqrt(len(gaps))


def test_torchs_shuffle_is_random_reshuffle_up_to_luck(sweep, cells):
    distances = []
    for number in range(len(cells)):
        for metric in (0, 1):
            mean, error = paired(sweep, number, "shuffle=True", metric)
            distances.append(abs(mean) / error)
    assert max(distances) < 4.5  # t with 11 degrees, 58 comparisons that are not independent
    assert np.median(distances) < 1.2


def test_iid_is_never_ahead_of_reshuffle_in_parameter_error(sweep, cells):
    for number in range(len(cells)):
        mean, error = paired(sweep, number, "iid", 0)
        assert mean > 2 * error, cells[number]


def test_plain_sgd_follows_the_prediction_from_eigenvalues(sweep, cells):
    for step in (0.5, 1.0, 1.5):
        number = cells.index(("taught", "squares", "sgd", 1, step))
        ratio = sweep[f"cell {number}"][:4, :4, :, :2] / sweep[f"exact {step}"]
        mean, error = ratio.mean(axis=0), ratio.std(axis=0, ddof=1) / 2
        # ten starts a split: their luck is in the first comparison and cancels between orders in the second
        assert error.mean(axis=(0, 1))[0] < 0.025
        assert error.mean(axis=(0, 1))[1] < 0.075
        assert np.abs(mean[..., 0] - 1).max() < 0.08
        assert np.abs(mean[..., 1] - 1).max() < 0.15
        orders = ratio / ratio[:, [1]]
        mean, error = orders.mean(axis=0), orders.std(axis=0, ddof=1) / 2
        assert error.mean(axis=(0, 1))[0] < 0.01
        assert (np.abs(mean[..., 0] - 1) < 4 * error[..., 0] + 0.02).all()
