"""Single shuffle: the contour integrals against sums, mpmath, a torus in z, matrices and simulation."""

import mpmath
import numpy as np
import pytest

from edgelaw import data, exact, kaczmarz
from edgelaw.theory import _shuffle_contour as contours
from edgelaw.theory import single_shuffle

LOSSES = {"test": single_shuffle.test_loss, "train": single_shuffle.train_loss}

# ------------------------------------------------------------------------------------------------- cases done by hand


@pytest.mark.parametrize("step", [0.05, 0.5, 1.0, 1.5, 1.95])
@pytest.mark.parametrize("rho", [0.25, 1.0, 4.0])
def test_one_epoch_leaves_the_product_of_the_shrinkages(step, rho):
    # E‖(I − η u uᵀ) w‖² = (1 − η(2−η)/d) ‖w‖², m = ρ d times
    assert single_shuffle.test_loss(1, step, rho) == pytest.approx(
        np.exp(-step * (2 - step) * rho), rel=1e-12
    )


@pytest.mark.parametrize("step", [0.3, 1.0, 1.8])
@pytest.mark.parametrize("rho", [0.5, 1.0, 2.0])
def test_two_epochs_agree_with_the_closed_form(step, rho):
    # [z²w²] done by hand in the chapter
    tau, square = step * (2 - step), step**2 * rho
    truth = np.exp(-2 * tau * rho) + np.exp(-(4 - step) * step * rho) * tau**2 * rho * (1 + square)
    assert single_shuffle.test_loss(2, step, rho) == pytest.approx(truth, rel=1e-12)


@pytest.mark.parametrize("step", [0.05, 0.7, 1.0, 1.95])
@pytest.mark.parametrize("rho", [0.25, 1.0, 4.0])
def test_one_epoch_of_training_agrees_with_a_direct_count(step, rho):
    # x = E(u_j·w)²: at its own visit, at time s, row j keeps (1−η)² e^{−τs}/d;
    # the rows after it make x' = −2ηx + η² e^{−τt}/d.
    # So x(ρ) = e^{−2ηρ}(e^{η²ρ} − τ e^{η²s})/d, averaged over s in [0, ρ].
    square = step**2 * rho
    truth = np.exp(-2 * step * rho) * (np.exp(square) - step * (2 - step) * np.expm1(square) / square)
    assert single_shuffle.train_loss(1, step, rho) == pytest.approx(truth, rel=1e-10)


def test_the_paper_has_the_sign_of_the_second_test_coefficient_wrong():
    n = np.array([10**4, 10**6])
    second = (single_shuffle.test_loss(n) - 1 / (2 * np.sqrt(np.pi * n))) * n
    assert second == pytest.approx(1 / (6 * np.pi), rel=0.02)
    assert not np.allclose(second, -1 / (6 * np.pi), rtol=1)


# ------------------------------------------------------------------------- general step, by mpmath and another inverse


def paper_kernels(eta, rho, alpha, beta, integrate):
    """F and G = xyψ in the paper's variables, the latter from the ratio's differential equation."""
    dx, dy = 1 - eta - eta * alpha, 1 - eta - eta * beta
    gamma = eta**2 / (dx * dy)
    kappa = gamma * (1 + alpha + beta)

    def F(s):
        growth = np.exp(kappa * s) if isinstance(kappa, np.ndarray) else mpmath.exp(kappa * s)
        return kappa * alpha * beta * growth / (kappa + gamma * alpha * beta * (1 - growth))

    ratio = integrate(lambda s: ((1 - eta) ** 2 + eta * (2 - eta) * alpha * beta / F(s)) / (dx * dy))
    return F(rho), F(rho) * ratio / rho


def root(z, eta, rho):
    """h with z = h/(1+h) exp(ηρ/(1+ηh)), by Newton's method from z = 0."""
    h = z * mpmath.exp(-eta * rho)
    for _ in range(60):
        f = h / (1 + h) * mpmath.exp(eta * rho / (1 + eta * h)) - z
        slope = (f + z) * (1 / (h * (1 + h)) - eta**2 * rho / (1 + eta * h) ** 2)
        h -= f / slope
        if abs(f) < mpmath.mpf(10) ** -28:
            break
    return h


