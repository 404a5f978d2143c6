"""Random reshuffle in theory: closed forms by hand, independent numerics, and matrices."""

import itertools

import mpmath
import numpy as np
import pytest

from edgelaw import data, exact, spectrum
from edgelaw.exact.random_reshuffle import engine
from edgelaw.kaczmarz import epoch_matrix, iterates, simulate
from edgelaw.theory import random_reshuffle as rr

STEPS = (0.05, 0.3, 1.0, 1.7, 1.95)
ASPECTS = (0.25, 0.5, 1.0, 2.0, 4.0)


def unit_rows(rows, dims, rng):
    return data.normalize_rows(data.gaussian(rows, dims, rng)) / np.sqrt(dims)


# --------------------------------------------------------------------------------------------------- by hand


@pytest.mark.parametrize("rho", ASPECTS)
@pytest.mark.parametrize("step", STEPS)
def test_one_epoch_is_what_a_hand_computes(step, rho):
    W = np.exp(-step * (2 - step) * rho)
    assert rr.test_loss(1, step, rho) == pytest.approx(W, rel=1e-12)
    train = W + (2 - step) / (step * rho) * (np.exp(-2 * step * rho) - W)
    assert rr.train_loss(1, step, rho) == pytest.approx(train, rel=1e-11)


def test_the_sum_over_ordered_pairs_of_rows_is_an_identity_of_matrices():
    U = unit_rows(7, 5, rng=0)
    S, projections = U.T @ U, np.einsum("ij,ik->ijk", U, U)
    pairs = sum(projections[i] @ projections[j] for i in range(7) for j in range(7) if i != j)
    assert np.abs(pairs - (S @ S - S)).max() < 1e-13


def test_the_mean_epoch_has_the_taylor_coefficients_of_the_recursion():
    values, step = np.linspace(0, 4, 9), 0.8
    before, now, series = np.zeros(9), np.ones(9), np.zeros(9)
    for k in range(60):
        series += (-step) ** k / float(mpmath.factorial(k)) * now
        before, now = now, values * (now - before)
        if k == 0:
            now = values
    assert np.abs(series - rr.mean_epoch(values, step)).max() < 1e-12


def test_the_mean_epoch_never_amplifies_and_leaves_the_left_edge_at_the_effective_step():
    values = np.linspace(1e-3, 4, 4000)
    for step in STEPS:
        assert np.abs(rr.mean_epoch(values, step)).max() < 1
        slope = (1 - rr.mean_epoch(1e-7, step)) / 1e-7
        assert slope == pytest.approx(rr.effective_step(step), rel=1e-6)


@pytest.mark.parametrize("rho", [0.5, 2.0])
def test_the_mean_epoch_is_continuous_at_the_ends_of_the_bulk(rho):
    for end, inward in (((1 - rho**0.5) ** 2, 1), ((1 + rho**0.5) ** 2, -1)):
        assert rr.mean_epoch(end, 1.2, rho) == pytest.approx(
            rr.mean_epoch(end + inward * 1e-9, 1.2, rho), abs=1e-7
        )


# ------------------------------------------------------------------------- the characteristics, integrated anew


def along_the_characteristic(x, y, step, rho):
    """B by integrating the equations along the characteristics with mpmath; nothing is simplified."""
    x, y, step = mpmath.mpmathify(x), mpmath.mpmathify(y), mpmath.mpf(step)
    a, b = 1 / (1 - x), 1 / (1 - y)
    tau, kappa = step * (2 - step), x * y * a * b

    def q(t):
        return y * mpmath.exp(-step * b * t)

    def p(t):  # φ(R A R'), from p' = −ηa p + κ (p − ηq)/(1 − κt) by variation of constants
        inner = mpmath.quad(lambda s: mpmath.exp(-step * a * (t - s)) * q(s), [0, t])
        return (x * y * mpmath.exp(-step * a * t) - step * kappa * inner) / (1 - kappa * t)

    def c(t):  # φ(A R' Aᵀ), from c' = −τc − τ b q²
        inner = mpmath.quad(lambda s: mpmath.exp(-tau * (t - s)) * q(s) ** 2, [0, t])
        return y * mpmath.exp(-tau * t) - tau * b * inner

    def source(t):
        force = step**2 * x * a * c(t) + a * b * (p(t) - step * q(t)) ** 2 - step**2 * b * q(t) ** 2
        return mpmath.exp(-2 * step * a * (rho - t)) * force

    return mpmath.exp(-2 * step * a * rho) * x * y + mpmath.quad(source, [0, rho]), c(rho)


