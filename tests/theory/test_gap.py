"""The gap's laws: exact identities on small matrices, laws on large ones, and the rows that break them."""

import numpy as np
import pytest
import scipy.linalg

from edgelaw import data, exact
from edgelaw.kaczmarz import Problem, epoch_matrix, iterates
from edgelaw.laws import MarchenkoPastur
from edgelaw.orders import BlockShuffle, ShuffleBuffer, concordance, stream
from edgelaw.theory import gap, random_reshuffle, single_shuffle


def unit_rows(X):
    return data.normalize_rows(X) / np.sqrt(X.shape[1])


def power_law(d, beta, rng):
    U = unit_rows(data.power_law(d, d, beta, rng))
    return U, np.linalg.svd(U, compute_uv=False) ** 2


# ------------------------------------------------------------------------------------------ exact for any unit rows


@pytest.mark.parametrize("step", [0.3, 1.0, 1.7])
def test_the_two_identities_hold_for_any_unit_rows(step):
    rng = np.random.default_rng(0)
    U = unit_rows(rng.standard_t(2.5, (12, 12)))
    K, a = U @ U.T, 1 / step - 0.5
    L = np.tril(K, -1)
    A, inverse = epoch_matrix(U, step), np.linalg.inv(U)
    N, M = L - L.T, np.eye(12) / step + L
    once = np.eye(12) / 2 + inverse @ (a * np.eye(12) + N / 2) @ inverse.T
    np.testing.assert_allclose(np.linalg.inv(np.eye(12) - A), once, rtol=1e-8, atol=1e-8)
    twice = inverse @ M @ M.T @ inverse.T / (2 * a)
    np.testing.assert_allclose(np.linalg.inv(np.eye(12) - A.T @ A), twice, rtol=1e-8, atol=1e-8)


def test_no_fixed_order_moves_a_mode_faster_than_the_symmetric_part_allows():
    # |1 − μ| ≤ κ/(a + κ/2) for every eigenvalue of every epoch: the skew part can only slow a mode down.
    rng = np.random.default_rng(1)
    U = unit_rows(
        rng.normal(size=(20, 3))[rng.integers(20, size=40)] @ rng.normal(size=(3, 40))
        + rng.normal(size=(40, 40))
    )
    for step in (0.5, 1.0, 1.5):
        M = np.eye(40) / step + np.tril(U @ U.T, -1)
        mu, W = np.linalg.eig(epoch_matrix(U, step))
        Z = np.linalg.solve(M, U @ W)
        kappa = (np.abs(U.T @ Z) ** 2).sum(axis=0) / (np.abs(Z) ** 2).sum(axis=0)
        bound = kappa / (1 / step - 0.5 + kappa / 2)
        assert (np.abs(1 - mu) <= bound * (1 + 1e-9)).all()
        assert (np.abs(1 - mu) > 0.9 * bound).any()


def test_the_skew_part_on_the_slow_space_has_the_stated_variance():
    rng, d = np.random.default_rng(2), 240
    for beta in (0.2, 1.0):
        variances = []
        for _ in range(48):
            U, _ = power_law(d, beta, rng)
            K = U @ U.T
            values, vectors = np.linalg.eigh(K)
            slow = vectors[:, :24]
            N = slow.T @ (np.tril(K, -1) - np.triu(K, 1)) @ slow
            variances.append((N**2).sum() / (24 * 23) * d / values.var())
        mean, error = np.mean(variances), np.std(variances, ddof=1) / np.sqrt(48)
        # beta = 1: twenty-four of 240 directions are not quite null, hence the allowance of 5 %
        assert error < 0.02 * mean
        assert abs(mean - 1 / 3) < 4 * error + 0.05 / 3


# ------------------------------------------------------------------------------------------------------- small tools