@pytest.mark.parametrize(("step", "rho"), [(1.3, 0.4), (0.8, 2.5)])
def test_the_first_epochs_agree_with_mpmath_on_a_torus_and_the_papers_differential_equation(step, rho):
    with mpmath.workdps(30):
        eta, r, points, radius = mpmath.mpf(step), mpmath.mpf(rho), 14, mpmath.mpf("0.03")
        circle = [radius * mpmath.expjpi(mpmath.mpf(2 * j + 1) / points) for j in range(points)]
        alphas = [-(1 + root(z, eta, r)) for z in circle]

        def integrate(f):
            return mpmath.quad(f, [0, r], maxdegree=3)

        test, train = {}, {}
        for i in range(points // 2):
            for j in range(points):
                test[i, j], train[i, j] = paper_kernels(eta, r, alphas[i], alphas[j], integrate)
        for n in (1, 2, 3):
            for table, loss in ((test, "test"), (train, "train")):
                total = sum(value / (circle[i] * circle[j]) ** n for (i, j), value in table.items())
                truth = float(2 * mpmath.re(total) / points**2)
                assert LOSSES[loss](n, step, rho) == pytest.approx(truth, rel=1e-11)


def torus(loss_n, eta, rho, radius, points):
    """Both losses at n by plain quadrature on ‖z‖ = ‖w‖ = radius, h(z) followed outwards from 0."""
    z0 = np.exp(2j * np.pi * (np.arange(points) + 0.5) / points)
    log_h = np.log(z0 * 1e-3) - eta * rho
    for r in np.geomspace(1e-3, radius, 400):
        for _ in range(6):
            h = np.exp(log_h)
            f = log_h - np.log(1 + h) + eta * rho / (1 + eta * h) - np.log(r * z0)
            f = f.real + 1j * (np.angle(np.exp(1j * f.imag)))
            log_h = log_h - f / (1 / (1 + h) - eta**2 * rho * h / (1 + eta * h) ** 2)
    h = np.exp(log_h)
    nodes, weights = np.polynomial.legendre.leggauss(24)
    powers = z0**-loss_n / points
    totals = np.zeros(2)
    for rows in np.array_split(np.arange(points // 2), 12):
        kernels = paper_kernels(
            eta,
            rho,
            -(1 + h[rows, None]),
            -(1 + h[None, :]),
            lambda f: sum(w * f(rho / 2 * (1 + x)) for x, w in zip(nodes, weights, strict=True)) * rho / 2,
        )
        totals += [2 * (powers[rows] @ kernel @ powers).real for kernel in kernels]
    return totals * radius ** (-2.0 * loss_n)


@pytest.mark.parametrize(
    ("step", "rho", "n", "radius"),
    [
        (0.05, 1.0, 60, 0.93),
        (1.95, 1.0, 60, 0.93),
        (1.5, 2.0, 40, 1.45),
        (0.4, 0.25, 60, 0.93),
        (1.95, 0.6, 60, 0.93),
    ],
)
def test_later_epochs_agree_with_plain_quadrature_on_a_torus_in_the_original_variable(step, rho, n, radius):
    test, train = torus(n, step, rho, radius, points=400)
    assert single_shuffle.test_loss(n, step, rho) == pytest.approx(test, rel=1e-8)
    assert single_shuffle.train_loss(n, step, rho) == pytest.approx(train, rel=1e-8)


@pytest.mark.parametrize(
    ("step", "rho"), [(1.0, 1.0), (1.95, 1.0), (1.4, 0.9), (1.2, 0.8), (1.05, 3.0), (0.05, 1.0)]
)
def test_another_contour_gives_the_same_value(step, rho):
    # epochs of one octave share a contour, made for their middle
    alone = np.array([f(120, step, rho) for f in LOSSES.values()])
    together = np.array([f(np.array([64, 120]), step, rho)[1] for f in LOSSES.values()])
    assert together == pytest.approx(alone, rel=1e-9)
    assert (together != alone).any()


# --------------------------------------------------------------------------------------------- constants and the edge


def test_near_step_two_the_plain_asymptote_is_far_off_where_the_integral_is_not():
    value = single_shuffle.test_loss(200, 1.95)
    assert single_shuffle.test_constant(1.95) / np.sqrt(200) < 0.5 * value
    test, _ = torus(200, 1.95, 1.0, 0.975, points=1100)
    assert value == pytest.approx(test, rel=1e-8)


def test_the_effective_step_has_the_edge_of_gradient_descent():
    for step in (0.2, 1.0, 1.7):
        equal = 1 / np.sqrt(2 * np.pi * exact.effective_step("single_shuffle", step, np.ones(3)))
        assert equal == pytest.approx(single_shuffle.test_constant(step), rel=1e-14)


@pytest.mark.parametrize(("step", "rho"), [(0.6, 1.0), (1.4, 1.3)])
def test_the_generating_functions_are_one_at_the_origin_and_positive_on_conjugate_pairs(step, rho):
    points = 64
    v = 0.2 * np.exp(2j * np.pi * np.arange(points) / points)
    z, w, test, _ = single_shuffle.generating_functions(v, v.conj(), step, rho)
    assert np.allclose(w, z.conj(), rtol=1e-14)
    assert (test.real > 0).all()
    assert np.abs(test.imag).max() < 1e-14
    zero, _, one, same = single_shuffle.generating_functions(0.0, 0.0, step, rho)
    assert zero == 0
    assert one == pytest.approx(1, abs=1e-14)
    assert same == pytest.approx(1, abs=1e-14)


# ------------------------------------------------------------------------------------------------------------- phases


def test_below_one_the_test_loss_ends_at_the_atom_and_the_training_loss_at_nothing():
    assert single_shuffle.test_loss(5000, 1.3, 0.5) == pytest.approx(0.5, abs=1e-12)
    assert single_shuffle.train_loss(5000, 1.3, 0.5) == 0
    assert single_shuffle.test_loss(10**6, 1.2, 0.25) == 0.75


@pytest.mark.parametrize("s", [-1.5, 0.5, 2.0])
def test_in_the_critical_window_the_training_loss_is_a_gaussian_in_the_distance(s):
    n = 10**6
    value = single_shuffle.train_loss(n, 1.0, 1 + s / np.sqrt(n)) * n**1.5
    assert value == pytest.approx(np.exp(-(s**2)) / (8 * np.sqrt(np.pi)), rel=0.02)


# ---------------------------------------------------------------------------------------------- matrices, simulation


@pytest.mark.parametrize(("step", "rho"), [(1.6, 1.0), (1.3, 0.75)])
def test_powers_of_epoch_matrices_agree(step, rho):
    d, draws = 1000, 3
    values = []
    for seed in range(draws):
        U = data.gaussian(int(rho * d), d, rng=seed)
        U /= np.linalg.norm(U, axis=1)[:, None]
        A, P = kaczmarz.epoch_matrix(U, step), np.eye(d)
        rows = []
        for _ in range(4):
            P = A @ P
            rows.append([(P**2).sum() / d, ((U @ P) ** 2).sum() / len(U)])
        values.append(rows)
    values = np.array(values)
    n = np.arange(1, 5)
    theory = np.stack([f(n, step, rho) for f in LOSSES.values()], axis=1)
    error = values.mean(axis=0) / theory - 1
    spread = values.std(axis=0, ddof=1) / theory / np.sqrt(draws)
    assert (spread < [0.005, 0.015]).all()
    assert (np.abs(error) < [0.01, 0.02]).all()  # finite d: deviations of order n/d beside the spread


def test_the_simulator_agrees_within_its_standard_error():
    X = [data.gaussian(1000, 1000, rng=seed) for seed in range(5)]
    runs = [kaczmarz.simulate(x, "single_shuffle", 12, probes=120, rng=i) for i, x in enumerate(X)]
    for loss in ("test", "train"):
        values = np.array([getattr(run, loss)[1:] for run in runs])
        mean, se = values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(len(X))
        theory = LOSSES[loss](np.arange(1, 13))
        cap = 0.005 if loss == "test" else 0.015
        assert (se < cap * theory).all()
        # 12 correlated epochs, Student's t with 4 degrees of freedom: 6 standard errors, and 1/d for finite d
        assert (np.abs(mean - theory) < 6 * se + 3e-3 * theory).all()


# --------------------------------------------------------------------------------------------------------- bad input


def test_what_cannot_be_computed_is_refused_and_not_returned(monkeypatch):
    monkeypatch.setattr(contours, "_MOST", 200)
    with pytest.raises(ValueError, match="needs more nodes than are allowed"):
        single_shuffle.train_loss(300, 1.95)
