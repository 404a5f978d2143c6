"""Poles that are followed: against mpmath, closed forms, other contours, other orders and matrices."""

import mpmath
import numpy as np
import pytest

from edgelaw import data, exact, kaczmarz
from edgelaw.exact import levy, sources
from edgelaw.exact.batches.blocks import SampleRows
from edgelaw.exact.single_shuffle import kernel as shuffle_kernel
from edgelaw.exact.single_shuffle import settings as shuffle_curve
from edgelaw.exact.single_shuffle.pairs import Pairs
from edgelaw.spectrum import gram_eigenvalues
from edgelaw.theory import single_shuffle

CONTOURS = (-0.5, 0.75), (-2.0, 1.08), (-0.1, 1.08)  # places and shares of the half-height


def rows(m, d, decay, centred=False, seed=0):
    """Eigenvalues of m Gaussian rows of covariance j^(−decay), of norm √d."""
    X = data.gaussian(m, d, rng=np.random.default_rng(seed)) * np.arange(1, d + 1) ** (-decay / 2)
    values = gram_eigenvalues(data.normalize_rows(X - X.mean(axis=0) if centred else X))
    return np.where(values > 1e-10 * values[-1], values, 0)


def padded(positive, d):
    """Eigenvalues of fewer rows than dimensions."""
    return np.concatenate([np.zeros(d - len(positive)), positive])


def two_levels(low, high, share, count):
    return np.where(np.arange(count) < share * count, low, high)


def settings(values, rho, step, last):
    """The settings whose poles are followed."""
    spectrum = SampleRows(*sources.sample(values), rho)
    return [shuffle_curve.around(spectrum, step, last, *contour, follow=True) for contour in CONTOURS]


def losses(setting, n):
    """Both losses of a setting, at two resolutions."""
    result = shuffle_curve.attempt(setting, n)
    return result.fine, result.coarse


@pytest.mark.parametrize("x", [0.3 + 0.2j, 1e-3 + 1e-4j, 0.29j, 0.31, 3 + 12.6j, -2 + 7j, 1 + 40j])
def test_the_bose_function_without_some_of_its_poles(x):
    turns = np.arange(-3.0, 3)
    with mpmath.workdps(40):

        def rest(y):
            return 1 / mpmath.expm1(y) - sum(1 / (y - 2j * mpmath.pi * int(k)) for k in turns)

        value, slope = complex(rest(mpmath.mpmathify(x))), complex(mpmath.diff(rest, mpmath.mpmathify(x)))
    computed = [part[0] for part in shuffle_kernel.without_poles(np.array([complex(x)]), turns)]
    assert abs(computed[0] - value) < 3e-15
    assert abs(computed[1] - slope) < 3e-14


def test_c_is_the_same_whether_poles_outside_are_followed_or_not():
    values = rows(60, 60, 0.5)
    gram, parts = levy.companion(*sources.sample(values), 1.0)
    average = levy.from_gram(gram, parts, 1.0, -0.05, 1e-12)
    setting = settings(values, 1.0, 0.8, 20)[0]
    angles = np.pi * (1 - (np.arange(30) + 0.5) / 30)
    log_z = np.log(0.8) + 1j * angles
    plain = Pairs(average, 1.0, 0.8).around(log_z)
    followed = setting.pairs[0].around(log_z)
    assert np.isfinite(followed).all()
    assert np.abs(followed[:, 0] / plain[:, 0] - 1).max() < 1e-9
    zeta = followed[:, 1:]
    poles = (log_z[:, None] + 2j * np.pi * setting.pairs[0].turns) / followed[:, :1]
    assert np.abs((parts / (zeta[..., None] - gram)).sum(axis=-1) * poles - 1).max() < 1e-9


@pytest.mark.parametrize(("rho", "step"), [(0.5, 1.5), (0.5, 1.9), (600 / 512, 0.5), (4.0, 1.0)])
def test_closed_forms(rho, step):
    theta, weights = np.polynomial.legendre.leggauss(400)
    theta = (theta + 1) * np.pi / 2
    values = 1 + 1 / rho - 2 * np.cos(theta) / np.sqrt(rho)
    shares = weights * np.sin(theta) ** 2 / values
    shares *= min(1, rho) / shares.sum()
    if rho < 1:
        values, shares = np.append(0, values), np.append(1 - rho, shares)
    n = np.arange(1, 41)
    spectrum = SampleRows(*sources.sample(values, shares), rho)
    for contour in CONTOURS:
        fine, coarse = losses(shuffle_curve.around(spectrum, step, 40, *contour, follow=True), n)
        truth = single_shuffle.test_loss(n, step, rho), single_shuffle.train_loss(n, step, rho)
        for i, plateau in enumerate((max(0.0, 1 - rho), 0.0)):
            seen = (truth[i] - plateau > 1e-10) & np.isfinite(fine[i])
            assert seen.sum() > 3
            assert np.abs(fine[i] / truth[i] - 1)[seen].max() < 3e-7
            assert np.abs(coarse[i] / truth[i] - 1)[seen].max() < 3e-6


