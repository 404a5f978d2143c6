"""The script behind the curves on real embeddings makes the recorded numbers again."""

import pytest
import real_embeddings as script

from edgelaw import data
from edgelaw.orders import ORDERS


def test_a_run_comes_out_again_from_its_seed():
    sweep = data.sweep("real_embeddings")
    X = script.matrix("wikipedia", 3)
    for order in ("iid", "flip_flop"):
        recorded = sweep[f"wikipedia {order} 1.5"]
        first = list(sweep[f"wikipedia {order} seeds"]).index(3)
        again = script.measure(X, order, 1.5, 3000)
        assert again == pytest.approx(recorded[first], rel=2e-3)
        assert again != pytest.approx(recorded[first + 1], rel=2e-3)


def test_the_plan_is_the_recorded_one():
    sweep = data.sweep("real_embeddings")
    for name in script.IID_RUNS:
        for order in ORDERS:
            assert [seed for seed, _ in script.plan(name, order)] == sweep[f"{name} {order} seeds"].tolist()