@pytest.mark.parametrize(("step", "rho"), [(0.3, 2.0), (1.7, 0.5)])
def test_the_closed_resolvents_solve_the_equations_along_the_characteristics(step, rho):
    x, y = 0.1 + 0.2j, -0.15 + 0.1j
    for first, second in ((x, y), (y, x)):
        two, one = along_the_characteristic(first, second, step, rho)
        assert abs(rr.two_resolvents(first, second, step, rho) - complex(two)) < 1e-13
        assert abs(rr.one_resolvent(second, step, rho) - complex(one)) < 1e-13


def test_the_two_resolvents_are_symmetric_and_end_in_one_resolvent():
    x, y = 0.21 - 0.1j, -0.3 + 0.05j
    for step in STEPS:
        assert abs(rr.two_resolvents(x, y, step) - rr.two_resolvents(y, x, step)) < 1e-14
        small = 1e-7  # z → ∞ turns (z − S)⁻¹ into 1/z ≈ small
        assert abs(rr.two_resolvents(small, y, step) / small - rr.one_resolvent(y, step)) < 1e-6


def test_the_removable_singularity_of_the_kernel_is_removed():
    at = 1 - 1 / (1 - 1.0 / 2)  # the x of a = 1 − η/2 at η = 1
    near = [rr.two_resolvents(at + h, 0.2j) for h in (0.0, 1e-7, 1e-4)]
    assert abs(near[0] - near[1]) < 1e-6
    assert abs(near[0] - near[2]) < 1e-3


# ---------------------------------------------------------------------- finite n by contours, without a kernel


def contour(radius, count, rho):
    """x on a circle, the z it belongs to, and dz/(2πi), oriented so that z goes round the spectrum."""
    x = radius * np.exp(2j * np.pi * (np.arange(count) + 0.5) / count)
    dz = (-1 / x**2 + rho / (1 - x) ** 2) * x / count
    return x, 1 / x + rho / (1 - x), -dz


def after_one_epoch(z, x, step, rho):
    """T1 at complex z: the divided difference of one resolvent over the two x of z."""
    other = 1 / (z * x)
    return (rr.one_resolvent(x, step, rho) - rr.one_resolvent(other, step, rho)) / (x - other)


@pytest.mark.parametrize(("step", "rho"), [(0.3, 1.0), (1.0, 1.0), (1.7, 1.0), (1.0, 0.5), (1.3, 2.0)])
def test_two_and_three_epochs_agree_with_contour_integrals(step, rho):
    edge = 1 / (1 + np.sqrt(rho))
    (x, z, dz), (y, w, dw) = contour(0.8 * edge, 200, rho), contour(0.6 * edge, 200, rho)
    one, other = after_one_epoch(z, x, step, rho), after_one_epoch(w, y, step, rho)
    pairs = rr.two_resolvents(x[:, None], y, step, rho)
    two = (rr.one_resolvent(x, step, rho) * one * dz).sum().real
    three = ((one * dz) @ pairs @ (other * dw)).real
    train_two = ((z * dz) @ pairs @ (other * dw)).real / rho
    assert rr.test_loss(2, step, rho) == pytest.approx(two, rel=1e-10)
    assert rr.test_loss(3, step, rho) == pytest.approx(three, rel=1e-10)
    assert rr.train_loss(2, step, rho) == pytest.approx(train_two, rel=1e-10)


def test_two_epochs_agree_with_thirty_digits():
    mpmath.mp.dps = 30
    eta = mpmath.mpf(3) / 2

    def one(theta):
        x = (1 - 1j * mpmath.cot(theta / 2)) / 2
        a = 1 / (1 - x)
        C = (a - 1) * (eta * mpmath.exp(-eta * (2 - eta)) + (2 - eta) * x * mpmath.exp(-2 * eta * a))
        return (C / (2 * a - 2 + eta)).imag / x.imag

    two = mpmath.quad(
        lambda t: one(t) ** 2 * 2 / mpmath.pi * mpmath.cos(t / 2) ** 2, mpmath.linspace(0, mpmath.pi, 9)
    )
    mpmath.mp.dps = 15
    assert rr.test_loss(2, 1.5) == pytest.approx(float(two), rel=1e-13)


