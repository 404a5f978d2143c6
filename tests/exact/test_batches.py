"""Averaged batches: largest stable steps and the edge, against closed forms and against matrices."""

import functools

import numpy as np
import pytest

from edgelaw import exact
from edgelaw._common import arguments
from edgelaw.exact import critical_batch, stability
from edgelaw.exact.batches import edges
from edgelaw.exact.batches.blocks import SampleRows
from edgelaw.exact.batches.partition import partition
from edgelaw.exact.silverstein import PopulationRows
from edgelaw.laws import MarchenkoPastur
from edgelaw.orders import ORDERS

ISOTROPIC = MarchenkoPastur().quantile((np.arange(512) + 0.5) / 512)
COVARIANCES = {"isotropic": np.ones(256), "two values": np.repeat([0.25, 1.75], 128)}


@functools.cache
def unit_rows(covariance, seed=0, rows=256):
    X = np.random.default_rng(seed).standard_normal((rows, 256)) * np.sqrt(COVARIANCES[covariance])
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def epoch(U, batch, tau):
    """The matrix of one epoch, batch by batch, with a shorter last batch averaged over its own rows."""
    A = np.eye(U.shape[1])
    for k in range(0, len(U), batch):
        part = U[k : k + batch]
        A -= tau * batch / len(part) * part.T @ (part @ A)
    return A


def radius(U, batch, tau):
    """The largest modulus of an eigenvalue of an epoch, apart from the slow ones next to 1."""
    values = np.linalg.eigvals(epoch(U, batch, tau))
    return np.abs(values[np.abs(values - 1) > 0.02]).max()


# ------------------------------------------------------------------------------------------------------ stability


@pytest.mark.parametrize("order", ORDERS)
def test_single_rows_are_stable_up_to_two(order):
    for eigenvalues, rho in ((ISOTROPIC, 1.0), (np.linspace(0.1, 5, 40), 2.0)):
        assert stability(order, eigenvalues, rho, batch=1) == 2.0


@pytest.mark.parametrize("batch", [16, 64, 128, 256])
def test_isotropic_limits_are_the_closed_forms(batch):
    kappa, L = batch / 512, 512 // batch
    assert stability("flip_flop", ISOTROPIC, batch=batch) / batch == pytest.approx(
        2 / (1 + kappa**0.5) ** 2, rel=3e-3
    )
    assert stability("iid", ISOTROPIC, batch=batch) / batch == pytest.approx(2 / (1 + kappa) ** 2, rel=3e-3)

    def excess(theta):
        return L * (1 - theta) * (1 - theta**L) - (1 + theta) * (1 + theta**L)

    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    y = low**L
    closed = low * (1 + low) * (1 + y) / (low + y)
    allowed = 0.1 if batch == 256 else 0.02  # two batches: a sample's contour is wider than its law
    assert stability("single_shuffle", ISOTROPIC, batch=batch) / batch == pytest.approx(closed, rel=allowed)
    if batch == 256:
        assert closed == pytest.approx(8 - 4 * 3**0.5, rel=1e-12)


@pytest.mark.parametrize(("batch", "tau"), [(256, 1.22), (128, 1.57), (64, 1.77)])
def test_random_reshuffle_bears_more_than_single_shuffle(batch, tau):
    limit = stability("random_reshuffle", ISOTROPIC, batch=batch) / batch
    assert limit == pytest.approx(tau, abs=0.01)
    assert limit > stability("single_shuffle", ISOTROPIC, batch=batch) / batch


def test_one_batch_per_epoch_is_stable_as_gradient_descent_is():
    for order in ("random_reshuffle", "single_shuffle", "flip_flop"):
        assert stability(order, ISOTROPIC, batch=512) == pytest.approx(
            2 * 512 * ISOTROPIC.mean() / ISOTROPIC.max(), rel=1e-6
        )


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("batch", [32, 64])
def test_the_limits_are_where_epochs_of_matrices_begin_to_expand(covariance, batch):
    """Within 6 % for single shuffle; flip-flop hangs on the one largest eigenvalue of all batches: 1.5 b^(−2/3)."""
    slack = 1.5 * batch ** (-2 / 3)
    U = unit_rows(covariance)
    eigenvalues = np.linalg.eigvalsh(U.T @ U)
    tau = stability("single_shuffle", eigenvalues, batch=batch) / batch
    assert radius(U, batch, 0.94 * tau) < 1 < radius(U, batch, 1.06 * tau)
    tau = stability("flip_flop", eigenvalues, batch=batch) / batch
    norms = [np.linalg.norm(epoch(U, batch, x * tau), 2) for x in (1 - slack, 1 + slack)]
    assert norms[0] <= 1 + 1e-12 < 1 + 1e-9 < norms[1]


