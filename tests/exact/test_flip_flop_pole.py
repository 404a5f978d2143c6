"""Flip-flop with its pole followed: against closed forms, the usual path, single shuffle, exact traces, and itself."""

import numpy as np
import pytest

from edgelaw import data, exact, kaczmarz
from edgelaw.exact import sources
from edgelaw.exact.flip_flop import boundary as flip_flop_boundary
from edgelaw.exact.flip_flop import pole as flip_flop_pole
from edgelaw.exact.flip_flop.spectra import SampleSpectrum
from edgelaw.spectrum import gram_eigenvalues
from edgelaw.theory import flip_flop

GAP = 600 / 512  # rows per dimension of the spectra that no contour suits
EPOCHS = np.array([1, 2, 3, 5, 8, 14, 25, 45, 70, 100])


def sample_spectrum(values, rho, shares=None):
    return SampleSpectrum(*sources.sample(values, shares), rho)


def marchenko_pastur(rho, size=400):
    """Eigenvalues of XᵀX/m and their shares, for m = ρd isotropic rows, ρ ≠ 1."""
    x, weights = np.polynomial.legendre.leggauss(size)
    angle = np.pi * (x + 1) / 2
    low, high = (1 - rho**-0.5) ** 2, (1 + rho**-0.5) ** 2
    values = (low + high) / 2 - (high - low) / 2 * np.cos(angle)
    weights = weights * np.sin(angle) ** 2 / values
    weights *= min(rho, 1) / weights.sum()
    return (np.append(0, values), np.append(1 - rho, weights)) if rho < 1 else (values, weights)


@pytest.mark.parametrize("way", flip_flop_pole.WAYS)
@pytest.mark.parametrize(("step", "rho"), [(0.5, 0.5), (1.0, 1.2), (1.5, 2.0), (1.9, 1.2), (1.9, 0.5)])
def test_isotropic_rows_give_the_closed_forms(step, rho, way):
    values, shares = marchenko_pastur(rho)
    spectrum = sample_spectrum(values, rho, shares)
    computed = flip_flop_pole.losses(spectrum, step, 0.0, 100, EPOCHS, way)
    test, train = flip_flop.test_loss(EPOCHS, step, rho), flip_flop.train_loss(EPOCHS, step, rho)
    np.testing.assert_allclose(computed[0], test - spectrum.null, rtol=1e-6, atol=1e-10)
    np.testing.assert_allclose(computed[1], train, rtol=1e-6, atol=1e-10)


@pytest.mark.parametrize(("rows", "dims", "step"), [(300, 256, 1.0), (256, 256, 1.5), (128, 256, 1.9)])
def test_random_rows_give_what_the_usual_path_gives(rows, dims, step):
    X = data.normalize_rows(np.random.default_rng(0).standard_normal((rows, dims)))
    spectrum = sample_spectrum(np.maximum(gram_eigenvalues(X), 0), rows / dims)
    usual, error, continued = flip_flop_boundary.losses(spectrum, EPOCHS, step)
    computed = flip_flop_pole.losses(spectrum, step, 0.0, 100, EPOCHS, flip_flop_pole.WAYS[0])
    assert continued is None
    assert error < 1e-4
    np.testing.assert_allclose(computed[0] + spectrum.null, usual[0], rtol=1e-4)
    np.testing.assert_allclose(computed[1], usual[1], rtol=1e-4)


# ------------------------------------------------------------------------------------------- where the usual path ends


@pytest.mark.parametrize("step", [1.0, 1.5, 1.9])
@pytest.mark.parametrize("low", [0.01, 0.5])
def test_evenly_spaced_eigenvalues_are_answered(low, step):
    values = np.linspace(low, 2 - low, 512)
    curve = exact.curve("flip_flop", values, 50, step, GAP)
    first = exact.curve("single_shuffle", values, 2, step, GAP)  # the first epoch is that of every order
    assert curve.error < 3e-5
    assert curve.continued is None or curve.train[curve.continued] < flip_flop_boundary.SMALLEST
    np.testing.assert_allclose(curve.test[1], first.test[1], rtol=1e-6)
    np.testing.assert_allclose(curve.train[1], first.train[1], rtol=1e-6)
    for loss in (curve.test, curve.train):  # moments of a positive measure on [0, 1]
        assert (np.diff(loss[1:]) < 0).all()
        assert (np.diff(np.log(loss[1:]), 2) > -1e-5).all()


