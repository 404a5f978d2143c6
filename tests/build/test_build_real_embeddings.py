"""The shipped curves on real embeddings are what their card says, and the script makes the same numbers again."""

import card
import numpy as np
import pytest
import real_embeddings as script

from edgelaw import data
from edgelaw.orders import ORDERS


@pytest.fixture(scope="module")
def sweep():
    return data.sweep("real_embeddings")


@pytest.fixture(scope="module")
def facts():
    return card.split((script.DATA / "real_embeddings.md").read_text(encoding="utf-8"))[0]


def test_the_card_has_size_seed_command_and_run_time(facts):
    path = script.DATA / facts["file"]
    assert path.stat().st_size == facts["bytes"] < 400_000
    assert (script.DATA.parent / facts["built_by"]).is_file()
    assert facts["command"] == f"python {facts['built_by']}"
    assert 0 < facts["run_time_seconds"] < 3600
    assert facts["seed"] == 0


@pytest.mark.parametrize("name", ["gaussian", "cifar10", "wikipedia"])
def test_every_order_step_and_seed_is_there(sweep, name):
    for order in ORDERS:
        seeds = sweep[f"{name} {order} seeds"]
        assert sorted(set(seeds.tolist())) == list(range(script.SEEDS))
        assert len(seeds) == len(script.plan(name, order))
        for step in script.STEPS:
            losses = sweep[f"{name} {order} {step}"]
            assert losses.shape == (len(seeds), len(script.EPOCHS), 2)
            assert np.isfinite(losses).all()
            assert (losses > 0).all()
            assert (np.diff(losses[..., 0], axis=1) <= 1e-6).all()  # no update increases the error
    assert len(sweep[f"{name} iid seeds"]) >= 64


def test_a_run_comes_out_again_from_its_seed(sweep):
    X = script.matrix("wikipedia", 3)
    for order in ("iid", "flip_flop"):
        first = list(sweep[f"wikipedia {order} seeds"]).index(3)
        again = script.measure(X, order, 1.5, 3000)
        assert again == pytest.approx(sweep[f"wikipedia {order} 1.5"][first], rel=2e-3)
        assert again != pytest.approx(sweep[f"wikipedia {order} 1.5"][first + 1], rel=2e-3)


def test_exact_curves_are_accurate_and_equal_at_the_first_epoch_for_all_shuffles(sweep):
    """A first epoch is a permutation, whichever shuffle drew it."""
    for name in ("cifar10", "wikipedia"):
        for order in ORDERS:
            assert sweep[f"{name} {order} exact"].shape == (len(script.SCAN), 13, 2)
            assert sweep[f"{name} {order} exact error"].max() < 1e-3
        first = [sweep[f"{name} {order} exact"][:, 0] for order in ORDERS[1:]]
        assert first[1] == pytest.approx(first[0], rel=1e-4)
        assert first[2] == pytest.approx(first[0], rel=1e-4)
        assert (np.abs(sweep[f"{name} iid exact"][2:, 0] / first[0][2:] - 1) > 0.01).any()


def test_a_saved_file_appears_whole_and_can_be_read(tmp_path):
    script.save(tmp_path / "x.npz", {"a": np.arange(3)})
    with np.load(tmp_path / "x.npz") as saved:
        assert saved["a"].tolist() == [0, 1, 2]
    assert [path.name for path in tmp_path.iterdir()] == ["x.npz"]
