"""IID sampling in theory, against mpmath by other routes, against exact matrices, and against simulation."""

import mpmath
import numpy as np
import pytest
import record_iid
import scipy.stats

from edgelaw import data, exact, kaczmarz, spectrum
from edgelaw._common import arguments
from edgelaw.exact import iid as engine
from edgelaw.exact import silverstein, sources
from edgelaw.exact.batches import requests
from edgelaw.laws import MarchenkoPastur
from edgelaw.theory import iid

STEPS = (0.05, 0.5, 1.0, 1.5, 1.95)


def laplace_inverse(n, step, rho):
    """Both losses from the algebraic Stieltjes transform, inverted numerically in mpmath: no density, no poles."""
    with mpmath.workdps(60):
        eta, c = mpmath.mpf(step), 1 / mpmath.mpf(rho)
        a, b, speed = 1 - eta / 2, eta / 2, 2 * eta / c
        low, high = (1 - mpmath.sqrt(c)) ** 2, (1 + mpmath.sqrt(c)) ** 2

        def transform(p, which):
            x = -p / speed
            G = (x + c - 1 - mpmath.sqrt(x - low) * mpmath.sqrt(x - high)) / (2 * c * x)
            g = x * G - 1
            return -(a * G + b * g if which == "test" else g) / (a + b * x * g) / speed

        return [
            mpmath.invertlaplace(lambda p: transform(p, which), n, method="talbot", degree=60)  # noqa: B023
            for which in ("test", "train")
        ]


def moment_series(t, step, terms=260):
    """Both losses at ρ = 1 from the integer moments of Marchenko–Pastur: a power series in t, summed at 150 digits."""
    with mpmath.workdps(150):
        eta = mpmath.mpf(step)
        catalan = [mpmath.binomial(2 * k, k) / (k + 1) for k in range(terms + 2)]
        train = []  # derivatives of the training loss at 0, by differentiating the Volterra equation
        for k in range(terms):
            noise = sum(catalan[j + 2] * (-2 * eta) ** j * train[k - 1 - j] for j in range(k))
            train.append(catalan[k + 1] * (-2 * eta) ** k + eta**2 * noise)
        loss = sum(c * mpmath.mpf(t) ** k / mpmath.factorial(k) for k, c in enumerate(train))
        area = sum(c * mpmath.mpf(t) ** (k + 1) / mpmath.factorial(k + 1) for k, c in enumerate(train))
        return 1 - eta * (2 - eta) * area, loss


def mp_matrix_curve(values, epochs, step):
    """Both losses of a small spectrum, by mpmath's eigensolver on the diagonal-plus-rank-one matrix."""
    with mpmath.workdps(80):
        lam = [mpmath.mpf(float(x)) for x in values]
        mean = sum(lam) / len(lam)
        lam, d, eta = [x / mean for x in lam], len(lam), mpmath.mpf(step)
        B = mpmath.matrix(d, d)
        for i in range(d):
            for j in range(d):
                B[i, j] = eta**2 * lam[i] * lam[j] / d - (2 * eta * lam[i] if i == j else 0)
        rates, vectors = mpmath.eigsy(B)
        ones = [sum(vectors[j, i] for j in range(d)) for i in range(d)]
        lams = [sum(lam[j] * vectors[j, i] for j in range(d)) for i in range(d)]
        decay = [[mpmath.exp(rates[i] * n) / d for i in range(d)] for n in epochs]
        return (
            [sum(o * o * e for o, e in zip(ones, row, strict=True)) for row in decay],
            [sum(o * q * e for o, q, e in zip(ones, lams, row, strict=True)) for row in decay],
        )


def row_by_row(X, epochs, step):
    """Both expected losses by averaging the update over all rows, row update by row update."""
    U = X / np.linalg.norm(X, axis=1)[:, None]
    m, d = U.shape
    maps = [np.eye(d) - step * np.outer(u, u) for u in U]
    M, H, losses = np.eye(d), d * U.T @ U / m, []
    for k in range(m * epochs + 1):
        if k % m == 0:
            losses.append([np.trace(M) / d, np.trace(H @ M) / d])
        M = sum(P @ M @ P for P in maps) / m
    return np.array(losses).T


