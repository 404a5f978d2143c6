"""Flip-flop's thresholds: what each is for, and that a factor of ten the wrong way is noticed."""

import numpy as np
import pytest

from edgelaw import exact
from edgelaw.exact import levy, sources
from edgelaw.exact.batches.partition import partition
from edgelaw.exact.flip_flop import batches, spectra


def marchenko_pastur(rho, size=400):
    """Eigenvalues of XᵀX/m and their shares, for m = ρd isotropic rows with ρ > 1."""
    x, weights = np.polynomial.legendre.leggauss(size)
    values = 1 + 1 / rho - 2 * np.cos(np.pi * (x + 1) / 2) / np.sqrt(rho)
    weights = weights * np.sin(np.pi * (x + 1) / 2) ** 2 / values
    return values, weights / weights.sum()


def isotropic(rho, step, epochs):
    values, weights = marchenko_pastur(rho)
    return exact.curve("flip_flop", values, epochs, step, rho, weights=weights)


def test_losses_that_are_seen_after_one_epoch_are_computed_and_others_continued():
    """AT_ONCE: 3e-7 after one epoch is computed further, 3e-9 is not."""
    seen, gone = isotropic(18.0, 0.6, 3), isotropic(24.0, 0.6, 3)
    assert seen.continued is None
    assert 1e-7 < max(seen.test[1], seen.train[1]) < 1e-6
    assert gone.continued == 1
    assert 1e-10 < max(gone.test[1], gone.train[1]) < 1e-7


def test_few_e_foldings_are_no_gap():
    """_GAP: with four e-foldings of the slowest eigenvalue an average in the gap is asked for, with one it is not."""
    values, weights = marchenko_pastur(4.0)
    spectrum = spectra.SampleSpectrum(*sources.sample(values, weights), 4.0)
    slow = spectrum.lowest / (1 / 1.0 - 0.5)
    assert spectrum.gapped(1.0, int(np.ceil(4 / slow)))
    assert not spectrum.gapped(0.05, 1)
    assert spectrum.lowest / (1 / 0.05 - 0.5) > 0.02


def test_a_contour_that_leaves_weight_outside_is_not_used():
    """_OUTSIDE: an exact power law leaves weight outside a contour in its gap, random rows do not."""
    levels = np.arange(1, 193.0) ** -0.5
    random, exactly = (
        spectra.SampleSpectrum(*sources.sample(values, weights), rho)
        for values, weights, rho in ((*marchenko_pastur(2.0), 2.0), (levels, None, 1.3177))
    )
    assert random._whole
    assert not exactly._whole


@pytest.mark.parametrize("batch", [4, 20])
def test_a_newton_step_of_batches_leaves_as_little_as_gmres_and_differences_may(batch):
    """_GMRES_LEAVES and _DIFFERENCE: a step from nearby leaves a ten-thousandth or so."""
    average = levy.from_covariance([0.2, 0.9, 4.0])
    present, z = batches.Problem(average, partition(40, 50, batch, 0.7 * batch)), 0.6 + 0.3j
    X, _ = present.newton(z, present.start())
    off = 1e-6 * X * np.random.default_rng(0).standard_normal(X.shape)
    left = X + off + present._change(z, X + off) - X
    assert np.abs(left).max() < 3e-4 * np.abs(off).max()
