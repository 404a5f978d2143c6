"""The sweeps that ship: their cards, and that their numbers say what the chapters say of them."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from edgelaw import data, exact, shipped
from edgelaw.exact import labels as noise
from edgelaw.orders import ORDERS
from edgelaw_app.training import study

ROOT = Path(__file__).resolve().parents[1]
FILES = [
    *(f"{name}.npz" for name in shipped.SWEEPS),
    "moby_dick.txt",
    "transformer_body.npz",
    "transformer_runs.npz",
]


@pytest.mark.parametrize("name", FILES)
def test_a_shipped_file_is_what_its_card_says(name):
    path = shipped.folder() / name
    card = shipped.card(path.with_suffix(".md"))
    assert card["file"] == name
    assert card["bytes"] == path.stat().st_size
    assert card["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    for fact in ("title", "source", "licence", "built_by"):
        assert len(card[fact]) > 8
    assert (ROOT / card["built_by"]).is_file()
    assert card["built_by"] in card.get("command", card["built_by"])
    assert 0 < card["run_time_seconds"] < 3600


@pytest.mark.parametrize("name", shipped.SWEEPS)
def test_a_sweep_says_its_seed_and_what_its_arrays_mean(name):
    card = shipped.card(shipped.folder() / f"{name}.md")
    assert isinstance(card["seed"], int)
    assert min(map(len, card["keys"])) > 2
    if name == "universal_gap":
        assert card["keys"] == sorted(data.sweep(name))


def test_everything_that_ships_stays_under_15_and_a_quarter_megabytes():
    assert sum(path.stat().st_size for path in (ROOT / "data").glob("*.npz")) < 15.25e6


# ----------------------------------------------------------------------------------------- eigenvalues and matrices


def off(measured, predicted):
    """Largest relative deviation of test and of training loss."""
    others = tuple(k for k in range(measured.ndim) if k != measured.ndim - 2)
    return np.abs(measured / predicted - 1).max(axis=others)


def test_real_embeddings_follow_their_eigenvalues_at_every_order_step_and_seed():
    """Test within 1.5 %, training within 4 %, standard errors below a third of that; only eigenvalues went in."""
    sweep = data.sweep("embedding_traces")
    measured, error, predicted = (sweep[key] for key in ("measured", "error", "predicted"))
    assert measured.shape == (2, 3, 3, 4, 2, 6)
    assert (error / measured).max(axis=(0, 1, 2, 3, 5))[0] < 0.015 / 3
    assert (error / measured).max(axis=(0, 1, 2, 3, 5))[1] < 0.04 / 3
    test, train = off(measured, predicted)
    assert test < 0.015
    assert train < 0.04


@pytest.mark.parametrize("name", ["two-point", "uniform", "j^(-1/2)"])
def test_matrices_of_size_1600_follow_their_eigenvalues_and_smaller_ones_less(name):
    sweep = data.sweep("any_spectrum")
    small, large = (off(sweep[f"measured {name} {d}"], sweep[f"predicted {name} {d}"]) for d in (400, 1600))
    assert large[0] < 0.003
    assert large[1] < 0.01
    assert large[0] < small[0]


def test_a_stored_prediction_is_what_the_library_says_today():
    sweep = data.sweep("any_spectrum")
    eigenvalues = np.maximum(sweep["eigenvalues uniform 400"], 0)
    step, epochs = list(sweep["steps"]).index(1.0), sweep["epochs"][:5]
    assert epochs.tolist() == [1, 2, 3, 5, 8]
    for index, order in enumerate(ORDERS):
        curve = exact.curve(order, eigenvalues, epochs, 1.0)
        stored = sweep["predicted uniform 400"][step, index, :, : len(epochs)]
        assert np.allclose([curve.test[1:], curve.train[1:]], stored, rtol=1e-3)


def test_exact_losses_on_the_map_fall_from_epoch_to_epoch():
    sweep = data.sweep("order_map")
    assert sweep["names"].tolist() == ["0.0", "0.25", "0.5", "0.75", "1.0", "cifar10", "wikipedia"]
    assert np.isfinite(sweep["losses"]).all()
    assert (np.diff(sweep["losses"][..., 0, :], axis=-1) < 0).all()


@pytest.mark.parametrize("design", ["gaussian 2", "gaussian 4", "power law 4", "cifar10 4", "wikipedia 4"])
def test_the_map_with_noise_ends_where_its_orders_end(design):
    steps, parts = noise.recorded_parts(design, "distance", 20)
    train = noise.recorded_parts(design, "train", 20)[1]
    assert np.isfinite(parts.signal).all()
    assert np.isnan(train.signal).any(axis=1).tolist() == [False, False, False, True]
    assert (parts.noise[0] < 1.002 * steps / (2 - steps)).all()  # IID's floor
    assert (np.diff(train.noise[:3]) > 0).all()


def test_the_order_of_a_sorted_file_matters_most_to_the_smallest_buffer():
    sweep = data.sweep("sorted_files")
    ratios, floors = sweep["ratios"][0], sweep["floors"][0]
    assert (ratios[:, -1] == 0).all()
    assert (floors[:, -1] == 0).all()
    assert (floors[:, 0] > floors[:, -3]).all()
    assert (sweep["norms"][:, 0] < 1).all()
    assert (sweep["norms"][:, 1] > 1).all()


@pytest.mark.parametrize("name", ["gaussian", "cifar10", "wikipedia"])
def test_every_order_step_and_seed_of_the_real_embeddings_is_there(name):
    sweep = data.sweep("real_embeddings")
    for order in ORDERS:
        seeds = sweep[f"{name} {order} seeds"]
        assert sorted(set(seeds.tolist())) == list(range(8))
        for step in sweep["steps"]:
            losses = sweep[f"{name} {order} {step}"]
            assert losses.shape == (len(seeds), len(sweep["epochs"]), 2)
            assert np.isfinite(losses).all()
            assert (losses > 0).all()
            assert (np.diff(losses[..., 0], axis=1) <= 1e-6).all()  # no update increases the error
    assert len(sweep[f"{name} iid seeds"]) >= 64


def test_exact_curves_are_accurate_and_equal_at_the_first_epoch_for_all_shuffles():
    """A first epoch is a permutation, whichever shuffle drew it."""
    sweep = data.sweep("real_embeddings")
    for name in ("cifar10", "wikipedia"):
        for order in ORDERS:
            assert sweep[f"{name} {order} exact"].shape == (len(sweep["exact steps"]), 13, 2)
            assert sweep[f"{name} {order} exact error"].max() < 1e-3
        first = [sweep[f"{name} {order} exact"][:, 0] for order in ORDERS[1:]]
        assert first[1] == pytest.approx(first[0], rel=1e-4)
        assert first[2] == pytest.approx(first[0], rel=1e-4)
        assert (np.abs(sweep[f"{name} iid exact"][2:, 0] / first[0][2:] - 1) > 0.01).any()


def test_losses_of_the_universal_gap_fall_and_start_where_one_epoch_leaves_them():
    sweep = data.sweep("universal_gap")
    for order in ORDERS:
        loss = sweep[f"{order}_loss"]
        assert (np.diff(loss, axis=-1) <= 1e-6).all()
        assert ((loss[..., 0] > 0) & (loss[..., 0] < 1)).all()
    # one epoch of flip-flop is one epoch of single shuffle
    np.testing.assert_allclose(
        sweep["flip_flop_loss"][..., 0], sweep["single_shuffle_loss"][..., 0], rtol=1e-4
    )


# ------------------------------------------------------------------------------------------------ probes in PyTorch


@pytest.fixture(scope="module")
def probes():
    """The sweep of linear probes, and its cells: (problem, loss, optimiser, batch, step)."""
    sweep = data.sweep("torch_probe")
    return sweep, [tuple(cell) for cell in json.loads(str(sweep["cells"]))]


@pytest.mark.parametrize("measure", study.MEASURES)
@pytest.mark.parametrize("budget", study.BUDGETS)
def test_torchs_shuffle_is_random_reshuffle_up_to_luck(measure, budget):
    ratios = [grid.ratio("shuffle=True", measure, budget) for grid in study.grids()]
    distances = np.array([abs(np.log(ratio.value)) / ratio.error for ratio in ratios])
    assert distances.max() < 5  # t with 5 degrees of freedom, 42 comparisons that are not independent
    assert np.median(distances) < 1.2


def test_every_best_step_lies_inside_its_ladder():
    for grid in study.grids():
        assert 0 < grid.best().min(), grid
        assert grid.best().max() < len(grid.steps) - 1, grid
        assert (np.diff(grid.steps) > 0).all()


def test_plain_sgd_follows_the_prediction_from_eigenvalues(probes):
    sweep, cells = probes
    for step in (0.5, 1.0, 1.5):
        number = cells.index(("taught", "squares", "sgd", 1, step))
        ratio = sweep[f"cell {number}"][:4, :4, :, :2] / sweep[f"exact {step}"]
        mean, error = ratio.mean(axis=0), ratio.std(axis=0, ddof=1) / 2
        # ten starts per split: their luck is in the first comparison and cancels between orders in the second
        assert error.mean(axis=(0, 1))[0] < 0.025
        assert error.mean(axis=(0, 1))[1] < 0.075
        assert np.abs(mean[..., 0] - 1).max() < 0.08
        assert np.abs(mean[..., 1] - 1).max() < 0.15
        orders = ratio / ratio[:, [1]]
        mean, error = orders.mean(axis=0), orders.std(axis=0, ddof=1) / 2
        assert error.mean(axis=(0, 1))[0] < 0.01
        assert (np.abs(mean[..., 0] - 1) < 4 * error[..., 0] + 0.02).all()