def sample(X):
    """The spectrum that the normalised update sees."""
    return spectrum.gram_eigenvalues(data.normalize_rows(np.asarray(X, dtype=float)))


# ------------------------------------------------------------------------------------ Gaussian rows, d → ∞


@pytest.mark.parametrize("step", STEPS)
def test_gaussian_losses_equal_an_inverse_laplace_transform_in_high_precision(step):
    for n in (1, 2, 7, 60, 1000, 10_000):
        test, train = laplace_inverse(n, step, 1)
        assert abs(iid.test_loss(n, step) / test - 1) < 1e-12
        assert abs(iid.train_loss(n, step) / train - 1) < 1e-12


@pytest.mark.parametrize("rho", [0.2, 0.5, 0.999, 1.001, 2, 4])
@pytest.mark.parametrize("step", [0.3, 1.0, 1.3, 1.95])
def test_gaussian_losses_at_any_aspect_equal_the_inverse_laplace_transform(step, rho):
    for n in (1, 12):
        test, train = laplace_inverse(n, step, rho)
        assert abs(iid.test_loss(n, step, rho) / test - 1) < 1e-10
        assert abs(iid.train_loss(n, step, rho) / train - 1) < 1e-10


@pytest.mark.parametrize("step", [1.95])
def test_gaussian_losses_equal_the_power_series_with_catalan_moments(step):
    for n in (1, 2):
        test, train = moment_series(n, step)
        assert abs(iid.test_loss(n, step) / test - 1) < 1e-12
        assert abs(iid.train_loss(n, step) / train - 1) < 1e-12


@pytest.mark.parametrize("step", [1e-6, 0.7, 1.99, 2 - 1e-9])
@pytest.mark.parametrize("rho", [1e-3, 1 - 1e-9, 1.0, 1 + 1e-5, 7.0, 1e3])
def test_the_measures_have_the_right_mass_and_mean_at_extreme_steps_and_aspects(step, rho):
    rates, test, train = iid._marchenko_pastur_rule(step, rho)
    assert test.sum() == pytest.approx(min(1, rho), rel=1e-12)
    assert train.sum() == pytest.approx(1, rel=1e-12)
    assert rates @ train == pytest.approx((1 - step / 2) * (1 + 1 / rho), rel=1e-12)  # ⟨λ²⟩ = 1 + 1/ρ


def test_the_slopes_at_the_start_are_those_of_the_definition():
    # test′(0) = −η(2−η)⟨λ⟩ and train′(0) = −2η⟨λ²⟩ + η²⟨λ²⟩ with ⟨λ²⟩ = 2: by hand, at η = 1, −1 and −2
    rates, test, train = iid._marchenko_pastur_rule(1.0, 1.0)
    assert test.sum() == pytest.approx(1, abs=1e-14)
    assert train.sum() == pytest.approx(1, abs=1e-14)
    assert -2 * rates @ test == pytest.approx(-1, abs=1e-13)
    assert -2 * rates @ train == pytest.approx(-2, abs=1e-13)


@pytest.mark.parametrize("step", STEPS)
def test_the_constants_are_the_limits_and_the_next_term_is_of_order_one_over_n(step):
    n = np.array([10**4, 10**5, 10**6])
    next_term = (2 * step / (2 - step) - 1 / 8) / (4 * step)
    excess = np.sqrt(n) * iid.test_loss(n, step) / iid.test_constant(step) - 1
    assert excess * n == pytest.approx(next_term, rel=0.05)
    excess = n**1.5 * iid.train_loss(n, step) / iid.train_constant(step) - 1
    assert excess * n == pytest.approx(3 * next_term, rel=0.05)


def test_underdetermined_rows_leave_the_null_space_alone():
    assert iid.test_loss(10**6, rho=0.25) == pytest.approx(0.75, rel=1e-14)
    assert iid.train_loss(10**6, rho=0.25) == 0.0