@pytest.mark.parametrize("batch", [32, 128])
def test_the_limit_of_iid_is_where_the_exact_map_of_second_moments_begins_to_expand(batch):
    """The mean of P M P over batches drawn with replacement, iterated 60 times from the identity; d = 256."""
    U = unit_rows("two values")
    limit = stability("iid", np.linalg.eigvalsh(U.T @ U), batch=batch) / batch
    H = U.T @ U / len(U)

    def growth(tau):
        M, sizes = np.eye(256), []
        for _ in range(60):
            noise = U.T @ (np.einsum("ij,jk,ik->i", U, M, U)[:, None] * U) / len(U)
            HM = H @ M
            M = M - tau * batch * (HM + HM.T) + tau**2 * (batch * noise + batch * (batch - 1) * HM @ H)
            sizes.append(np.vdot(H, M))
            M = (M + M.T) / 2
        return sizes[-1] / sizes[-11]

    assert growth(0.93 * limit) < 1 < growth(1.05 * limit)


def test_a_last_batch_of_one_row_holds_single_shuffle_and_flip_flop_back():
    U = unit_rows("isotropic")
    eigenvalues = np.linalg.eigvalsh(U.T @ U)
    for order in ("single_shuffle", "flip_flop"):
        assert 1.7 < stability(order, eigenvalues, batch=85) < 2.2
        assert stability(order, eigenvalues, batch=128) > 80
    assert radius(U, 85, 1.95 / 85) < 1 < radius(U, 85, 2.2 / 85)


def test_stability_is_refused_for_what_no_curve_takes():
    for arguments_, words in (
        (("shuffle", ISOTROPIC, 1.0, 2), "order must be one of"),
        (("iid", ISOTROPIC, 1.0, 0), "batch must be an integer of at least 1, not 0"),
        (("iid", ISOTROPIC, 1.0, 513), "batch must be at most 512"),
        (("iid", np.ones(3), 1.0, 2), "at least 20"),
        (("iid", ISOTROPIC, 0, 2), "rho must be"),
    ):
        with pytest.raises(ValueError, match=words):
            stability(*arguments_)


def test_the_critical_batch_is_where_the_largest_step_turns_from_growing_to_constant():
    spiked = np.append(np.ones(400), np.full(4, 40.0))
    scale = critical_batch(spiked)
    assert scale == pytest.approx(560 / 40)
    few, twice, some, many = (stability("iid", spiked, batch=b) for b in (1, 2, 101, 202))
    assert twice / few > 1.8
    assert 1 < many / some < 1.1
    assert many == pytest.approx(2 * scale, rel=0.1)
    assert critical_batch([2.0, 2.0]) == 2.0


# ------------------------------------------------------------------------------------------------------- the edge


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("batch", [16, 64, 128])
def test_a_batch_has_the_edge_and_the_transform_of_its_law(covariance, batch):
    """The largest eigenvalue of b rows is below the edge by one or two of b^(−2/3), and fluctuates by as much."""
    U = unit_rows(covariance)
    blocks = [np.linalg.eigvalsh(U[k : k + batch] @ U[k : k + batch].T) for k in range(0, 256, batch)]
    population = PopulationRows(*arguments.spectrum(COVARIANCES[covariance]), 1.0)
    sample = SampleRows(*arguments.spectrum(np.linalg.eigvalsh(U @ U.T)), 1.0)
    s = 2 * population.edge(batch / 256)
    measured = np.mean([1 / (s - block) for block in blocks])
    unit = batch ** (-2 / 3)
    assert 1 - 3 * unit < np.max(blocks) / sample.edge(batch / 256) < 1 + unit
    assert sample.cauchy(batch / 256, s) == pytest.approx(measured, rel=3e-3)
    assert population.cauchy(batch / 256, s) == pytest.approx(measured, rel=1e-2)


