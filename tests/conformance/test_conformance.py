"""The record of the samplers in other libraries: it is of this code, it is whole, and its judge can say no."""

import json
import re

import matrix
import pytest
import tables
from sizes import BATCH, RANKS, ROWS, WORKERS, broken_off, saved

from edgelaw.orders import ORDERS, stream

RECORD = json.loads(tables.RECORD.read_text(encoding="utf-8"))
CELLS = RECORD["cells"]


def shares(order, ranks):
    """What every process sees, step by step, in three epochs of an order."""
    seen = [[] for _ in range(ranks)]
    for epoch in range(3):
        rows = stream(order, ROWS, 0).epoch(epoch).tolist()
        for rank in range(ranks):
            own = rows[rank::ranks]
            seen[rank] += [own[k : k + BATCH] for k in range(0, len(own), BATCH)]
    return seen


# the record ------------------------------------------------------------------------------------------------


def test_the_record_is_of_the_code_as_it_is():
    assert RECORD["digest"] == matrix.digest(), (
        "The samplers or their trials have changed: run make conformance."
    )


def test_the_versions_are_those_that_were_asked_for():
    lines = (tables.HERE / "requirements.txt").read_text().splitlines()
    assert dict(line.split("==") for line in lines if "==" in line) == RECORD["versions"]
    pins = (matrix.ROOT / "requirements.txt").read_text()
    assert f"torch=={RECORD['versions']['torch']}\n" in pins


def test_every_cell_was_run_and_every_cell_of_ours_passes():
    ours = [
        f"{library} {ranks} ours {order} {workers}"
        for library in tables.LIBRARIES
        for ranks in RANKS
        for workers in WORKERS
        for order in ORDERS
    ]
    assert len(ours) == 64  # each a full epoch and a resumed one: 128 cells
    assert {name for name in CELLS if " ours " in name} == set(ours)
    assert [name for name in ours if not all(tables.passes(CELLS[name]))] == []
    assert sum(" stock - " in name for name in CELLS) == 16
    assert sum(" stock stateful " in name for name in CELLS) == 4


@pytest.mark.parametrize(("library", "ranks"), tables.MISTAKES)
def test_every_mistake_loses_the_order_and_is_warned_of(library, ranks):
    for order in ORDERS:
        for workers in WORKERS:
            cell = CELLS[f"{library} {ranks} mistake {order} {workers}"]
            assert not cell["order"]
            assert cell["warned"]
            assert not cell["approved"]
            assert re.search(r"num_replicas|even_batches|use_distributed_sampler", cell["warning"])


def test_the_tables_are_those_of_the_record():
    assert tables.TABLES.read_text(encoding="utf-8") == tables.text(RECORD)


# the judge -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("order", ORDERS)
def test_an_order_is_recognised_and_any_other_is_not(order, ranks):
    seen = shares(order, ranks)
    assert matrix.order_kept(seen, order)
    assert [other for other in ORDERS if matrix.order_kept(seen, other)] == [order]


def test_a_row_too_much_and_a_row_too_few_are_counted():
    seen = shares("single_shuffle", 2)
    assert matrix.counts(seen) == (0, 0)
    assert len(seen[1][-1]) == 1
    seen[1][-1].append(seen[1][0][0])  # what padding does
    assert matrix.counts(seen) == (0, 1)
    assert not matrix.order_kept(seen, "single_shuffle")
    seen[0][0] = seen[0][1]  # in another epoch: the most of all epochs is counted
    assert matrix.counts(seen) == (2, 2)


@pytest.mark.parametrize("fault", ["none", "repeated", "skipped", "weights"])
def test_a_continuation_has_to_be_exact(fault):
    seen, place = shares("flip_flop", 2), saved(2)
    rest = {"none": place, "repeated": place - 1, "skipped": place + 1, "weights": place}[fault]
    whole = [{"seen": one, "weights": ["0x1p-1"]} for one in seen]
    weights = ["0x1.0000000000001p-1" if fault == "weights" else "0x1p-1"]
    after = [{"seen": one[rest:], "weights": weights} for one in seen]
    assert matrix.continued(whole, after) == (fault == "none")


@pytest.mark.parametrize("ranks", RANKS)
def test_a_cell_is_broken_off_after_its_place_was_saved_in_the_middle_of_the_second_epoch(ranks):
    steps = len(shares("iid", ranks)[0]) // 3
    assert steps + 1 < saved(ranks) < broken_off(ranks) <= 2 * steps


def test_a_sampler_that_warned_has_not_passed():
    assert tables.passes({"order": True, "resumed": True, "warned": False}) == (True, True)
    assert tables.passes({"order": True, "resumed": True, "warned": True}) == (False, True)
    assert tables.mark(True, False).split() == ["✓", "✗"]


def test_verdicts_that_differ_are_both_shown():
    assert tables.spoken([{"n": 0}, {"n": 0}], "n", 23) == "none"
    assert tables.spoken([{"n": 1}, {"n": 0}], "n", 23) == "none or 1 of 23"


def test_any_edit_of_what_was_tried_makes_the_record_stale(tmp_path):
    for name in matrix.TRIED:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes((matrix.ROOT / name).read_bytes())
    assert matrix.digest(tmp_path) == matrix.digest()
    with open(tmp_path / matrix.TRIED[0], "a") as file:
        file.write("\n")
    assert matrix.digest(tmp_path) != matrix.digest()