def test_beyond_the_critical_step_an_isolated_rate_is_slower_than_the_edge():
    rho, edge = 4.0, 0.25  # r = 1/2: λ₋ = 1/4, and the critical step is 2/(r + 1/r − 1) = 4/3
    n = np.array([100, 101])
    for step, slower in ((1.3, False), (1.4, True)):
        rate = -np.diff(np.log(iid.train_loss(n, step, rho)))[0] / (2 * step * rho)
        assert (rate < edge) == slower


def test_small_losses_are_kept_and_repeated_epochs_agree():
    assert 0 < iid.test_loss(300, rho=3.0) < 1e-100
    n = np.array([5, 0, 10**6, 5])
    assert iid.test_loss(n) == pytest.approx([iid.test_loss(int(k)) for k in n], rel=1e-14)


@pytest.mark.parametrize(
    ("step", "rho"), [(0.5, 1.0), (1.5, 1.0), (1.9, 1.0), (1.0, 0.5), (1.2, 4.0), (1.6, 4.0)]
)
def test_the_density_of_rates_gives_the_test_loss_again(step, rho):
    low, high = spectrum.MarchenkoPastur(rho).support
    s = np.linspace(0, np.pi, 20_001)  # x in the angle, where the trapezoidal rule is exact enough
    x = low + (high - low) * np.sin(s / 2) ** 2
    density = np.where(
        (s > 0) & (s < np.pi), iid.rate_density(x, step, rho) * (high - low) * np.sin(s) / 2, 0
    )
    if rho == 1:
        density[0] = 2 / np.pi  # the limit at the hard edge
    integral = np.trapezoid(density * np.exp(-2 * step * rho * 3 * x), s) + max(0, 1 - rho)
    truth = iid.test_loss(3, step, rho)
    if (step, rho) == (1.6, 4.0):  # beyond the critical step 4/3 an isolated rate has weight of its own
        assert integral < 0.9 * truth
    else:
        assert integral == pytest.approx(truth, rel=1e-8)


def test_losses_fall_and_the_trace_decrement_identity_holds_between_epochs():
    for step, rho in ((0.3, 1.0), (1.0, 2.0), (1.9, 0.5)):
        rates, test, train = iid._marchenko_pastur_rule(step, rho)
        t = np.linspace(0, 3, 7)
        slope = (-2 * step * rho * rates * test) @ np.exp(-2 * step * rho * np.outer(rates, t))
        loss = train @ np.exp(-2 * step * rho * np.outer(rates, t))
        assert slope == pytest.approx(-rho * step * (2 - step) * loss, rel=1e-12)


# ------------------------------------------------------------------------------------- any sample spectrum


@pytest.mark.parametrize("step", [0.05, 1.0, 1.95])
@pytest.mark.parametrize(
    "values",
    [
        10.0 ** np.linspace(-14, 0, 12),
        [1, 1, 1, 2, 2, 0.25, 0, 0],
        [1, 1 + 1e-15, 1 + 1e-13, 0.3, 0.3 * (1 + 1e-14), 7],
        [5.0],
        [1.0, 3.0, 3.0],
    ],
    ids=["wide", "repeated", "nearly repeated", "one", "two"],
)
def test_the_curve_equals_a_high_precision_eigendecomposition(values, step):
    epochs = [1, 10, 1000, 10**6]
    test, train = mp_matrix_curve(values, epochs, step)
    curve = exact.curve("iid", values, epochs, step, weights=np.ones(len(values)))
    for i in range(4):
        for ours, truth in ((curve.test, test[i]), (curve.train, train[i])):
            if truth > 1e-50:  # below, the reference itself has cancelled
                assert abs(ours[i + 1] / truth - 1) < 1e-11