def test_the_discretisation_does_not_show(monkeypatch):
    n = np.array([1, 2, 5, 20, 100, 1000])
    cases = [(step, rho) for step in STEPS for rho in (0.25, 0.999, 1.0, 2.0, 4.0)]
    before = [(rr.test_loss(n, *case), rr.train_loss(n, *case)) for case in cases]
    caches = (rr._modes, rr._kernel, rr._potential)
    monkeypatch.setattr(rr, "_PANELS", 27)
    monkeypatch.setattr(rr, "_ORDER", 21)
    monkeypatch.setattr(rr, "_GRID", 57)
    for cache in caches:
        cache.cache_clear()
    after = [(rr.test_loss(n, *case), rr.train_loss(n, *case)) for case in cases]
    for cache in caches:
        cache.cache_clear()
    for (_, rho), old, new in zip(cases, before, after, strict=True):
        for a, b, rest in zip(old, new, (max(0, 1 - rho), 0), strict=True):
            seen = b - rest > 1e-250
            assert np.abs(a[seen] / b[seen] - 1).max() < 1e-11


# --------------------------------------------------------------------------------------------- large n


@pytest.mark.parametrize("step", STEPS)
def test_the_constants_are_the_limits_of_the_exact_curves(step):
    n = np.array([10_000, 100_000])
    for loss, power, constant in (
        (rr.test_loss, 0.5, rr.test_constant(step)),
        (rr.train_loss, 1.5, rr.train_constant(step)),
    ):
        scaled = loss(n, step) * n**power
        limit = (10 * scaled[1] - scaled[0]) / 9  # the correction falls as 1/n
        assert limit == pytest.approx(constant, rel=2e-6 if step > 1.9 else 1e-7)


def test_the_test_constant_at_step_one_is_one_over_root_three_pi():
    assert rr.test_constant() == pytest.approx(1 / np.sqrt(3 * np.pi), rel=1e-15)
    assert 1 / (2 * np.sqrt(np.pi)) < rr.test_constant() < 1 / np.sqrt(2 * np.pi)  # single shuffle, IID


@pytest.mark.parametrize("step", [0.3, 1.0, 1.7, 1.95])
def test_there_is_no_seam_where_the_asymptote_takes_over(step):
    n = 10**6 + np.arange(-3, 4)
    for loss, power in ((rr.test_loss, 0.5), (rr.train_loss, 1.5)):
        scaled = loss(n, step) * n.astype(float) ** power
        assert np.abs(np.diff(scaled) / scaled[0]).max() < 1e-10
    far = rr.test_loss(10**12, step) * 1e6 / rr.test_constant(step)
    assert far == pytest.approx(1, rel=1e-8)


def test_the_curves_fall_and_are_log_convex_as_moments_of_a_symmetric_contraction_are():
    n = np.arange(0, 400)
    for step, rho in [(0.3, 1.0), (1.0, 1.0), (1.9, 1.0), (1.0, 2.0), (1.7, 0.5)]:
        test = rr.test_loss(n, step, rho)
        falling = np.diff(test) < 0 if rho >= 1 else np.diff(test) <= 1e-15  # below 1 it ends on a plateau
        assert falling.all()
        even = test[::2]
        assert (even[1:-1] ** 2 <= even[:-2] * even[2:] * (1 + 1e-12)).all()


def test_few_rows_leave_what_no_row_sees():
    assert rr.test_loss(10**5, 1.0, 0.5) == pytest.approx(0.5, rel=1e-13)
    assert rr.train_loss(10**5, 1.0, 0.5) == 0.0


# --------------------------------------------------------------------------------------------------- matrices