WITHOUT_ROOM = {
    "a lone large eigenvalue": (lambda: rows(100, 800, 0.7), 1 / 8, 1.9, 200),
    "the same, fewer rows": (lambda: rows(64, 512, 0.7), 1 / 8, 1.9, 200),
    "two levels": (lambda: two_levels(0.6, 1.1, 0.2, 512), 600 / 512, 1.5, 200),
    "two levels near step 2": (lambda: two_levels(0.1, 1.0, 0.3, 512), 600 / 512, 1.9, 200),
    "two levels of few rows": (lambda: padded(two_levels(0.1, 1.5, 0.3, 256), 512), 0.5, 1.9, 200),
    "a power law": (lambda: np.arange(1, 513) ** -0.8, 600 / 512, 1.5, 200),
    "a power law at m = d": (lambda: np.arange(1, 513) ** -0.25, 1.0, 1.5, 50),
    "equidistant": (lambda: np.linspace(0.5, 1.5, 512), 600 / 512, 1.9, 200),
}


@pytest.mark.parametrize("name", WITHOUT_ROOM)
def test_spectra_without_room_for_a_contour_are_answered(name):
    """Three contours agree, and the first epoch is random reshuffle's, which has other equations."""
    spectrum, rho, step, last = WITHOUT_ROOM[name]
    values = spectrum()
    curve = exact.curve("single_shuffle", values, last, step, rho)
    assert curve.error < 1e-4
    shown = slice(0, last + 1 if curve.continued is None else curve.continued)
    assert (np.diff(curve.train[shown]) < 0).all()
    assert curve.continued is None or curve.train[curve.continued] < 1e-12
    first = exact.curve("random_reshuffle", values, 1, step, rho)
    assert abs(curve.test[1] / first.test[1] - 1) < curve.error + first.error
    assert abs(curve.train[1] / first.train[1] - 1) < curve.error + first.error
    n = np.arange(1, last + 1)
    for setting in settings(values, rho, step, last):
        fine, _ = losses(setting, n)
        seen = (curve.train[1:] > 1e-7) & np.isfinite(fine[1])
        assert seen.sum() > 5
        assert np.abs(fine[1] / curve.train[1:] - 1)[seen].max() < 1e-4


@pytest.mark.parametrize(("step", "last"), [(1.5, 40), (1.9, 100)])
def test_centred_rows_keep_their_null_eigenvalue(step, last):
    """No row is left out, so that the error is not of the order 1/m."""
    curve = exact.curve("single_shuffle", rows(64, 512, 0.5, centred=True), last, step, 1 / 8)
    assert curve.error < 1e-4


@pytest.mark.parametrize("step", [1.0, 1.9])
def test_matrices_of_two_levels(step):
    """d = 256, m = 300, 24 orders: losses above 1e-3 within 2 % and three standard errors, which are capped.

    A rate that is off by 1/d makes a relative error that grows with the logarithm of a loss, hence the bound.
    """
    d, m, epochs, rng = 256, 300, [1, 2, 3, 5, 10, 20], np.random.default_rng(3)
    X = data.normalize_rows(data.with_spectrum(two_levels(0.3, 1.6, 0.5, d), m, rng))
    curve = exact.curve("single_shuffle", gram_eigenvalues(X), epochs, step, m / d)
    U, losses = X / np.linalg.norm(X, axis=1)[:, None], []
    for _ in range(24):
        A = kaczmarz.epoch_matrix(U[rng.permutation(m)], step)
        powers = [np.linalg.matrix_power(A, n) for n in epochs]
        losses.append([[(P**2).sum() / d for P in powers], [((U @ P) ** 2).sum() / m for P in powers]])
    predicted = np.array([curve.test[1:], curve.train[1:]])
    ratios = np.array(losses)[:, predicted > 1e-3] / predicted[predicted > 1e-3] - 1
    mean, error = ratios.mean(axis=0), ratios.std(axis=0, ddof=1) / np.sqrt(24)
    assert len(mean) >= 4
    assert error.max() < 0.01
    assert (np.abs(mean) < 0.02 + 3 * error).all()


def test_a_circle_beyond_a_branch_point_is_seen():
    """The domain of these two levels ends at log z = 1.458; beyond it Φ and Ψ are positive again."""
    setting = settings(two_levels(2.4, 4.4, 0.2, 512), 4.0, 0.5, 200)[0]
    pairs = setting.pairs[1]
    edge, _ = shuffle_curve.domain(setting, 200)
    assert shuffle_curve.inside_the_domain(setting, 0.97 * edge)
    assert not shuffle_curve.inside_the_domain(setting, 1.1 * edge)
    angles = np.pi * (1 - (np.arange(256) + 0.5) / 256)
    inner, outer = (at * edge + 1j * angles for at in (0.9, 1.1))
    assert pairs.negative_powers(inner, pairs.around(inner)) < 1e-9
    assert pairs.negative_powers(outer, pairs.around(outer)) > 1e-3


def test_from_where_a_way_cannot_be_followed_nothing_is_returned():
    setting = settings(rows(60, 60, 0.5), 1.0, 0.8, 20)[0]
    solved = setting.pairs[0].around(np.array([-4.0 + 3j, np.nan, -4.0 + 3j]))
    assert np.isfinite(solved[0]).all()
    assert np.isnan(solved[1:]).all()
