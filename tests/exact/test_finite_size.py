"""How far one run is from its curve: the fitted law against the recorded runs and against runs made here."""

import numpy as np
import pytest

from edgelaw import data, exact, kaczmarz
from edgelaw.exact.finite_size import relative
from edgelaw.orders import ORDERS
from edgelaw.spectrum import gram_eigenvalues
from edgelaw_ledger.own import spectra

SPREAD = np.linspace(0.3, 2, 60) ** 2


@pytest.mark.parametrize("fitted", [True, False])
def test_nine_runs_of_ten_are_within_twice_the_estimate_in_every_order_and_it_is_not_far_too_large(fitted):
    """DRAWS and SHUFFLED: a tenth of either leaves too many runs outside, ten times as much is far too large."""
    assert data.sweep("finite_size")["off"].shape[1] == 16
    within, ratio = spectra.within_twice(fitted)
    assert (within > 0.9).all()
    assert ((ratio > 1) & (ratio < 4)).all()


def test_means_over_the_recorded_draws_are_within_twice_the_estimate_and_two_errors():
    """Nineteen of twenty: where a curve is off on average, an estimate that covers scatter alone would not do."""
    for fitted in (True, False):
        off, estimate = spectra.one_run(fitted)
        mean, error = off.mean(axis=1), off.std(axis=1, ddof=1) / 4
        seen = np.isfinite(mean)
        assert np.mean((np.abs(mean) < 2 * estimate + 2 * error)[seen]) > 0.95


def test_orders_are_as_far_from_each_other_as_if_they_were_independent_but_for_one_permutation():
    """So a margin's error is that of both: single shuffle and flip-flop, on one permutation, are closer by a third."""
    off = np.log1p(np.concatenate([spectra.one_run(fitted)[0] for fitted in (True, False)]))
    size = np.sqrt((off**2).mean(axis=1))
    for one, other, least, most in ((0, 1, 0.9, 1.1), (1, 2, 0.8, 1.1), (1, 3, 0.8, 1.1), (2, 3, 0.5, 0.8)):
        apart = np.sqrt(((off[:, :, one] - off[:, :, other]) ** 2).mean(axis=1))
        assert least < np.nanmedian(apart / np.hypot(size[:, one], size[:, other])) < most


@pytest.mark.parametrize("order", ORDERS)
def test_runs_on_rows_that_were_not_recorded_scatter_as_estimated(order):
    """Thirty-two matrices of covariance j^(-0.7), m = 3d/4 = 90, step 1.2: rms over the estimate, ± 1/8."""
    ratios = []
    for k in range(32):
        rng = np.random.default_rng([8, k])
        X = data.normalize_rows(rng.standard_normal((90, 120)) * np.arange(1, 121) ** -0.35)
        curve = exact.curve(order, np.maximum(gram_eigenvalues(X), 0), [2, 8, 24], 1.2, 0.75)
        run = kaczmarz.simulate(X, order, [2, 8, 24], 1.2, runs=1, rng=rng, starts="all")
        ratios.append(
            [
                (getattr(run, loss)[1:] - getattr(curve, loss)[1:])
                / getattr(curve, f"finite_size_{loss}")[1:]
                for loss in ("test", "train")
            ]
        )
    rms = np.sqrt(np.mean(np.square(ratios), axis=0))
    assert (rms < 2).all()
    assert rms.max() > 0.25
    assert np.mean(np.abs(ratios) < 2) > 0.9


@pytest.mark.parametrize("order", ORDERS)
def test_fewer_rows_are_the_same_rows_in_their_span(order):
    n = [0, 1, 5, 20]
    inside, whole = (
        exact.curve(order, SPREAD, n),
        exact.curve(order, np.append(np.zeros(60), SPREAD), n, rho=0.5),
    )
    np.testing.assert_allclose(whole.finite_size_test, inside.finite_size_test / 2, rtol=1e-6)
    np.testing.assert_allclose(whole.finite_size_train, inside.finite_size_train, rtol=1e-6)
    assert inside.finite_size_test[0] == inside.finite_size_train[0] == 0


def test_orthogonal_rows_and_one_batch_of_all_rows_have_no_order_that_could_matter():
    for curve in (
        exact.curve("single_shuffle", np.ones(30), 3, 0.5),
        exact.curve("random_reshuffle", SPREAD, 3, 2.0, batch=60),
    ):
        assert not curve.finite_size_test.any()
        assert not curve.finite_size_train.any()


def test_times_within_an_epoch_have_an_estimate_too():
    at, whole = exact.curve_at(SPREAD, [0.5, 1.0]), exact.curve("iid", SPREAD, [1])
    assert at.finite_size_test[2] == pytest.approx(whole.finite_size_test[1])
    assert 0 < at.finite_size_test[1]


def test_nothing_is_stated_where_no_size_is_known_or_nothing_was_measured():
    for curve in (
        exact.curve("iid", SPREAD, 3, weights=np.full(60, 1 / 60)),
        exact.curve("single_shuffle", SPREAD, 3, 1.5, batch=4),
        exact.population_curve("iid", SPREAD, 3),
        kaczmarz.simulate(np.eye(3), "iid", 2),
    ):
        assert np.isnan(curve.finite_size_test)
        assert np.isnan(curve.finite_size_train)


def test_the_law_knows_size_step_and_order():
    def one(order, n=16.0, loss=0.01, step=1.0, rows=100.0, rank=50.0, slowest=0.0):
        return float(relative(order, n, np.array(loss), step, rows, rank, slowest))

    assert one("iid", rows=400.0) == pytest.approx(one("iid") / 2)
    assert one("iid", step=0.5) == one("iid")
    for order in ORDERS[1:]:
        assert one(order, rank=200.0) == pytest.approx(one(order) / 4)
        assert one(order, step=0.25) == pytest.approx(one(order) / 8)
    assert one("random_reshuffle", n=64.0) == pytest.approx(one("random_reshuffle") / 2)
    for order in ORDERS:
        assert one(order, slowest=1 / 32) == pytest.approx(2 * one(order))