def test_laplace_and_equivalent_step_are_inverse_to_each_other():
    values = data.power_law_eigenvalues(50, 0.4)
    n = np.array([1, 10, 10**6])
    for step in (0.1, 3.0):
        loss = gap.laplace(5 * values, step * n)
        np.testing.assert_allclose(gap.equivalent_step(loss, values, n), step, rtol=1e-9)
    assert np.isnan(gap.equivalent_step(0.1, [0.0, 1.0], 3))  # half the directions never move
    assert gap.equivalent_step(0.5 + 0.5 * np.exp(-8.0), [0.0, 2.0], 2) == pytest.approx(1.0)


def test_doubled_losses_are_those_of_matrix_powers():
    A = np.random.default_rng(3).normal(size=(6, 6)) / 6
    for k, loss in enumerate(gap.doubled_losses(A, 4)):
        assert loss == pytest.approx((np.linalg.matrix_power(A, 2**k) ** 2).sum() / 6, rel=1e-12)
    assert gap.doubled_losses(np.eye(2) / 2, 20)[-1] == 0.0


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: gap.equivalent_step(0.5, [1.0], 0), "n must be at least 1"),
        (lambda: gap.equivalent_step(0.5, [-1.0, 2.0], 1), "eigenvalues must be non-negative"),
        (lambda: gap.doubled_losses(np.ones((2, 3)), 1), "square matrix"),
        (lambda: gap.doubled_losses(np.eye(2), 46), "at most 45"),
        (lambda: gap.skew_correction(1.0), "beta must be"),
        (lambda: gap.batch_step(1.0, 1.0), "share must be"),
        (lambda: gap.batch_step(2.0), "step must be"),
        (lambda: gap.cluster_gain(1), "size must be"),
        (lambda: gap.cluster_rows(3, 0.0), "spread must be"),
        (lambda: gap.second_order_loss([1.0, 1.0], 0), "n must be"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(call, complaint):
    with pytest.raises(ValueError, match=complaint):
        call()


# ------------------------------------------------------------------------------------------------- laws on matrices


@pytest.mark.parametrize(
    ("beta", "step"), [(1 / 7, 0.5), (1 / 7, 1.4), (0.3, 1.0), (0.6, 0.5), (0.6, 1.4), (1.0, 1.0)]
)
def test_single_shuffle_and_flip_flop_tend_to_their_effective_steps(beta, step):
    d, ratios = 300, []
    rng = np.random.default_rng(4)
    for _ in range(4):
        U, values = power_law(d, beta, rng)
        A = epoch_matrix(U, step)
        n = 2 ** np.arange(39)
        laws = (
            exact.effective_step("single_shuffle", step, values),
            exact.effective_step("flip_flop", step, values),
        )
        # two directions left by the order's own law: as slow as this design can be
        k, late = (np.flatnonzero(gap.laplace(values, n * law) * d > 2)[-1] for law in laws)
        once = gap.equivalent_step(gap.doubled_losses(A, k)[-1], values, n[k])
        log_mu = np.log(np.linalg.svd(A, compute_uv=False) ** 2)
        flipped = gap.equivalent_step(np.exp(n[late] * log_mu).mean(), values, n[late])
        ratios.append([once / laws[0], flipped / laws[1]])
    mean, error = np.mean(ratios, axis=0), np.std(ratios, axis=0, ddof=1) / 2
    # what is left of the slow space's skew part, C κ₂ f/(12 a²) with f = 2/d .. 4/d, in the logarithm of the step
    a, kappa = 1 / step - 0.5, values.var()
    left = kappa * 4 / d / (12 * a**2) * (gap.skew_correction(beta) if beta < 1 else 10) / beta + 10 / n[k]
    assert abs(mean[0] - 1) < 4 * error[0] + 2 * left + 0.01
    # flip-flop: a fluctuation of order d^(-1/2) in every direction, averaged over few
    assert abs(mean[1] - 1) < 4 * error[1] + 0.08
    if step > 0.6:
        assert (
            abs(exact.effective_step("flip_flop", step, values) * a - 1) > 0.2
        )  # flip-flop's law is not single shuffle's


def test_the_second_term_of_single_shuffle_is_seen_in_matrices_and_in_the_isotropic_curve():
    for step in (0.5, 1.0, 1.5):
        a = 1 / step - 0.5
        n = 10**5
        law = single_shuffle.test_constant(step) / np.sqrt(n)
        term = (single_shuffle.test_loss(n, step) / law - 1) / (law / (12 * a**2))
        assert term == pytest.approx(gap.skew_correction(0.5), rel=0.01)
    rng = np.random.default_rng(5)
    for beta in (0.3, 0.5):
        U, values = power_law(400, beta, rng)
        truth = gap.doubled_losses(epoch_matrix(U, 1.0), 9)[-1]
        law = gap.laplace(values, 2.0 * 512)
        assert abs(gap.second_order_loss(values, 512) / truth - 1) < 0.1 * abs(law / truth - 1)


def test_the_constant_of_the_second_term_is_that_of_the_double_sum():
    beta, n = 0.4, 10**5
    values = data.power_law_eigenvalues(1500, beta)
    a, law = 0.5, gap.laplace(values, 2.0 * n)
    ratio = (gap.second_order_loss(values, n) - law) / (law**2 * values.var() / (12 * a**2))
    assert ratio == pytest.approx(gap.skew_correction(beta), rel=0.02)


def test_random_reshuffle_tends_to_its_effective_step_on_a_power_law():
    rng, d = np.random.default_rng(6), 250
    for beta, step in ((0.3, 1.5), (0.75, 1.0)):
        ratios = []
        for _ in range(3):
            U, values = power_law(d, beta, rng)
            *_, (n, W) = iterates(U, "random_reshuffle", [40], np.eye(d), step, rng=rng)
            ratios.append(
                gap.equivalent_step((W**2).sum() / d, values, n)
                / exact.effective_step("random_reshuffle", step, values)
            )
        mean, error = np.mean(ratios), np.std(ratios, ddof=1) / np.sqrt(3)
        assert error < 0.01
        assert abs(mean - 1) < 4 * error + 2 / 40  # its corrections are of order 1/n


def test_the_order_of_the_effective_steps_is_the_same_for_every_exponent():
    for beta in (1 / 14, 0.3, 1.0, 1.5):
        values = data.power_law_eigenvalues(300, beta)
        for step in (0.1, 0.7, 1.0, 1.6, 1.9):
            fresh, once = (
                exact.effective_step("random_reshuffle", step, values),
                single_shuffle.effective_step(step),
            )
            assert exact.effective_step("iid", step, values) == step < fresh < once
            assert exact.effective_step("flip_flop", step, values) < once


# ------------------------------------------------------------------------------------------- batches and clusters


def test_a_batch_shortens_the_symmetric_part_by_its_share():
    rng, d = np.random.default_rng(7), 240
    for batch in (40, 120):
        ratios = []
        for _ in range(4):
            U, values = power_law(d, 0.5, rng)
            (_, _), (_, A) = iterates(
                Problem(U, batch=batch, mode="projection"), "single_shuffle", 1, np.eye(d), 1.0, rng=rng
            )
            loss = gap.doubled_losses(A, 9)[-1]
            ratios.append(gap.equivalent_step(loss, values, 512) / gap.batch_step(1.0, batch / d))
        mean, error = np.mean(ratios), np.std(ratios, ddof=1) / 2
        assert error < 0.02
        assert abs(mean - 1) < 4 * error + 0.03
    assert gap.batch_step(0.5) == single_shuffle.effective_step(0.5)


def test_the_slow_space_of_a_cluster_has_cotangents_for_its_skew_part():
    for k in (2, 3, 7):
        sign = np.sign(np.subtract.outer(np.arange(k), np.arange(k)))
        P = np.eye(k) - 1 / k
        skew = np.sort(np.linalg.eigvals(P @ sign @ P).imag)
        cotangents = np.sort(np.append(1 / np.tan(np.pi * np.arange(1, k) / k), 0.0))
        np.testing.assert_allclose(skew, cotangents, atol=1e-12)


@pytest.mark.parametrize(
    ("size", "step", "beta"), [(2, 1.0, 0.5), (6, 1.0, 0.5), (6, 0.5, 0.3), (12, 1.5, 0.75)]
)
def test_clusters_have_the_gain_of_the_formula_in_exact_finite_computations(size, step, beta):
    t = np.exp(np.linspace(-12 / beta, 0, 241) * beta)  # share of the clusters, with spreads t^(1/(2 beta))/2
    losses = []
    for spread in 0.5 * t ** (1 / (2 * beta)):
        U, n = gap.cluster_rows(size, spread), 10**4
        once = (np.linalg.matrix_power(epoch_matrix(U, step), n) ** 2).sum() / size
        steps = [np.eye(size) - step * np.outer(u, u) for u in U]
        rates, V = np.linalg.eigh(sum(np.kron(P, P) for P in steps) - size * np.eye(size**2))
        weights = (V.T @ np.eye(size).ravel()) ** 2 / size
        losses.append([once, weights @ np.exp(n * np.minimum(rates, 0.0))])
    once, drawn = np.trapezoid(np.array(losses) * t[:, None], np.log(t), axis=0)
    # below the smallest t nothing has moved in either order
    floor = t[0] * (size - 1) / size
    ratio = (drawn + floor) / (once + floor)
    assert ratio == pytest.approx(gap.cluster_gain(size, step, beta), rel=0.01)
    assert ratio == pytest.approx(gap.cluster_ratio(size, step, beta), rel=1e-3)


def test_clusters_refute_the_conjecture_at_every_step_once_they_are_large():
    assert gap.cluster_gain(5) > 1 > gap.cluster_gain(6)
    for step in (0.25, 0.5, 1.0, 1.5):
        assert gap.cluster_gain(2, step, 0.3) == pytest.approx((1 - step / 2) ** -0.3)
        for size in (10, 100, 1000):  # the mean of cot² is (k − 2)/3, so that the gain falls like 1/k
            a = 1 / step - 0.5
            by_hand = 1 / (step * (a + (size - 2) / (12 * a)))
            assert gap.cluster_gain(size, step, 1.0) == pytest.approx(by_hand, rel=1e-9)
        assert by_hand < 0.2
    for step in (0.1, 0.5, 1.0, 1.5, 1.9):
        assert all(gap.cluster_gain(20000, step, beta) < 1 for beta in (0.05, 0.1, 0.3, 0.45))


# ------------------------------------------------------------------------------------------------ the training loss


@pytest.mark.parametrize("step", [0.5, 1.0, 1.5])
def test_the_training_law_is_the_exact_constant_of_isotropic_rows(step):
    values, n = MarchenkoPastur().quantile((np.arange(200_000) + 0.5) / 200_000), 10**5
    assert gap.train_law(values, n, step) * n**1.5 == pytest.approx(
        single_shuffle.train_constant(step), rel=0.01
    )


@pytest.mark.parametrize(("beta", "rel"), [(0.3, 0.02), (0.5, 0.015), (1.0, 0.015)])
def test_the_training_law_holds_at_other_edges(beta, rel):
    d, n, step = 250, 64, 0.5
    U, values = power_law(d, beta, np.random.default_rng(4))
    late = np.linalg.matrix_power(epoch_matrix(U, step), n)
    assert gap.train_law(values, n, step) == pytest.approx(((U @ late) ** 2).sum() / d, rel=rel)


def test_a_slow_mode_solves_the_generalised_eigenvalue_problem():
    step, rng = 1.2, np.random.default_rng(2)
    U = unit_rows(rng.standard_normal((9, 9)))
    K = U @ U.T
    M = np.eye(9) / step + np.tril(K, -1)
    mu, W = np.linalg.eig(epoch_matrix(U, step))
    Y = np.linalg.solve(M, U @ W)
    np.testing.assert_allclose(K @ Y, (1 - mu) * (M @ Y), atol=1e-12)


# ------------------------------------------------------------------------------------------ the orders of loaders


def slow_excess(order, m, step, draw):
    """1/η_eff of the mean epoch on slow directions, less 1/η − ½, in units of η/4; 300 epochs stand for the mean."""
    U = unit_rows(data.gaussian(m, m, rng=draw))
    K, mean = U @ U.T, np.zeros((m, m))
    for epoch in stream(order, m, draw).epochs(0, 300):
        M = np.tril(K[np.ix_(epoch, epoch)], -1) + np.eye(m) / step
        mean[np.ix_(epoch, epoch)] += scipy.linalg.lapack.dtrtri(M, lower=1)[0] / 300
    values, vectors = np.linalg.eigh(K)
    slow, values = vectors[:, :8], values[:8]
    inverse = np.einsum("ij,ij->j", slow, np.linalg.solve(mean, slow)) - values / 2
    return (inverse.mean() - 1 / step + 0.5) / (step / 4)


@pytest.mark.parametrize("order", [ShuffleBuffer(32), BlockShuffle(64)], ids=repr)
def test_at_small_steps_the_mean_epoch_loses_what_the_concordance_says(order):
    # Two steps, extrapolated to zero; the standard error is that over draws of the rows.
    drawn = [2 * slow_excess(order, 128, 0.1, draw) - slow_excess(order, 128, 0.2, draw) for draw in range(8)]
    error = np.std(drawn, ddof=1) / np.sqrt(len(drawn))
    assert error < 0.01
    assert abs(np.mean(drawn) - (1 - concordance(order, 128))) < 3 * error


@pytest.mark.parametrize("step", [0.1, 1.0, 1.9])
def test_the_step_of_a_concordance_ends_at_both_orders(step):
    eigenvalues = MarchenkoPastur(1.0).quantile((np.arange(2_000) + 0.5) / 2_000)
    assert gap.concordant_step(step, 1.0) == pytest.approx(
        exact.effective_step("single_shuffle", step, eigenvalues)
    )
    assert gap.concordant_step(step, 0.0) == pytest.approx(random_reshuffle.effective_step(step))
    between = [gap.concordant_step(step, tau) for tau in np.linspace(0, 1, 9)]
    assert (np.diff(between) > 0).all()


def test_the_loss_of_a_concordance_has_its_step_on_an_exact_edge():
    losses = [(2 * gap.concordant_step(1.0, tau) * 50) ** -0.75 for tau in (1.0, 0.0, 0.3)]
    assert gap.concordant_loss(*losses[:2], 0.3, beta=0.75) == pytest.approx(losses[2])


@pytest.mark.parametrize(("step", "first", "bound"), [(0.5, 2, 0.002), (1.0, 10, 0.006)])
def test_the_recorded_buffers_have_the_loss_of_their_concordance(step, first, bound):
    # Gaussian rows in random order: losses over random reshuffle's, means over six draws with a cap on their error.
    sweep = data.sweep("loader_orders")
    assert sweep["files"][0] == "gaussian random"
    late = sweep["epochs"] >= first
    at = 0, list(sweep["steps"]).index(step), slice(None), 0
    ratios, errors = np.exp(sweep["ratios"][at][:, late].astype(float)), sweep["ratio_errors"][at][:, late]
    assert 0 < errors[:-1].max() < bound / 2
    for size, ratio in zip(sweep["buffers"].tolist(), ratios, strict=True):
        tau = concordance(ShuffleBuffer(size), int(sweep["rows"]))
        assert np.abs(ratio / gap.concordant_loss(ratios[0], 1.0, tau) - 1).max() < bound


@pytest.mark.parametrize(("step", "tau"), [(0.0, 0.5), (2.0, 0.5), (1.0, -0.1), (1.0, 1.1), (1.0, None)])
def test_a_concordance_or_a_step_out_of_range_is_refused(step, tau):
    with pytest.raises(ValueError, match="must"):
        gap.concordant_step(step, tau)
    with pytest.raises(ValueError, match="must"):
        gap.concordant_loss(1.0, 1.0, tau if tau != 0.5 else 2.0)
