"""Checks that end in a yes or a no reach the other verdicts from other numbers, and refuse what does not come out."""

import numpy as np
import pytest

from edgelaw_ledger.checks import embeddings, iid_theory, introduction, regimes, universal_gap


def accept_anything(true, what):
    """Stands for ``require`` where a test wants the verdict alone."""


def test_one_constant_for_flip_flop_and_iid_would_have_been_seen(monkeypatch):
    monkeypatch.setattr(universal_gap, "_flip_flop_against_iid", lambda beta: (1.0, 0.004, 1.0))
    assert universal_gap.g3().verdict == "fails"  # Gaussian rows at step 1/2 still tell them apart
    monkeypatch.setattr(universal_gap, "require", accept_anything)
    monkeypatch.setattr(universal_gap.flip_flop, "test_loss", universal_gap.iid.test_loss)
    assert universal_gap.g3().verdict == "holds"
    monkeypatch.setattr(universal_gap, "_flip_flop_against_iid", lambda beta: (1.3, 0.004, 1.0))
    assert universal_gap.g3().verdict == "fails"  # the measured step alone is enough


@pytest.mark.parametrize(("left", "verdict"), [("right", "holds"), (0.5, "imprecise"), (0.9, "fails")])
def test_the_left_edge_could_have_followed_the_right_tail_or_left_the_condition(monkeypatch, left, verdict):
    monkeypatch.setattr(
        regimes, "_heavy_tailed", lambda alpha, size, rng: (alpha / 2 if left == "right" else left, alpha / 2)
    )
    assert regimes.g19().verdict == verdict


def test_a_larger_constant_of_single_shuffle_would_have_been_seen(monkeypatch):
    monkeypatch.setattr(introduction, "require", accept_anything)
    constant = introduction.single_shuffle.test_constant
    monkeypatch.setattr(
        introduction.single_shuffle,
        "test_constant",
        lambda step: constant(step) * (1.01 if step < 0.03 else 1),
    )
    assert introduction.a21().verdict == "fails"


def test_the_spread_of_one_run_has_to_stay_of_the_printed_order(monkeypatch):
    monkeypatch.setattr(introduction, "_one_start", lambda lam, t: np.full(3, lam.shape[1] * 1.0))
    assert introduction.a29(draws=2000).verdict == "fails"


def test_a_step_beyond_the_bound_of_a_shifted_edge_has_to_break_the_law(monkeypatch):
    monkeypatch.setattr(introduction, "_shifted_edge", lambda step: 1.0)
    with pytest.raises(ArithmeticError, match="right end decays more slowly"):
        introduction.a3()


def test_complete_monotonicity_at_every_step_would_contradict_the_correction(monkeypatch):
    monkeypatch.setattr(iid_theory, "_spectral_masses", lambda step: (0, 0, 0.0))
    with pytest.raises(ArithmeticError, match="negative spectral mass"):
        iid_theory.b12()


@pytest.mark.parametrize(
    ("stated", "verdict"), [(100.5, "holds"), (98.0, "imprecise"), (102.0, "imprecise"), (92.0, "fails")]
)
def test_printed_measurements_are_held_to_one_rule(stated, verdict):
    draws = 100 + 3 * np.linspace(-1.5, 1.5, 40)  # mean 100, spread 2.7
    assert embeddings._against_draws(draws, stated, 1).verdict == verdict
    with pytest.raises(ArithmeticError, match="standard error"):
        embeddings._against_draws(draws[::13] * [1, 2, 3, 4], stated, 1)


def test_the_bound_of_the_laplace_lemma_needs_the_square():
    assert regimes.h4(power=2.04).verdict == "fails"  # not a bound near zero
    assert regimes.h4(power=1.9).verdict == "fails"  # a bound, of another order
