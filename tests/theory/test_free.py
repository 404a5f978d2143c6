import itertools
import math

import mpmath
import numpy as np
import pytest
import scipy.special

from edgelaw import data, kaczmarz
from edgelaw.theory import free

STEPS = [0.05, 0.3, 0.95, 1.0, 1.05, 1.6, 1.95]
ASPECTS = [0.25, 0.9, 1.0, 1.01, 2.0, 4.0]


def unit_rows(rows, dims, rng):
    return data.normalize_rows(data.gaussian(rows, dims, rng)) / np.sqrt(dims)


# ------------------------------------------------------------------------------------------------- S-transforms


def test_two_projections_of_trace_one_half_by_hand():
    # S = ((1+z)/(1/2+z))², so z/(1+z) S inverts to the moments of PQP: 1/4, 3/16, 10/64.
    series = free.s_series([0.5] * 3)
    product = np.convolve(series, series)[:3]
    assert free.moments_from_s_series(product) == pytest.approx([1 / 4, 3 / 16, 10 / 64], rel=1e-14)


def test_series_and_moments_undo_each_other():
    moments = np.array([0.7, 0.9, -0.3, 2.0, 0.1])
    assert free.moments_from_s_series(free.s_series(moments)) == pytest.approx(moments, rel=1e-12)


@pytest.mark.parametrize("step", [0.4, 1.0, 1.7])
@pytest.mark.parametrize("blocks", [1, 3, 50])
def test_a_block_epochs_s_transform_solves_its_defining_equation(step, blocks):
    # ψ(z S/(1+z)) = z for one block, ψ typed from the two eigenvalues 1 and 1 − η
    z = np.array([-0.05, 0.01, 0.4])
    rho = 0.3
    t, q = rho / blocks, 1 - step
    w = z / (1 + z) * free.s_transform(z, step, rho, blocks) ** (1 / blocks)
    assert (1 - t) * w / (1 - w) + t * q * w / (1 - q * w) == pytest.approx(z, rel=1e-12)


@pytest.mark.parametrize("step", [0.4, 1.0, 1.7])
def test_the_s_transform_of_many_blocks_tends_to_the_exponential_at_rate_one_over_m(step):
    limit = free.s_transform(0.3, step, 1.2)
    errors = np.array([free.s_transform(0.3, step, 1.2, blocks=m) - limit for m in (1000, 2000)])
    assert 1e-6 < abs(errors[1]) < 1e-2
    assert errors[0] / errors[1] == pytest.approx(2.0, abs=0.01)


def test_the_paper_s_projection_is_the_one_block_case():
    m, rho, z = 7, 0.8, 0.25
    assert free.s_transform(z, 1.0, rho, m) ** (1 / m) == pytest.approx(
        1 + rho / (m * z + m - rho), rel=1e-14
    )


# -------------------------------------------------------------------------------------------- Lambert functions


@pytest.mark.parametrize("branch", [0, -1])
@pytest.mark.parametrize("gap", [10.0**-k for k in range(16)])
def test_lambert_w_is_right_to_the_last_digits_next_to_the_branch_point(branch, gap):
    x = (gap - 1) / math.e if gap < 1 else -1e-5
    with mpmath.workdps(50):
        exact = mpmath.lambertw(mpmath.mpf(x), branch)
        assert abs(free.lambert_w(x, branch) - exact) < 5e-16 * abs(exact)


def test_scipy_does_lose_digits_there_so_the_care_is_needed():
    x = (1e-9 - 1) / math.e
    with mpmath.workdps(50):
        exact = float(mpmath.lambertw(mpmath.mpf(x), -1).real)
    assert abs(scipy.special.lambertw(x, -1).real - exact) > 1e-6
    assert abs(free.lambert_w(x, -1) - exact) < 1e-15


@pytest.mark.parametrize(
    "x", [-1 + 0j, -0.4 + 0j, -0.368 + 1e-6j, -0.367 - 1e-3j, -50 + 0j, 2 + 3j, 1e300 + 0j]
)
@pytest.mark.parametrize("branch", [0, -1])
def test_complex_lambert_w_agrees_with_mpmath_on_both_branches(x, branch):
    exact = complex(mpmath.lambertw(mpmath.mpc(x), branch))
    assert abs(free.lambert_w(x, branch) - exact) < 2e-15 * abs(exact)