def test_the_edge_of_isotropic_batches_is_marchenko_and_pasturs():
    law = PopulationRows(np.ones(1), np.ones(1), 1.0)
    for kappa in (0.01, 0.25, 1.0):
        assert law.edge(kappa) == pytest.approx((1 + kappa**0.5) ** 2, rel=1e-9)
    whole = SampleRows(*arguments.spectrum(ISOTROPIC), 1.0)
    assert whole.edge(1.0) == pytest.approx(ISOTROPIC.max() / ISOTROPIC.mean(), rel=1e-9)


def forms(U, batch, tau):
    """oᵀMo, ‖Mo‖² and 2oᵀME⁻¹Mᵀo, averaged over the six slowest eigenvectors o of K."""
    K, number = U @ U.T, np.arange(len(U)) // batch
    M = np.diag(1 / np.asarray(tau)[number]) + K * (number[:, None] > number)
    E = M + M.T - K
    o = np.linalg.eigh(K)[1][:, :6]
    back = M.T @ o
    return [
        np.einsum("ij,ij->j", o, M @ o).mean(),
        ((M @ o) ** 2).sum(axis=0).mean(),
        2 * np.einsum("ij,ij->j", back, np.linalg.solve(E, back)).mean(),
    ]


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize(("batch", "tau"), [(32, 0.6), (64, 0.5), (128, 0.4)])
def test_null_vectors_of_matrices_have_the_slow_forms(covariance, batch, tau):
    """Six samples: agreement within four standard errors of their mean, none above 1 % of the value, plus O(1/d)."""
    cut = partition(256, 256, batch, batch * tau)
    second = (COVARIANCES[covariance] ** 2).mean()
    truth = [*edges.slow_forms(cut, 256, second)]
    blocks = PopulationRows(*arguments.spectrum(COVARIANCES[covariance]), 1.0)
    truth.append(edges.flip_flop(cut, 256, blocks))
    drawn = np.array([forms(unit_rows(covariance, seed), batch, cut.taus) for seed in range(6)])
    errors = drawn.std(axis=0, ddof=1) / np.sqrt(len(drawn))
    assert (errors < 0.01 * np.abs(truth)).all()
    assert (np.abs(drawn.mean(axis=0) - truth) < 4 * errors + 2 / 256 * np.abs(truth)).all()


def test_a_shorter_last_batch_enters_the_slow_forms():
    cut = partition(256, 256, 100, 50.0)
    assert cut.taus.tolist() == [0.5, 0.5, 50 / 56]
    truth = np.array(edges.slow_forms(cut, 256))
    drawn = np.array([forms(unit_rows("isotropic", seed), 100, cut.taus)[:2] for seed in range(6)])
    errors = drawn.std(axis=0, ddof=1) / np.sqrt(len(drawn))
    assert (errors < 0.01 * truth).all()
    assert (np.abs(drawn.mean(axis=0) - truth) < 4 * errors + 2 / 256 * truth).all()


@pytest.mark.parametrize("batch", [8, 64])
def test_isotropic_effective_steps_are_the_closed_forms(batch):
    tau, kappa = 0.6, batch / 512
    at = {name: exact.effective_step(name, batch * tau, ISOTROPIC, batch) for name in ORDERS}
    assert at["iid"] == pytest.approx(tau, rel=1e-12)
    assert at["single_shuffle"] == pytest.approx(1 / (1 / tau - (1 - kappa) / 2 * 512 / 511), rel=1e-12)
    assert at["random_reshuffle"] == pytest.approx(tau + tau**2 * (1 - kappa) / 2, rel=2e-3)
    assert at["iid"] < at["flip_flop"] < at["random_reshuffle"] < at["single_shuffle"]


@pytest.mark.parametrize("order", ["single_shuffle", "random_reshuffle"])
def test_two_rows_per_batch_are_nearly_one_at_half_the_step(order):
    effective = functools.partial(exact.effective_step, order)
    assert effective(2 * 0.8, ISOTROPIC, 2) == pytest.approx(effective(0.8, ISOTROPIC), rel=4e-3)


def test_flip_flop_has_no_edge_where_batches_differ_on_the_way_back():
    with pytest.raises(ValueError, match="batch must divide the number of rows"):
        exact.effective_step("flip_flop", 5.0, ISOTROPIC, 100)
    assert exact.effective_step("iid", 30.0, ISOTROPIC, 100) == pytest.approx(6 * 30 / 512)
    test, train = exact.constants("iid", np.ones(512), 30.0, 100)
    assert test > 0
    assert np.isnan(train)