def test_the_mean_epoch_is_the_average_of_matrices_over_permutations():
    d, step, rng = 500, 1.2, np.random.default_rng(3)
    U = unit_rows(d, d, rng)
    values, V = np.linalg.eigh(U.T @ U)
    draws = 24
    A = sum(epoch_matrix(U[rng.permutation(d)], step) for _ in range(draws)) / draws
    inside = values < 4
    diagonal = np.einsum("ij,ik,kj->j", V, A, V)[inside]
    error = diagonal - rr.mean_epoch(values[inside], step)
    assert np.sqrt((error**2).mean()) < 0.02
    assert abs(error.mean()) < 0.002
    # A direction of small eigenvalue is forgotten at the rate η(1 + η/2), here 1.92.
    small = values < 0.05
    rates = (1 - np.einsum("ij,ik,kj->j", V[:, small], A, V[:, small])) / values[small]
    standard_error = rates.std(ddof=1) / np.sqrt(small.sum())
    assert standard_error < 0.015
    near = ((1 - rr.mean_epoch(values[small], step)) / values[small]).mean()
    assert abs(rates.mean() - near) < 3 * standard_error


def moments(d, step, designs, rng):
    """tr(S^p A S^q Aᵀ)/d for p, q = 0..3, one line per design."""
    rows = []
    for _ in range(designs):
        U = unit_rows(d, d, rng)
        S, A = U.T @ U, epoch_matrix(U, step)
        powers = [np.eye(d), S, S @ S, S @ S @ S]
        halves = [A @ power @ A.T for power in powers]
        rows.append([[np.vdot(power, half) / d for half in halves] for power in powers])
    return np.array(rows)


def predicted_moments(step):
    """The same from T: ∫ λ^(p+q) ā² dF + ∫∫ λ^p μ^q k dF dF, by the midpoint rule in the angle."""
    theta = np.pi * (np.arange(200) + 0.5) / 200
    values, mass = 4 * np.sin(theta / 2) ** 2, np.cos(theta / 2) ** 2 / 100
    T = rr.overlap(values[:, None], values, step) * mass[:, None] * mass
    T[np.diag_indices(200)] += rr.mean_epoch(values, step) ** 2 * mass
    powers = values ** np.arange(4)[:, None]
    return powers @ T @ powers.T


@pytest.mark.parametrize("step", [0.5, 1.7])
def test_the_averaged_epoch_takes_polynomials_where_matrices_take_them(step):
    rng = np.random.default_rng(7)
    coarse, fine = moments(250, step, 16, rng), moments(500, step, 8, rng)
    extrapolated = 2 * fine.mean(axis=0) - coarse.mean(axis=0)  # deviations are of order 1/d
    variance = 4 * fine.var(axis=0, ddof=1) / 8 + coarse.var(axis=0, ddof=1) / 16
    predicted = predicted_moments(step)
    error = np.sqrt(variance)
    assert (error < 0.02 * predicted).all()
    assert (np.abs(extrapolated - predicted) < 4 * error + 1e-12).all()  # 16 correlated numbers


def test_the_overlaps_of_one_epoch_follow_the_kernel():
    d, step, rng = 500, 1.0, np.random.default_rng(5)
    edges = np.array([0.0, 0.1, 0.5, 1.0, 2.0, 3.0])
    measured, predicted = [], []
    for _ in range(6):
        U = unit_rows(d, d, rng)
        values, V = np.linalg.eigh(U.T @ U)
        squares = d * (V.T @ epoch_matrix(U, step) @ V) ** 2
        np.fill_diagonal(squares, np.nan)
        inside = np.clip(values, 0, 4)
        kernel = rr.overlap(inside[:, None], inside, step)
        np.fill_diagonal(kernel, np.nan)
        cells = [np.flatnonzero((values >= a) & (values < b)) for a, b in itertools.pairwise(edges)]
        measured.append([[np.nanmean(squares[np.ix_(i, j)]) for j in cells] for i in cells])
        predicted.append([[np.nanmean(kernel[np.ix_(i, j)]) for j in cells] for i in cells])
    ratio = np.array(measured) / np.array(predicted)
    error = ratio.std(axis=0, ddof=1) / np.sqrt(len(ratio))
    assert error.max() < 0.06
    assert np.abs(ratio.mean(axis=0) - 1).max() < 0.08
    assert abs(ratio.mean() - 1) < 0.015


def exact_traces(d, step, recorded, seed):
    """Test and training loss of one design over all starts at once, and T's word on its own eigenvalues."""
    X = data.normalize_rows(data.gaussian(d, d, seed))
    values = np.clip(spectrum.gram_eigenvalues(X), 0, 4)
    T = rr.overlap(values[:, None], values, step) / d
    T[np.diag_indices(d)] = rr.mean_epoch(values, step) ** 2
    ratios, f, done = [], np.ones(d), 0
    for n, W in iterates(X, "random_reshuffle", recorded, np.eye(d), step, rng=seed):
        for _ in range(n - done):
            f = T @ f
        done = n
        if n > 0:
            ratios.append([(W**2).sum() / d / f.mean(), ((X @ W) ** 2).sum() / d**2 / (values * f).mean()])
    return np.array(ratios)


