"""The checks on the universal gap would reach other verdicts from other numbers, and rest on the formulas they name."""

import numpy as np
import pytest

from edgelaw.theory import gap
from edgelaw_ledger.checks import universal_gap


def test_a_correction_that_does_not_come_out_is_no_evidence(monkeypatch):
    monkeypatch.setattr(universal_gap, "_gain", lambda *arguments: (1.7, 0.001))
    with pytest.raises(ArithmeticError, match="Not confirmed"):
        universal_gap.a12()


def test_a_gain_of_root_two_at_every_exponent_would_have_been_seen(monkeypatch):
    monkeypatch.setattr(universal_gap, "_gain", lambda *arguments: (2**0.5, 0.001))
    monkeypatch.setattr(universal_gap, "require", lambda true, what: None)
    assert universal_gap.a12().verdict == "holds"


def test_the_clusters_of_the_checks_agree_with_the_formula_and_pairs_with_haar_rows():
    assert universal_gap._clusters(4, 0.7, 0.5) == pytest.approx(gap.cluster_gain(4, 0.7, 0.5), rel=0.01)
    assert universal_gap._clusters(2, 1.0, 0.5) == pytest.approx(np.sqrt(2), rel=0.01)