def test_the_curve_on_marchenko_pastur_quantiles_tends_to_the_gaussian_loss():
    gaps = []
    for d in (500, 2000):
        values = spectrum.MarchenkoPastur().quantile((np.arange(d) + 0.5) / d)
        curve = exact.curve("iid", values, [1, 10], step=1.3)
        gaps.append(np.abs(curve.test / iid.test_loss(curve.epochs, 1.3) - 1).max())
    assert gaps[1] < 1e-4
    assert gaps[1] < gaps[0] / 3


def test_the_scale_of_the_eigenvalues_does_not_matter_and_rho_rescales_time():
    values = data.power_law_eigenvalues(40, 0.5)
    plain, scaled = exact.curve("iid", values, 5), exact.curve("iid", 1e-30 * values, 5)
    assert scaled.test == pytest.approx(plain.test, rel=1e-12)
    assert scaled.train == pytest.approx(plain.train, rel=1e-12)
    assert exact.curve("iid", values, [2], rho=3.0).test[1] == pytest.approx(
        exact.curve("iid", values, [6]).test[1], rel=1e-13
    )


def test_a_flat_spectrum_with_a_null_space_decays_as_done_by_hand():
    # λ = 2 on half of the directions: ⟨λs⟩ = s, so s′ = (−4η + 2η²)s and test = (1 + s)/2
    curve = exact.curve("iid", np.repeat([0, 2], 10), 3, step=0.5)
    s = np.exp(-1.5 * curve.epochs)
    assert curve.test == pytest.approx((1 + s) / 2, rel=1e-13)
    assert curve.train == pytest.approx(s, rel=1e-13)
    assert np.isnan(curve.test_se).all()
    assert np.isnan(curve.train_se).all()


def power_law(beta):
    """Nodes and weights of the law F(λ) = Qλ^β on (0, (1+β)/β), of mean 1, and its edge."""
    nodes, weights = np.polynomial.legendre.leggauss(16)
    ends = np.concatenate([[0.0], 2.0 ** np.arange(-60, 1)])
    half = np.diff(ends)[:, None] / 2
    q = (ends[:-1, None] + half * (1 + nodes)).ravel()
    top = (1 + beta) / beta
    return top * q ** (1 / beta), (half * weights).ravel(), spectrum.EdgeFit(beta=beta, Q=top**-beta)


@pytest.mark.parametrize(
    ("beta", "step"), [(0.3, 0.5), (0.3, 1.9), (0.5, 1.0), (0.75, 1.5), (1.0, 1.9), (1.5, 0.5), (1.5, 1.5)]
)
def test_the_two_constants_of_the_theorem_hold_for_every_beta(beta, step):
    values, weights, edge = power_law(beta)
    n = np.array([10**3, 10**4])
    curve = exact.curve("iid", values, n, step, weights=weights)
    test, train = iid.edge_law(n, edge, step)
    gaps = np.abs(np.stack([curve.test[1:] / test, curve.train[1:] / train]) - 1)
    assert (gaps[:, 1] < 10 * 10 / n[1] / (2 - step)).all()
    assert (gaps[:, 1] < gaps[:, 0] / 5).all()  # of order 1/n, possibly with a logarithm


@pytest.mark.parametrize("beta", [0.5, 1.0, 1.5])
def test_a_crowd_of_eigenvalues_at_a_shifted_edge_is_no_trouble(beta):
    # nodes at 0.1 + x down to x = 1e-36: most agree to the last digit; the Volterra equation's own moments must hold
    values, weights, _ = power_law(beta)
    values = 0.1 + 0.9 * values
    curve = exact.curve("iid", values, 3, 1.5, weights=weights)
    rates, parts = engine.rates_and_weights(*arguments.spectrum(values, weights), 1.5)
    assert parts.sum() == pytest.approx(1, abs=1e-13)
    assert rates @ parts == pytest.approx(0.25, abs=1e-13)
    assert (np.diff(curve.test) < 0).all()
    plain = exact.curve("iid", values[values > 0.1 + 1e-9], 3, 1.5, weights=weights[values > 0.1 + 1e-9])
    assert curve.test == pytest.approx(plain.test, rel=1e-3)