def test_below_the_branch_point_the_two_branches_are_conjugate_and_never_real():
    x = -np.array([0.368, 0.5, 3.0, 1e6]) + 0j
    upper, lower = free.lambert_w(x), free.lambert_w(x, -1)
    assert upper == pytest.approx(lower.conj(), rel=1e-14)
    assert (upper.imag > 0).all()


def test_the_double_next_to_minus_one_over_e_gives_minus_one():
    assert free.lambert_w(-math.exp(-1)) == -1
    assert free.lambert_w(np.array([0.0, -math.exp(-1)])).tolist() == [0.0, -1.0]


@pytest.mark.parametrize("r", [-2.0, -0.5, -1e-3, 0.0, 1e-6, 0.01, 0.1, 0.13, 0.13533528, 0.2, 3.0])
def test_r_lambert_finds_the_root_of_its_branch_also_next_to_branch_points_and_cusp(r):
    points = [u for u, _ in free.r_lambert_branch_points(r)]
    ends = [np.inf, *points, -np.inf]
    rng = np.random.default_rng(int(1e6 * abs(r)))
    for branch in range(0, -len(points) - 1, -1):
        high, low = ends[-branch], ends[1 - branch]
        offsets = 10 ** rng.uniform(-7, 0.8, 25)
        if np.isfinite(high) and np.isfinite(low):
            offsets = np.minimum(offsets, (high - low) / 2)
        for offset, left in zip(offsets, rng.random(25) < 0.5, strict=True):
            if np.isinf(high) and np.isinf(low):
                u = rng.normal() * 3
            else:
                u = low + offset if np.isinf(high) or (left and np.isfinite(low)) else high - offset
            with mpmath.workdps(40):
                x = float(mpmath.mpf(u) * mpmath.exp(u) + mpmath.mpf(r) * u)
                if r == 0 and branch == -1 and x >= 0:
                    continue
                root = free.r_lambert(x, r, branch)
                if root in points:  # rounding has carried x to the end of the branch
                    assert abs(u - root) < 1e-5
                    continue
                # the function is monotone on a branch, so a change of sign encloses the root
                error = 2e-15 * max(abs(root), 1e-3)
                sides = [
                    w * mpmath.exp(w) + mpmath.mpf(r) * w - x
                    for w in (mpmath.mpf(root) - error, mpmath.mpf(root) + error)
                ]
                assert sides[0] * sides[1] < 0, (branch, u)
            assert low <= root <= high
            assert root == pytest.approx(u, abs=1e-5)


def test_r_lambert_has_three_branches_below_the_cusp_two_for_negative_r_and_one_beyond():
    assert [len(free.r_lambert_branch_points(r)) for r in (-1.0, 0.0, 0.1, 0.1354)] == [1, 1, 2, 0]
    assert free.r_lambert([-1.0, 2.0], 0.3).shape == (2,)
    assert free.r_lambert(-0.2, 0.0) == pytest.approx(free.lambert_w(-0.2), rel=1e-15)
    assert free.r_lambert(-0.2, 0.0, -1) == pytest.approx(free.lambert_w(-0.2, -1), rel=1e-15)
    u, x = free.r_lambert_branch_points(0.1)[0]
    assert free.r_lambert(x, 0.1) == pytest.approx(u, abs=1e-8)


# --------------------------------------------------------------------------------------------- moments of A


def moment_by_recurrence(n, step, rho):
    """(1/n)[h^(n−1)] (1+h)^n exp(−nηρ/(1+ηh)), from the differential equation of the exponential, in many digits."""
    with mpmath.workdps(60 + 2 * n):
        eta, x = mpmath.mpf(step), n * mpmath.mpf(step) * mpmath.mpf(rho)
        e = [mpmath.mpf(1), x * eta]
        for k in range(1, n):
            e.append((x * eta * e[k] - 2 * eta * k * e[k] - eta**2 * (k - 1) * e[k - 1]) / (k + 1))
        return mpmath.exp(-x) * sum(mpmath.binomial(n, n - 1 - k) * e[k] for k in range(n)) / n


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("rho", ASPECTS)
def test_trace_moments_agree_with_exact_sums_up_to_300_epochs(step, rho):
    n = np.array([1, 2, 3, 7, 40, 300])
    moments = free.trace_moment(n, step, rho)
    for count, value in zip(n.tolist(), moments, strict=True):
        exact = moment_by_recurrence(count, step, rho)
        if exact > 1e-250:
            assert abs(mpmath.mpf(value) / exact - 1) < 1e-10, count


