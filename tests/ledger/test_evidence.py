"""Verdicts are computed, and nonsense is not evidence."""

import numpy as np
import pytest

from edgelaw_ledger import Evidence, number
from edgelaw_ledger.evidence import below, compared, drawn, least, most, near, off, printed, true
from edgelaw_ledger.recorded import Table


def test_one_number_holds_up_to_its_tolerance_and_not_beyond():
    assert number(1.0009, 1.0, 1e-3).verdict == "holds"
    assert number(1.0011, 1.0, 1e-3).verdict == "fails"
    assert number(-2.001, -2.0, 1e-3).verdict == "holds"


def test_a_correction_that_is_not_what_came_out_is_no_correction():
    assert number(3.0, 2.0, 1e-6, corrected=3.0).verdict == "fails"
    with pytest.raises(ArithmeticError, match="Neither the stated 2 nor the correction 4"):
        number(3.0, 2.0, 1e-6, corrected=4.0)


@pytest.mark.parametrize("answer", [1, 0.0, "yes", np.array([True]), None])
def test_only_true_and_false_are_answers(answer):
    with pytest.raises(TypeError, match="True or False"):
        true("x", answer)


def test_evidence_says_something_and_knows_four_verdicts():
    with pytest.raises(ValueError, match="phrase that says something"):
        Evidence("holds", "", "1", "0")
    with pytest.raises(ValueError, match="verdict must be one of"):
        Evidence("true", "1", "1", "0")


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        (near("x", 1.009, 1.0, 0.01), near("x", 1.011, 1.0, 0.01)),
        (printed("x", 0.7618, 0.76), printed("x", 0.7651, 0.76)),
        (printed("x", 113.6, 114.0), printed("x", 113.4, 114.0)),
        (most("x", 1.70, 1.71), most("x", 1.72, 1.71)),
        (most("x", 1.70, 1.71), most("x", 1.60, 1.71)),  # true, but loose
        (least("x", 0.802, 0.8), least("x", 0.79, 0.8)),
        (off("x", 1e-10, 1e-9), off("x", 1e-8, 1e-9)),
        (off("x", -1e-10, 1e-9), off("x", -1e-8, 1e-9)),  # of either sign
        (below("x", 0.98, 1), below("x", 1.0, 1)),
        (drawn("x", 1.03, 0.01, 1.0), drawn("x", 1.05, 0.01, 1.0)),
        (true("x", np.True_), true("x", False)),
    ],
)
def test_a_row_holds_or_not_and_evidence_holds_if_all_rows_do(good, bad):
    assert good.holds
    assert not bad.holds
    assert compared(good, good).verdict == "holds"
    assert compared(good, bad).verdict == "fails"
    assert compared(bad, repaired=[good]).verdict == "imprecise"
    assert compared(good, repaired=[bad]).verdict == "holds"


@pytest.mark.parametrize("row", [near, most, least])
def test_a_row_notices_a_stated_number_that_is_two_per_cent_off(row):
    more = (0.01,) if row is near else ()
    assert row("x", 1.0, 1.0, *more).holds
    assert not row("x", 1.0, 1.02, *more).holds or not row("x", 1.0, 0.98, *more).holds
    if row is near:
        with pytest.raises(ValueError, match=r"below 0\.011"):
            near("x", 1.0, 1.0, 0.011)


def test_no_rows_are_no_evidence_and_nan_is_none():
    assert compared(near("x", 1.0, 1.0, 0.0)).measured == "x = 1"
    with pytest.raises(ValueError, match="phrase that says something"):
        compared()
    with pytest.raises(ArithmeticError, match="evidence of nothing"):
        near("x", np.nan, 1.0, 0.0)


def test_a_table_compares_what_modules_of_own_compute_in_every_way_there_is():
    rows = [
        {"what": "rows", "value": "own.literature.ROWS", "near": 100.0, "within": 0},
        {"what": "largest", "value": "x.max()", "most": 2.02},
        {"what": "least", "value": "x.min()", "least": 0.99},
        {"what": "mean", "value": "x.mean()", "printed": 1.5, "digits": 2},
        {"what": "rest", "value": "1e-9 * x[0]", "off": 1e-8},
    ]
    table = Table(rows, ("x = np.array([1.0, 2.0])",))
    assert table().verdict == "holds"
    assert list(table.stated) == ["rows", "largest", "least", "mean"]
    for name, stated in table.stated.items():
        assert "fails" in {table(**{name: factor * stated}).verdict for factor in (0.9, 1.1)}
    assert Table([rows[-1] | {"off": 1e-10}], table.let)().verdict == "fails"


def test_a_table_reads_what_is_recorded_and_can_be_moved():
    rows = [
        {"what": "edges", "value": "betas.min()", "near": 1 / 14, "within": 0.001},
        {"what": "in their order", "true": "(np.diff(betas) > 0).all()"},
    ]
    table = Table(rows, ("betas = universal_gap['betas']",), "The edges of the sweep.")
    assert table().verdict == "holds"
    assert table.stated == {"edges": 1 / 14}
    assert table(edges=1.02 / 14).verdict == "fails"
    assert table.__doc__ == "The edges of the sweep."
