"""The checks on real embeddings reach their verdicts, and would reach others from other numbers."""

import numpy as np
import pytest

from edgelaw_ledger.checks import embeddings


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        ("g7", "imprecise"),
        ("g8", "holds"),
        ("g9", "imprecise"),
        ("g10", "holds"),
        ("g11", "imprecise"),
        ("g12", "fails"),
        ("g13", "imprecise"),
        ("g15", "fails"),
        ("g16", "imprecise"),
        ("g17", "holds"),
        ("g20", "imprecise"),
        ("g21", "fails"),
    ],
)
def test_the_verdict_is_the_ledgers(claim, verdict):
    assert getattr(embeddings, claim)().verdict == verdict


@pytest.mark.parametrize("factor", [0.98, 1.02])
def test_what_holds_would_not_hold_two_per_cent_away(factor):
    assert embeddings.g8(rank=257 * factor).verdict == "fails"
    assert embeddings.g10(rank=512 * factor).verdict == "fails"
    assert embeddings.g17(at_6=0.14 * factor).verdict == "fails"
    assert embeddings.g17(at_13=0.07 * factor).verdict == "fails"


def test_the_true_means_would_hold_and_numbers_far_away_would_fail():
    assert embeddings.g7(beta=0.486).verdict == "holds"
    assert embeddings.g7(beta=0.55).verdict == "fails"
    assert embeddings.g9(ratio=488.0).verdict == "holds"
    assert embeddings.g9(ratio=300.0).verdict == "fails"
    assert embeddings.g11(text=0.46).verdict == "holds"
    assert embeddings.g11(text=0.35).verdict == "fails"
    assert embeddings.g15(orders=3.0).verdict == "holds"


def test_isotropic_images_would_have_been_seen(monkeypatch):
    noise = embeddings._spectra("noise")
    monkeypatch.setattr(embeddings, "_spectra", lambda source, *size: noise)
    with pytest.raises(ArithmeticError, match="ranks far apart"):
        embeddings.g12()
    monkeypatch.setattr(embeddings, "_confirmed", lambda true, what: None)
    assert embeddings.g12().verdict == "holds"


def test_a_power_law_spectrum_comes_far_closer_to_its_fitted_law():
    """A spectrum that is a power law throughout, against the embeddings' own."""
    law = (np.arange(0.5, 512) / 512) ** 2
    early, late = embeddings._fitted_law(law / law.mean())
    assert early < 0.2
    assert late < 0.12
    assert embeddings._fitted_law(embeddings._spectra("wikipedia")[0])[0] > 1


def test_the_claim_on_figures_would_hold_if_laws_and_slopes_agreed(monkeypatch):
    monkeypatch.setattr(embeddings, "_fitted_law", lambda values: [0.05, 0.05])
    monkeypatch.setattr(embeddings, "_head", lambda: (900.0, 0.1, 0.9, 1.1))
    assert embeddings.g20().verdict == "imprecise"  # Wikipedia's slope still disagrees
    exponent = {"cifar10": 0.47, "wikipedia": 0.34}
    monkeypatch.setattr(embeddings, "_exponents", lambda source: [exponent[source]])
    assert embeddings.g20().verdict == "holds"
    monkeypatch.setattr(embeddings, "_fitted_law", lambda values: [0.5, 0.5])
    assert embeddings.g20().verdict == "fails"


def test_the_rank_by_traces_is_the_rank_by_eigenvalues():
    X = np.array([[1.0, 0.0], [0.0, 3.0]])  # eigenvalues 1 and 9: 100/82
    assert embeddings._rank_by_trace(X) == pytest.approx(100 / 82)


def test_a_fixed_order_is_smooth_and_fresh_draws_are_rough_in_training():
    pair = np.array([[1.0, 0.5], [0.5, 1.0]], dtype=np.float32)
    assert (
        embeddings._roughness(pair, "single_shuffle", epochs=6)[0].max() < 1e-5
    )  # one slow mode, one number an epoch
    X = np.random.default_rng(0).standard_normal((30, 30)).astype(np.float32)
    fixed, drawn = (embeddings._roughness(X, order, epochs=30)[0] for order in ("single_shuffle", "iid"))
    assert drawn[1] > 5 * fixed[1]
    assert drawn[1] > 10 * drawn[0]