def test_the_first_moments_by_hand():
    step, rho = 0.7, 1.3
    e = math.exp(-step * rho)
    second = e**2 * (1 + step**2 * rho)
    third = e**3 * (1 + 3 * step**2 * rho - step**3 * rho + 1.5 * step**4 * rho**2)
    assert free.trace_moment([0, 1, 2, 3], step, rho) == pytest.approx([1, e, second, third], rel=1e-12)


@pytest.mark.parametrize("n", [10, 1000, 10**6, 10**8])
def test_at_step_one_and_rho_one_the_moment_is_n_to_the_n_over_e_to_the_n_n_factorial(n):
    with mpmath.workdps(40):
        exact = mpmath.exp(n * mpmath.log(n) - n - mpmath.loggamma(n + 1))
        assert abs(mpmath.mpf(free.trace_moment(n)) / exact - 1) < 1e-12


@pytest.mark.parametrize("rho", [0.25, 0.9, 0.999, 1.001, 1.01, 1.05])
def test_at_step_one_the_poisson_formula_holds_for_large_n(rho):
    n = 10_000
    with mpmath.workdps(80):
        x = n * mpmath.mpf(rho)
        mode = mpmath.exp(n * mpmath.log(x) - x - mpmath.loggamma(n + 1))
        exact = mode + (1 - mpmath.mpf(rho)) * mpmath.gammainc(n, x, regularized=True)
        assert abs(mpmath.mpf(free.trace_moment(n, 1.0, rho)) / exact - 1) < 1e-10


@pytest.mark.parametrize("step", [0.05, 0.5, 1.5, 1.95])
def test_large_n_at_general_step_agrees_with_quadrature_over_the_singular_free_law(step):
    # Another route: at step η(2−η) the moments are integrals of the quantile function.
    tau = step * (2 - step)
    law = free.SquaredSingularValues(1.0, step)
    for n in (3, 1000, 10**6):
        # in the angle near the right end the integrand is smooth; p = 1 − y², y = c u
        width = min(1.0, 8 * (n * tau) ** -0.25)
        u, w = np.polynomial.legendre.leggauss(400)
        y = width * (u + 1) / 2
        x = law.quantile(1 - np.clip(y**2, 1e-300, 1 - 1e-15))
        value = np.sum(w * width / 2 * 2 * y * x**n)
        assert free.trace_moment(n, tau) == pytest.approx(value, rel=2e-6)


@pytest.mark.parametrize("n", [10**4, 10**8])
@pytest.mark.parametrize("step", [0.05, 1.2, 1.95])
def test_large_n_at_any_step_agrees_with_an_mpmath_integral_over_another_circle(n, step):
    with mpmath.workdps(40):
        eta = mpmath.mpf(step)
        width = mpmath.sqrt(eta / (n * (2 - eta)))
        radius = mpmath.exp(-width * 5 / 2)

        def integrand(angle):
            v = radius * mpmath.expj(angle)
            exponent = mpmath.log(v) + eta * (1 - v) / (1 - (1 - eta) * v)
            return (v / (1 - v) ** 2 * mpmath.exp(-n * exponent)).real

        exact = mpmath.quad(integrand, [k * width for k in range(15)]) / (mpmath.pi * n)
        assert abs(mpmath.mpf(free.trace_moment(n, step)) / exact - 1) < 1e-10


@pytest.mark.parametrize("step", [0.05, 0.5, 1.0, 1.5, 1.95])
def test_the_leading_constant_is_smaller_by_sqrt_two_than_the_paper_prints(step):
    n = 10**8
    ratio = free.trace_moment(n, step) / math.sqrt((2 - step) / (step * math.pi * n))
    assert ratio == pytest.approx(1 / math.sqrt(2), rel=1e-5)