@pytest.mark.parametrize(("step", "allowed"), [(0.3, (5e-4, 1e-3)), (1.0, (2e-3, 1e-2)), (1.7, (5e-3, 2e-2))])
def test_every_design_follows_the_operator_on_its_own_eigenvalues(step, allowed):
    ratios = np.array([exact_traces(384, step, [1, 5, 20], seed) for seed in range(3)])
    assert (np.abs(ratios.mean(axis=0) - 1) < allowed).all()


def test_the_constant_one_over_root_three_pi_is_seen_in_matrices_to_three_per_mille():
    """Against the sample's own mean epoch, whose edge is proved; the kernel of T is not used."""
    d, recorded = 512, [16, 32]
    measured = []
    for seed in range(5):
        X = data.normalize_rows(data.gaussian(d, d, seed))
        values = np.clip(spectrum.gram_eigenvalues(X), 0, 4)
        walk = iterates(X, "random_reshuffle", recorded, np.eye(d), rng=seed)
        traces = np.array([(W**2).sum() / d for n, W in walk if n > 0])
        # The mean epoch alone on these eigenvalues takes the noise of the design away: its own limit is the constant.
        means = np.array([(rr.mean_epoch(values) ** (2 * n)).mean() for n in recorded])
        near, far = traces / means
        measured.append((2 * far - near) / np.sqrt(3 * np.pi))  # a relative correction of order 1/n goes
    standard_error = np.std(measured, ddof=1) / np.sqrt(len(measured))
    assert standard_error < 1e-3 * rr.test_constant()
    assert np.mean(measured) == pytest.approx(rr.test_constant(), rel=3e-3)


def test_simulated_curves_agree_within_their_standard_errors():
    d, recorded = 1024, [1, 2, 5, 12]
    rng, curves = np.random.default_rng(17), []
    for _ in range(10):
        X = data.gaussian(d, d, rng)
        curve = simulate(X, "random_reshuffle", recorded, probes=256, runs=1, rng=rng)
        curves.append([curve.test[1:], curve.train[1:]])
    curves = np.array(curves)
    mean, error = curves.mean(axis=0), curves.std(axis=0, ddof=1) / np.sqrt(len(curves))
    truth = np.array([rr.test_loss(recorded), rr.train_loss(recorded)])
    assert (error[0] < 0.005 * truth[0]).all()
    assert (error[1] < 0.015 * truth[1]).all()
    # Eight numbers and ten designs: Student's t with 9 degrees of freedom, two-sided 1 % shared by eight, is 4.6.
    assert (np.abs(mean - truth) < 4.6 * error).all()
    assert (np.abs(mean / truth - 1) < 0.012).all()


@pytest.mark.parametrize("rho", [0.5, 2.0])
def test_other_aspects_agree_with_matrices(rho):
    d, step = 500, 1.3
    rows, rng, losses = int(rho * d), np.random.default_rng(2), []
    for seed in range(10):
        X = data.normalize_rows(data.gaussian(rows, d, rng))
        walk = iterates(X, "random_reshuffle", 2, np.eye(d), step, rng=seed)
        losses.append([[(W**2).sum() / d, ((X @ W) ** 2).sum() / (d * rows)] for n, W in walk if n > 0])
    losses = np.array(losses)
    truth = np.stack([rr.test_loss([1, 2], step, rho), rr.train_loss([1, 2], step, rho)], axis=1)
    error = losses.std(axis=0, ddof=1) / np.sqrt(len(losses)) / truth
    assert (error < [0.005, 0.015]).all()
    # Four numbers, ten designs: Student's t with 9 degrees of freedom, 1 % shared by four, is 4.2. Finite d: O(1/d).
    assert (np.abs(losses.mean(axis=0) / truth - 1) < 4.2 * error + 1 / d).all()


# ----------------------------------------------------------------------------------------- the effective step