def test_weights_are_multiplicities():
    values = [0.0, 0.3, 1.0]
    plain = exact.curve("iid", np.repeat(values, [5, 15, 10]), 4)
    weighted = exact.curve("iid", values, 4, weights=[0.5, 1.5, 1.0])
    assert weighted.test == pytest.approx(plain.test, rel=1e-13)
    assert weighted.train == pytest.approx(plain.train, rel=1e-13)


@pytest.mark.parametrize(
    "values",
    [10.0 ** -np.arange(300), [1e-300, 1, 1], [1e300, 1e300], np.r_[np.full(50, 1e-20), np.ones(50)]],
    ids=["geometric", "tiny", "huge", "two heaps"],
)
def test_extreme_scales_neither_overflow_nor_lose_mass(values):
    values, shares, null = sources.positive(*arguments.spectrum(values, smallest=requests._NEVER_MOVES))
    rates, parts = engine.rates_and_weights(values, shares, 1.2)
    assert parts.sum() + null == pytest.approx(1, abs=1e-13)
    assert rates @ parts == pytest.approx(0.4, abs=1e-13)


def test_a_million_epochs_are_no_trouble():
    curve = exact.curve("iid", data.power_law_eigenvalues(300, 0.5), 10**6)
    assert len(curve.epochs) == 10**6 + 1
    assert (np.diff(curve.test) <= 0).all()
    assert curve.test[-1] < 1e-6


# ------------------------------------------------------------------------------ a covariance, a given data set


@pytest.mark.parametrize("rho", [0.3, 0.9999, 1.0, 1.0001, 2.0, 5.0])
@pytest.mark.parametrize("step", [0.3, 1.0, 1.9])
def test_the_population_curve_of_isotropic_rows_is_the_gaussian_loss(step, rho):
    curve = exact.population_curve("iid", [3.0, 3.0], [1, 10, 100, 10**4], step, rho)
    for ours, truth in ((curve.test, iid.test_loss), (curve.train, iid.train_loss)):
        assert ours == pytest.approx(truth(curve.epochs, step, rho), rel=1e-9, abs=0)