def test_underflow_is_zero_and_below_the_transition_the_limit_is_the_untouched_fraction():
    assert free.trace_moment(10_000, 1.0, 4.0) == 0.0
    assert free.trace_moment(10**7, 1.9, 0.25) == 0.75
    assert free.trace_moment(np.zeros((2, 2), dtype=int)).tolist() == [[1.0, 1.0], [1.0, 1.0]]


@pytest.mark.parametrize(("step", "rho"), [(0.05, 1.0), (1.0, 0.25), (1.0, 4.0), (1.95, 0.25), (1.95, 1.0)])
def test_the_generating_function_is_the_sum_of_the_moments(step, rho):
    z = np.array([0.0, 1e-3, 0.5, 0.97j, -0.9 + 0.2j, 0.95])
    n = np.arange(900)
    moments = free.trace_moment(n, step, rho)
    sums = [(moments * value**n).sum() for value in z]
    assert free.generating_function(z, step, rho) == pytest.approx(np.array(sums), rel=1e-11)


@pytest.mark.parametrize("rho", [0.5, 1.0, 2.0])
def test_at_step_one_the_generating_function_is_the_lambert_form(rho):
    z = np.array([-0.99, 0.1, 0.7, 0.999])
    expected = rho / (rho + free.lambert_w(-rho * math.exp(-rho) * z))
    assert free.generating_function(z, 1.0, rho) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("step", [0.3, 0.9, 1.2, 1.8])
@pytest.mark.parametrize("rho", [0.5, 1.0, 2.0])
def test_the_r_lambert_form_of_the_paper_holds_on_the_branch_through_zero(step, rho):
    z = np.array([-0.9, 0.2, 0.9])
    shrink = z * math.exp(-step * rho)
    w = free.r_lambert(-(step**2) * rho * shrink, -(1 - step) * shrink)
    closed = rho / (step * rho + w) - (1 - step) / step
    assert closed == pytest.approx(free.generating_function(z, step, rho), rel=1e-12)


@pytest.mark.parametrize("step", [0.3, 1.0, 1.8])
def test_the_singularity_at_one_has_the_strength_that_the_moments_show(step):
    gap = 1e-10
    strength = math.sqrt(gap) * free.generating_function(1 - gap, step)
    assert strength == pytest.approx(math.sqrt((2 - step) / (2 * step)), rel=1e-4)


# ---------------------------------------------------------------------------------------- blocks and finite d


@pytest.mark.parametrize("blocks", [2, 3, 10])
@pytest.mark.parametrize("rho", [0.5, 1.0, 1.9])
def test_block_moments_are_what_the_s_transform_gives(blocks, rho):
    series = free.s_series(np.full(6, 1 - rho / blocks))
    product = np.array([1.0])
    for _ in range(blocks):
        product = np.convolve(product, series)[:6]
    moments = free.block_trace_moment(np.arange(1, 7), blocks, rho)
    assert moments == pytest.approx(free.moments_from_s_series(product), rel=1e-9)


def test_block_moments_at_rho_one_are_binomial_coefficients():
    m, n = 5, 8
    expected = (1 - 1 / m) * math.comb(m * n, n) * (1 - 1 / m) ** ((m - 1) * n) / m**n
    assert free.block_trace_moment(n, m) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("rho", [0.5, 1.0, 1.5])
def test_block_moments_tend_to_the_limit_at_rate_one_over_m(rho):
    limit = free.trace_moment(4, 1.0, rho)
    errors = [free.block_trace_moment(4, m, rho) / limit - 1 for m in (100, 200)]
    assert abs(errors[1]) > 1e-4
    assert errors[0] / errors[1] == pytest.approx(2.0, abs=0.1)


@pytest.mark.parametrize(("size", "step"), [(1, 1.0), (3, 1.0), (2, 0.6), (1, 1.7)])
def test_exact_second_moments_agree_with_averages_over_small_matrices(size, step):
    d, m, draws = 6, 4, 60_000
    rng = np.random.default_rng(size + int(10 * step))
    A = np.broadcast_to(np.eye(d), (draws, d, d))
    for _ in range(m):
        Q = np.linalg.qr(rng.standard_normal((draws, d, size)))[0]
        A = A - step * Q @ (Q.transpose(0, 2, 1) @ A)
    trace = np.trace(A, axis1=1, axis2=2)
    squares = np.einsum("kij,kji->k", A, A), np.einsum("kij,kij->k", A, A), trace**2
    for sample, scale, exact in zip(
        squares, (d, d, d * d), free.second_moments(d, m, size, step), strict=True
    ):
        error = sample.std() / scale / math.sqrt(draws)
        assert error < 0.005 * exact
        assert abs(sample.mean() / scale - exact) < 4 * error  # twelve comparisons