def reversed_series(values, step, terms=40):
    """η_RR from the moments, by reverting x = w Σ m_j w^j with mpmath: [x^k] w = [w^(k−1)] M^(−k) / k."""
    mpmath.mp.dps = 60
    values = [mpmath.mpf(float(v)) for v in values]
    mean = sum(values) / len(values)
    m = [sum((v / mean) ** j for v in values) / len(values) for j in range(terms)]
    inverse = [mpmath.mpf(1)]  # 1/M
    for j in range(1, terms):
        inverse.append(-sum(m[i] * inverse[j - i] for i in range(1, j + 1)))
    power, total = [mpmath.mpf(1)] + [mpmath.mpf(0)] * (terms - 1), mpmath.mpf(0)
    for k in range(1, terms):
        power = [sum(power[i] * inverse[j - i] for i in range(j + 1)) for j in range(terms)]
        total -= (-mpmath.mpf(step)) ** k / mpmath.factorial(k) * power[k - 1] / k
    mpmath.mp.dps = 15
    return float(total)


def test_the_effective_step_agrees_with_the_series_of_its_moments():
    for values in ([0.2, 0.7, 1.1, 2.0], np.linspace(0.01, 2, 12)):
        for step in (0.2, 0.6):
            assert exact.effective_step("random_reshuffle", step, values) == pytest.approx(
                reversed_series(values, step), rel=1e-9
            )


def test_the_effective_step_of_a_marchenko_pastur_sample_is_that_of_gaussian_rows():
    values = spectrum.MarchenkoPastur(1.0).quantile((np.arange(2000) + 0.5) / 2000)
    for step in (0.3, 1.0, 1.7):
        assert exact.effective_step("random_reshuffle", step, values) == pytest.approx(
            rr.effective_step(step), rel=2e-6
        )
        assert exact.effective_step("random_reshuffle", step, 5 * values) == pytest.approx(
            exact.effective_step("random_reshuffle", step, values), rel=1e-12
        )


def test_the_effective_step_of_another_spectrum_is_seen_in_matrices():
    d, step, rng = 400, 1.0, np.random.default_rng(4)
    X = data.normalize_rows(data.power_law(d, d, beta=1.5, rng=rng))
    U = X / np.sqrt(d)
    values, V = np.linalg.eigh(U.T @ U)
    A = sum(epoch_matrix(U[rng.permutation(d)], step) for _ in range(40)) / 40
    small = values < 0.1
    rates = (1 - np.einsum("ij,ik,kj->j", V[:, small], A, V[:, small])) / values[small]
    _, start = np.polyfit(values[small], rates, 1)
    assert start == pytest.approx(exact.effective_step("random_reshuffle", step, values), rel=0.02)
    assert (
        abs(exact.effective_step("random_reshuffle", step, values) - 1.5) > 0.1
    )  # and it is not the isotropic one


def test_the_effective_step_of_extreme_spectra_is_known_by_hand():
    # Orthogonal rows: G = 1/(z − 1), whose inverse series gives −Σ (−η)^k/k! (−1)^(k−1) = e^η − 1.
    assert exact.effective_step("random_reshuffle", 1.0, np.ones(3)) == pytest.approx(np.e - 1, rel=1e-12)
    # All rows (nearly) parallel, d = 10⁴: the small directions are forgotten at the rate η, up to O(1/d).
    assert exact.effective_step(
        "random_reshuffle", 1.0, np.append(np.full(10**4, 1e-9), 1.0)
    ) == pytest.approx(1.0, abs=2e-4)


def test_an_integral_that_does_not_settle_is_not_returned(monkeypatch):
    monkeypatch.setattr(engine, "rate_at_zero", lambda law, epoch, contour, digits: digits)
    with pytest.raises(ValueError, match="too many scales"):
        exact.effective_step("random_reshuffle", 1.0, [0.5, 1.5])


# ------------------------------------------------------------------------------------------ shapes and refusals


def test_overlaps_have_the_shape_of_both_arguments():
    assert rr.overlap(np.ones((3, 1)), np.ones(4)).shape == (3, 4)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: rr.mean_epoch(4.5), "in the bulk of S"),
        (lambda: rr.overlap(0.1, 1.0, rho=4.0), "in the bulk of S"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(call, words):
    with pytest.raises(ValueError, match=words) as refusal:
        call()
    assert str(refusal.value).count(". ") == 0