@pytest.mark.parametrize("step", [1.0, 1.5])
def test_exact_traces_of_rows_with_a_gap_agree(step):
    rng, epochs = np.random.default_rng(1), np.array([1, 2, 3, 5, 8])
    rows = data.normalize_rows(data.with_spectrum(np.linspace(0.5, 1.5, 256), 300, rng))
    traces = []
    for _ in range(6):
        U = rows[rng.permutation(300)] / np.linalg.norm(rows[0])
        left, sigma, right = np.linalg.svd(kaczmarz.epoch_matrix(U, step))
        weight = ((U @ left) ** 2 + (U @ right.T) ** 2).sum(axis=0) / 2
        powers = sigma[:, None] ** (2 * epochs)
        traces.append([powers.mean(axis=0), weight @ powers / 300])
    curve = exact.curve("flip_flop", gram_eigenvalues(rows), epochs, step, 300 / 256)
    expected = np.mean(traces, axis=0)
    np.testing.assert_allclose(np.stack([curve.test, curve.train])[:, 1:], expected, rtol=0.05)


def test_a_circle_beyond_one_gives_the_same_losses_and_smaller_ones():
    spectrum, n = sample_spectrum(np.linspace(0.5, 1.5, 512), GAP), np.arange(1, 31)
    way, other = flip_flop_pole.WAYS[:2]
    near = flip_flop_pole.losses(spectrum, 1.5, 0.0, 30, n, way)
    far, again = (flip_flop_pole.losses(spectrum, 1.5, 0.4, 30, n, w) for w in (way, other))
    np.testing.assert_allclose(far[:, :20], near[:, :20], rtol=1e-4)
    np.testing.assert_allclose(far, again, rtol=1e-6)
    assert far[1, -1] < 1e-9


def test_few_epochs_asked_for_are_those_of_all():
    values = np.linspace(0.5, 1.5, 512)
    some, full = (
        exact.curve("flip_flop", values, [3, 40], 1.5, GAP),
        exact.curve("flip_flop", values, 40, 1.5, GAP),
    )
    np.testing.assert_allclose(some.train, full.train[[0, 3, 40]], rtol=1e-4)
    np.testing.assert_allclose(some.test, full.test[[0, 3, 40]], rtol=1e-4)


# ------------------------------------------------------------------------------------------- how it is done


def test_derivatives_are_those_of_the_equations():
    spectrum = sample_spectrum(np.linspace(0.5, 1.5, 100), GAP)
    problem = flip_flop_pole._problem(spectrum, 1.5, flip_flop_pole.WAYS[1])
    log = -2.0 + 2.5j
    x = problem.first(log)
    x[-2:] = 0.3 + 0.4j, 0.5 - 0.6j  # inside, where they count
    size, s = problem.size, np.linspace(-1, 1, problem.size)
    change = 1e-5 * np.concatenate([np.cos(s + 0.3), np.sin(1 + s)[: size // 2], [0.7, 1j]])
    _, matrix = problem.equations(np.exp(log), x)
    above, below = (
        problem.equations(np.exp(log), x + sign * change, derivatives=False)[0] for sign in (1, -1)
    )
    np.testing.assert_allclose((above - below) / 2, matrix @ change, rtol=1e-5, atol=1e-11)


def test_a_pole_that_is_not_followed_is_noticed(monkeypatch):
    spectrum = sample_spectrum(np.linspace(0.5, 1.5, 512), GAP)
    monkeypatch.setattr(flip_flop_pole, "_TURNS", np.array([], dtype=int))
    with pytest.raises(ArithmeticError):
        flip_flop_pole.losses(spectrum, 1.0, 0.0, 50, EPOCHS[:8], flip_flop_pole.WAYS[0])


def test_the_pole_is_not_followed_where_the_usual_path_is_accurate(monkeypatch):
    def unexpected(*_):
        raise AssertionError

    monkeypatch.setattr(flip_flop_pole, "losses", unexpected)
    X = data.normalize_rows(np.random.default_rng(0).standard_normal((300, 256)))
    assert exact.curve("flip_flop", gram_eigenvalues(X), 50, 1.0, 300 / 256).error < 1e-3


def test_very_large_eigenvalues_are_refused():
    values = np.append(np.linspace(0.5, 1.5, 2000), 1e6)
    with pytest.raises(ArithmeticError, match="too large"):
        flip_flop_pole.losses(sample_spectrum(values, 1.2), 1.9, 0.0, 10, EPOCHS[:5], flip_flop_pole.WAYS[0])