@pytest.mark.parametrize("step", [0.5, 1.0, 1.6])
def test_single_rows_reach_the_free_limit_at_rate_one_over_d_and_the_trace_has_variance_of_order_one(step):
    rho, limit = 1.5, free.trace_moment(2, step, 1.5)
    gaps = [free.second_moments(d, int(rho * d), 1, step)[0] - limit for d in (1000, 2000)]
    assert gaps[0] / gaps[1] == pytest.approx(2.0, abs=0.02)
    d = 4000
    variance = free.second_moments(d, int(rho * d), 1, step)[2] - (1 - step / d) ** (2 * int(rho * d))
    growth = step**4 * rho**2 / 2 + math.expm1(step**2 * rho) - step**2 * rho
    assert variance * d**2 == pytest.approx(math.exp(-2 * step * rho) * growth, rel=0.01)


@pytest.mark.parametrize(("rho", "step"), [(1.0, 1.0), (0.5, 1.4), (2.0, 0.6)])
def test_trace_moments_of_real_epoch_matrices_agree_with_the_limit(rho, step):
    d, draws = 1000, 4
    samples = []
    for seed in range(draws):
        A = kaczmarz.epoch_matrix(unit_rows(int(rho * d), d, seed), step)
        square = A @ A
        samples.append(
            [np.trace(A), np.trace(square), np.einsum("ij,ji->", square, A), (square * square.T).sum()]
        )
    samples = np.array(samples) / d
    limit = free.trace_moment([1, 2, 3, 4], step, rho)
    error = samples.std(axis=0, ddof=1) / math.sqrt(draws)
    assert (error < 0.005 * limit).all()
    # 1/d bias and a standard error from four draws (Student, twelve comparisons: 99.9 % at 13 of them)
    assert (np.abs(samples.mean(axis=0) - limit) < 13 * error + 3 / d).all()


# ------------------------------------------------------------------------------------ singular values, eigenvalues

LAWS = [(1.0, 1.0), (0.5, 1.0), (2.0, 1.0), (1.0, 0.5), (0.5, 1.5), (2.0, 0.7), (1.0, 0.05), (1.0, 1.001)]


@pytest.mark.parametrize(("rho", "step"), LAWS)
def test_the_density_integrates_to_the_cdf_and_to_the_moments(rho, step):
    law = free.SquaredSingularValues(rho, step)
    low, high = law.support
    middle = float(law.quantile(0.5 * min(1, rho)))

    nodes, weights = np.polynomial.legendre.leggauss(200)

    def integral(function, a, b):
        # x = b − (b − a) y²: at ρ = 1 the density has an inverse square root at its right end
        y = (nodes + 1) / 2
        return (weights * y * (b - a) * function(b - (b - a) * y * y)).sum()

    assert integral(law.pdf, middle, high) == pytest.approx(0.5 * min(1, rho), abs=1e-7)
    quarter = float(law.quantile(0.25 * min(1, rho)))
    assert integral(law.pdf, quarter, middle) == pytest.approx(0.25 * min(1, rho), abs=1e-7)
    # the moments, in pieces: at step 1 the density rises like 1/(x log²x) towards 0
    cuts = np.concatenate([[low], law.quantile(np.array([0.01, 0.05, 0.25]) * min(1, rho)), [high]])
    pieces = [(a, b) for a, b in itertools.pairwise(cuts) if b > 1e-30]
    for n in (1, 4):
        value = law.atom + sum(integral(lambda x, n=n: x**n * law.pdf(x), a, b) for a, b in pieces)
        assert value == pytest.approx(law.moment(n), abs=1e-6)