@pytest.mark.parametrize("rho", [0.5, 3.0])
def test_the_population_curve_is_what_large_samples_tend_to(rho):
    d = 1200
    tau = np.concatenate([np.full(d // 3, 0.2), np.full(d // 3, 3.0), np.linspace(0.5, 1, d // 3)])
    X = data.gaussian(int(rho * d), d, rng=3) * np.sqrt(tau)
    for step in (0.5, 1.7):
        theory = exact.population_curve("iid", tau, 10, step, rho)
        drawn = exact.curve("iid", sample(X), 10, step, rho)
        for ours, limit in ((drawn.test, theory.test), (drawn.train, theory.train)):
            gap = np.abs(
                np.log(ours / limit)
            )  # where the loss falls exponentially, the edge's gap counts n times
            assert (gap <= 4 / d * (1 - np.log(limit))).all()


@pytest.mark.parametrize("rho", [0.3, 1 - 1e-14, 1.0, 1 + 1e-14, 2.0, 20.0])
@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_wide_covariances_start_at_one_and_fall(rho, power):
    curve = exact.population_curve("iid", np.arange(1, 201) ** -power, [1, 10, 1000, 10**6], 1.8, rho)
    assert curve.test[0] == curve.train[0] == 1
    assert (np.diff(curve.test) < 1e-12).all()
    assert (np.diff(curve.train)[curve.train[:-1] > 0] < 0).all()
    assert curve.test[-1] >= max(0, 1 - rho) - 1e-12


def test_directions_that_no_row_has_are_never_learned():
    half = exact.population_curve("iid", [0.0, 2.0], [5], 0.7, rho=1.0)
    full = exact.population_curve("iid", [1.0], [5], 0.7, rho=2.0)
    assert half.test[1] == pytest.approx(0.5 + 0.5 * full.test[1], rel=1e-12)
    assert half.train[1] == pytest.approx(full.train[1], rel=1e-12)
    assert exact.population_curve("iid", [1.0, 2.0], 0).test.tolist() == [1.0]


@pytest.mark.parametrize("order", ["iid", "random_reshuffle"])
def test_as_many_rows_as_positive_eigenvalues_count_as_m_equal_to_d(order):
    """Though the share of zeros is a sum, so that m over their number is 1 only to rounding."""
    values = MarchenkoPastur().quantile((np.arange(60) + 0.5) / 60)
    half = exact.population_curve(order, np.append(np.zeros(60), values), [5], rho=0.5)
    full = exact.population_curve(order, values, [5])
    assert half.test[1] == pytest.approx(0.5 + 0.5 * full.test[1], rel=1e-12)
    assert half.train[1] == pytest.approx(full.train[1], rel=1e-12)


@pytest.mark.parametrize(("m", "d"), [(7, 5), (4, 6), (5, 5), (3, 1)])
@pytest.mark.parametrize("step", [0.3, 1.0, 1.7])
def test_the_expected_curve_is_the_average_over_all_rows_update_by_update(m, d, step):
    X = np.random.default_rng(m).standard_normal((m, d))
    test, train = row_by_row(X, 12, step)
    curve = exact.expected_curve(X, 12, step)
    assert curve.test == pytest.approx(test, rel=1e-11, abs=1e-14)
    assert curve.train == pytest.approx(train, rel=1e-11, abs=1e-14)


def test_the_expected_curve_of_few_rows_is_known_where_little_is_left():
    X = np.random.default_rng(7).standard_normal((7, 5))  # its Krylov space has fifteen dimensions
    test, train = row_by_row(X, 50, 1.7)
    curve = exact.expected_curve(X, 50, 1.7)
    assert curve.test == pytest.approx(test, rel=1e-9)
    assert curve.train == pytest.approx(train, rel=1e-9)


def test_the_expected_curve_keeps_its_digits_beside_directions_that_no_row_has():
    """Rows of three columns, with and without columns of zeros."""
    X = np.random.default_rng(3).standard_normal((6, 3))
    wide = np.zeros((6, 40))
    wide[:, :3] = X
    alone, beside = (exact.expected_curve(rows, 40, 1.0).train for rows in (X, wide))
    assert alone[-1] < 1e-9
    assert beside == pytest.approx(alone, rel=1e-10)


def test_orthogonal_rows_are_done_by_hand():
    # each update hits a given one of three directions with probability 1/3, and leaves (1 − η)² of it
    curve = exact.expected_curve(np.diag([1.0, 5.0, 0.1]), 4, step=0.5)
    assert curve.test == pytest.approx((3 / 4) ** (3 * curve.epochs), rel=1e-12)
    assert curve.train == pytest.approx(curve.test, rel=1e-12)


def test_the_large_d_curve_is_off_by_one_over_d():
    gaps = []
    for d in (64, 128, 256):
        X = data.gaussian(d, d, rng=d)
        truth, limit = exact.expected_curve(X, 50, 1.0), exact.curve("iid", sample(X), 50, 1.0)
        gaps.append([np.abs(limit.test / truth.test - 1).max(), np.abs(limit.train / truth.train - 1).max()])
        assert gaps[-1][0] < 0.35 / d
        assert gaps[-1][1] < 1.2 / d
    assert np.divide(gaps[0], gaps[2]) == pytest.approx(4, rel=0.15)


# ---------------------------------------------------------------------------------------------- simulation


def agrees(means, errors, theory, cap, allowed=3.0):
    """Whether the standard errors keep to their cap and every point is within so many of them."""
    return bool((errors <= cap * means).all() and (np.abs(means - theory) <= allowed * errors).all())


@pytest.mark.parametrize("name", record_iid.RUNS)
@pytest.mark.parametrize("step", record_iid.STEPS)
def test_the_curve_agrees_with_the_recorded_simulation_at_every_epoch(name, step):
    record = np.load(record_iid.RECORD)[f"{name}, step {step}"][:, 1:]
    theory = exact.curve("iid", sample(record_iid.design(name)), record_iid.EPOCHS, step)
    test, train, test_se, train_se = record[:4]
    assert agrees(test, test_se, theory.test[1:], 0.005)
    assert agrees(train, train_se, theory.train[1:], 0.015)


@pytest.mark.parametrize("name", record_iid.RUNS)
def test_the_record_is_what_the_simulator_gives(name):
    record = np.load(record_iid.RECORD)[f"{name}, step 1.0"]
    again = kaczmarz.simulate(record_iid.design(name), "iid", 3, step=1.0, probes=record_iid.PROBES, rng=0)
    assert again.test == pytest.approx(record[4, :4], rel=1e-4)
    assert again.train == pytest.approx(record[5, :4], rel=1e-4)


@pytest.mark.parametrize(("step", "beta", "runs"), [(0.5, None, 1200), (1.0, 0.3, 800)])
def test_a_fresh_simulation_agrees_with_the_expected_curve(step, beta, runs):
    X = data.gaussian(96, 96, rng=5) if beta is None else data.power_law(96, 96, beta, rng=5)
    simulated = kaczmarz.simulate(X, "iid", [1, 2, 5, 10, 20], step=step, probes=8, runs=runs, rng=2)
    truth = exact.expected_curve(X, simulated.epochs, step)
    allowed = scipy.stats.norm.isf(scipy.stats.norm.sf(3) / 10)  # three standard errors, ten points
    assert agrees(simulated.test[1:], simulated.test_se[1:], truth.test[1:], 0.005, allowed)
    assert agrees(simulated.train[1:], simulated.train_se[1:], truth.train[1:], 0.015, allowed)


# -------------------------------------------------------------------------------------- small print, refusals


def test_the_effective_step_is_the_step():
    assert iid.effective_step(0.7) == 0.7
    assert exact.effective_step("iid", 1.9, data.power_law_eigenvalues(10, 0.5)) == 1.9


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: iid.rate_density(0.5, step=2.5), "step must be"),
        (lambda: exact.expected_curve([[0.0, 0.0], [1.0, 0.0]], 3), "X must have no zero row"),
        (lambda: iid.edge_law(0, spectrum.EdgeFit(0.5, 1.0)), "n must be positive"),
        (lambda: iid.edge_law(1, spectrum.EdgeFit(0.5, 1.0, 0.1)), "edge must sit at zero"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(call, complaint):
    with pytest.raises(ValueError, match=complaint):
        call()


def test_solvers_that_fail_say_so(monkeypatch):
    monkeypatch.setattr(silverstein.PopulationRows, "_newton", lambda self, x, v: v)
    with pytest.raises(ArithmeticError, match="Silverstein"):
        exact.population_curve("iid", [1.0, 2.0], 1)


def test_at_fractions_of_an_epoch_the_curve_is_that_of_fewer_rows():
    """IID on m rows after half an epoch is IID on m/2 rows' worth of updates after one."""
    values = np.linspace(0.05, 1.95, 40)
    half, whole = (
        exact.curve_at(values, [0.5, 0.001], 0.8, rho=30.0),
        exact.curve("iid", values, 1, 0.8, rho=15.0),
    )
    assert half.epochs.tolist() == [0, 0.001, 0.5]
    assert half.test[-1] == pytest.approx(whole.test[-1], rel=1e-13)
    assert half.train[-1] == pytest.approx(whole.train[-1], rel=1e-13)
    early = exact.curve("iid", values, 1, 0.8, rho=0.03)
    assert half.train[1] == pytest.approx(early.train[-1], rel=1e-13)
    assert isinstance(half.test[0], float)


@pytest.mark.parametrize("times", [[-1], [np.nan], "x"])
def test_times_that_are_none_are_refused(times):
    with pytest.raises(ValueError, match="times"):
        exact.curve_at(np.linspace(0.05, 1.95, 40), times)
