"""The checks on real embeddings would reach other verdicts from other spectra."""

import numpy as np
import pytest

from edgelaw_ledger.checks import embeddings


def test_isotropic_images_would_have_been_seen(monkeypatch):
    noise = embeddings._spectra("noise")
    monkeypatch.setattr(embeddings, "_spectra", lambda source, *size: noise)
    with pytest.raises(ArithmeticError, match="ranks far apart"):
        embeddings.g12()
    monkeypatch.setattr(embeddings, "require", lambda true, what: None)
    assert embeddings.g12().verdict == "holds"


def test_a_power_law_spectrum_comes_far_closer_to_its_fitted_law():
    """A spectrum that is a power law throughout, against the embeddings' own."""
    law = (np.arange(0.5, 512) / 512) ** 2
    early, late = embeddings._fitted_law(law / law.mean())
    assert early < 0.2
    assert late < 0.12
    assert embeddings._fitted_law(embeddings._spectra("wikipedia", embeddings.SIZE, 1)[0])[0] > 1


def test_the_claim_on_figures_would_hold_if_laws_and_slopes_agreed(monkeypatch):
    monkeypatch.setattr(embeddings, "_spectra", lambda source: [np.ones(4)])
    monkeypatch.setattr(embeddings, "_slope", {"cifar10": 0.47, "wikipedia": 0.34}.__getitem__)
    exponent = {"cifar10": 0.47, "wikipedia": 0.46}
    monkeypatch.setattr(embeddings, "_exponents", lambda source: [exponent[source]])
    monkeypatch.setattr(embeddings, "_fitted_law", lambda values: [0.05, 0.05])
    monkeypatch.setattr(embeddings, "_head", lambda: (900.0, 0.1, 0.9, 1.1))
    assert embeddings.g20().verdict == "imprecise"  # Wikipedia's slope still disagrees
    exponent["wikipedia"] = 0.34
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
    )  # one slow mode, one number per epoch
    X = np.random.default_rng(0).standard_normal((30, 30)).astype(np.float32)
    fixed, drawn = (embeddings._roughness(X, order, epochs=30)[0] for order in ("single_shuffle", "iid"))
    assert drawn[1] > 5 * fixed[1]
    assert drawn[1] > 10 * drawn[0]