@pytest.mark.parametrize(("rho", "step"), LAWS)
def test_the_density_is_the_jump_of_the_stieltjes_transform_found_by_mpmath(rho, step):
    law = free.SquaredSingularValues(rho, step)
    tau, x = step * (2 - step), float(law.quantile(0.6 * min(1, rho)))
    with mpmath.workdps(30):
        q = 1 - mpmath.mpf(tau)

        # walk from far above the real axis, where v is close to e^{−τρ}/ζ, down to it, by Newton's method
        v = mpmath.exp(-tau * rho) / mpmath.mpc(x, 30)
        for height in mpmath.linspace(mpmath.log(30), mpmath.log(1e-12), 150):
            zeta = mpmath.mpc(x, mpmath.exp(height))
            for _ in range(6):
                error = v * mpmath.exp(tau * rho * (1 - v) / (1 - q * v)) * zeta - 1
                v -= error / (1 + error) / (1 / v - tau**2 * rho / (1 - q * v) ** 2)
        density = -(1 / (zeta * (1 - v))).imag / mpmath.pi
    assert law.pdf(x) == pytest.approx(float(density), rel=1e-8)


@pytest.mark.parametrize(("rho", "step"), LAWS)
def test_quantile_and_cdf_undo_each_other(rho, step):
    law = free.SquaredSingularValues(rho, step)
    p = np.linspace(0.02, 0.98, 49) * min(1, rho)
    assert law.cdf(law.quantile(p)) == pytest.approx(p, abs=1e-11)


def test_at_step_one_and_rho_one_the_law_is_explicit():
    phi = np.linspace(0.1, 3.0, 20)
    x = np.sin(phi) / phi * np.exp(phi / np.tan(phi) - 1)
    law = free.SquaredSingularValues()
    assert law.cdf(x) == pytest.approx(1 - phi / np.pi, abs=1e-12)
    # and the CDF is the argument of Lambert W
    assert law.cdf(x) == pytest.approx(np.angle(free.lambert_w(-1 / (math.e * x) + 0j)) / np.pi, abs=1e-12)


def test_the_support_ends_where_it_should():
    assert free.SquaredSingularValues(0.5).support == pytest.approx((0.0, 0.5 * math.exp(0.5)), abs=1e-15)
    assert free.SquaredSingularValues(2.0).support == pytest.approx((0.0, 2 * math.exp(-1)), abs=1e-15)
    step = 0.7
    q, tau = (1 - step) ** 2, step * (2 - step)
    expected = (q**2 * math.exp(-tau * (1 + q) / q), 1.0)
    assert free.SquaredSingularValues(1.0, step).support == pytest.approx(expected, rel=1e-12)
    # for small steps the epoch is exp(−τS/2), S of Marchenko–Pastur type with largest eigenvalue (1 + √ρ)²
    low, high = free.SquaredSingularValues(2.0, 1e-4).support
    assert -math.log(low) / 2e-4 == pytest.approx((1 + math.sqrt(2)) ** 2, rel=1e-3)
    assert -math.log(high) / 2e-4 == pytest.approx((math.sqrt(2) - 1) ** 2, rel=1e-2)


def test_the_left_tail_at_step_one_is_logarithmic():
    for rho in (0.5, 2.0):
        law = free.SquaredSingularValues(rho)
        x = np.array([1e-100, 1e-300])
        assert law.cdf(x) * np.log(1 / x) == pytest.approx(rho, rel=0.05)


def test_outside_the_support_there_is_no_mass_but_the_atom():
    law = free.SquaredSingularValues(0.5, 0.5)
    low, high = law.support
    assert law.cdf([low / 2, (high + 1) / 2, 1.0, 2.0]).tolist() == [0.0, 0.5, 1.0, 1.0]
    assert law.pdf([low / 2, (high + 1) / 2, 2.0]).tolist() == [0.0, 0.0, 0.0]
    assert law.quantile(0.75) == 1.0
    assert law.atom == 0.5


@pytest.mark.parametrize(("rho", "step"), [(1.0, 1.0), (0.5, 1.0), (1.0, 0.5), (2.0, 1.5)])
def test_squared_singular_values_of_real_epoch_matrices_follow_the_law(rho, step):
    d = 1000
    A = kaczmarz.epoch_matrix(unit_rows(int(rho * d), d, 11), step)
    values = np.sort(np.linalg.svd(A, compute_uv=False) ** 2)
    law = free.SquaredSingularValues(rho, step)
    # an SVD in double precision knows a squared singular value above 1e-28; those below are still counted
    seen = (values > 1e-28) & (values < 1 - 1e-9)
    distance = np.abs(law.cdf(values) - (np.arange(d) + 0.5) / d)[seen].max()
    assert distance < 6 / d
    assert (values > 1 - 1e-9).mean() == law.atom
    # no other law of the family is that close
    other = free.SquaredSingularValues(rho * 1.05, step)
    assert np.abs(other.cdf(values) - (np.arange(d) + 0.5) / d)[seen].max() > 10 / d


@pytest.mark.parametrize("rho", [0.6, 1.0, 1.8])
def test_eigenvalues_fill_the_curve_and_end_at_it(rho):
    d = 600
    eigenvalues = np.linalg.eigvals(kaczmarz.epoch_matrix(unit_rows(int(rho * d), d, 5), 1.0))
    eigenvalues = eigenvalues[np.abs(eigenvalues - 1) > 1e-9]
    angles = np.linspace(0, 2 * np.pi, 2001)
    curve = free.eigenvalue_boundary(angles, rho)
    radius = np.interp(np.angle(eigenvalues) % (2 * np.pi), *_by_angle(curve))
    relative = np.abs(eigenvalues) / radius
    assert (relative > 1.08).mean() < 0.01
    assert (relative > 0.9).mean() > 0.02
    assert np.abs(eigenvalues.imag).max() == pytest.approx(curve.imag.max(), rel=0.06)


def _by_angle(curve):
    angle = np.angle(curve) % (2 * np.pi)
    order = np.argsort(angle)
    return angle[order], np.abs(curve)[order]


def test_on_the_curve_the_mean_square_of_the_resolvent_diverges():
    # the paper's closed form of Σ xⁱ yʲ tr(Aⁱ Aᵀʲ)/d at y = conj(x), ρ = 1
    def mean_square(factor):
        values = []
        for angle in (0.5, 2.0, np.pi):
            x = 1 / (factor * free.eigenvalue_boundary(angle))
            w = free.lambert_w(complex(-x / math.e))
            t = abs(w) ** 2
            values.append((t - 1) / abs(w + 1) ** 2 / (t * math.exp(1 - t) - 1))
        return np.array(values)

    assert (mean_square(1.0001) > 8 * mean_square(1.001)).all()
    assert (mean_square(1.001) > 0).all()


# ------------------------------------------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: free.trace_moment(-1), "n must be a non-negative integer"),
        (lambda: free.trace_moment(1.5), "n must be a non-negative integer"),
        (lambda: free.trace_moment(1, step=2.0), "step must be"),
        (lambda: free.trace_moment(1, rho=0.0), "rho must be"),
        (lambda: free.generating_function(1.0), "modulus below 1"),
        (lambda: free.generating_function("a"), "modulus below 1"),
        (lambda: free.s_transform(0.1, rho=2.0, blocks=2), "blocks must exceed step"),
        (lambda: free.s_series([0.0, 1.0]), "first moment"),
        (lambda: free.moments_from_s_series([]), "not zero"),
        (lambda: free.block_trace_moment(3, 2, rho=2.5), "blocks must be at least rho"),
        (lambda: free.second_moments(4, 2, size=5), "size must be at most"),
        (lambda: free.SquaredSingularValues(rho=-1.0), "rho must be"),
        (lambda: free.SquaredSingularValues().quantile(1.0), "strictly between"),
        (lambda: free.SquaredSingularValues().cdf(np.nan), "finite real"),
        (lambda: free.eigenvalue_boundary("x"), "finite real"),
        (lambda: free.lambert_w(-0.4), "at least -1/e"),
        (lambda: free.lambert_w(0.1, -1), "negative on branch -1"),
        (lambda: free.lambert_w(0.1, 1), "branch must be one of"),
        (lambda: free.lambert_w(0.1, True), "branch must be one of"),
        (lambda: free.lambert_w("x"), "real or complex"),
        (lambda: free.r_lambert(0.0, 0.2, -1), "no branch -1"),
        (lambda: free.r_lambert(0.1, 0.0, -1), "no branch -1"),
        (lambda: free.r_lambert(-1.0, -0.5), "is beyond"),
        (lambda: free.r_lambert(np.inf, 0.0), "x must be"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(call, complaint):
    with pytest.raises(ValueError, match=complaint):
        call()
