"""Exact curves at any number of rows: closed forms, simulation, and how an ended curve is continued."""

import numpy as np
import pytest

from edgelaw import data, exact, kaczmarz, orders, spectrum, theory
from edgelaw.curves import VANISHED
from edgelaw.exact import levy
from edgelaw_app.forecast.exact_curves import exact_curve, recorded_times, times_for

LOSSES = ("test", "train")


# random reshuffle with fewer rows costs seconds, and meets simulation below
CASES = [
    (order, rho) for order in orders.ORDERS for rho in (0.5, 2.0) if (order, rho) != ("random_reshuffle", 0.5)
]


@pytest.mark.parametrize(("order", "rho"), CASES)
def test_sample_curves_are_the_closed_forms_of_gaussian_rows_at_any_aspect(order, rho):
    theta, r, n = (np.arange(300) + 0.5) * np.pi / 300, rho**-0.5, np.array([1, 2, 5, 8])
    values = 1 + r * r - 2 * r * np.cos(theta)
    shares = 2 / 300 * np.sin(theta) ** 2 / values
    if rho < 1:
        values, shares = np.append(values, 0), np.append(shares, 1 - rho)
    module = theory.BY_ORDER[order]
    curve = exact.curve(order, values, n, 0.8, rho, weights=shares)
    assert np.allclose(curve.test[1:], module.test_loss(n, 0.8, rho), rtol=1e-5)
    assert np.allclose(curve.train[1:], module.train_loss(n, 0.8, rho), rtol=1e-5)


def test_the_average_of_a_sample_with_other_rows_has_the_moments_of_its_covariance():
    sigma = np.linspace(0.2, 1.8, 400)
    for rho in (0.5, 3.0):
        X = data.gaussian(int(400 * rho), 400, rng=3) * np.sqrt(sigma)
        average = levy.from_sample(spectrum.gram_eigenvalues(X), rho=rho)
        moments = [average(average.nodes**k).real for k in (0, 1, 2, 3)]
        assert np.allclose(moments, [1, 1, np.mean(sigma**2), np.mean(sigma**3)], rtol=0.05)


def test_more_positive_eigenvalues_than_rows_are_refused():
    with pytest.raises(ValueError, match="so few rows"):
        exact.curve("single_shuffle", np.linspace(0.1, 2, 40), 3, rho=0.5)


@pytest.mark.parametrize(
    ("m", "d", "names"), [(64, 128, orders.ORDERS), (192, 96, ("iid", "single_shuffle", "flip_flop"))]
)
def test_exact_curves_off_the_square_meet_simulation(m, d, names):
    X = data.normalize_rows(data.gaussian(m, d, rng=5) * np.sqrt(np.linspace(0.3, 1.7, d)))
    values, n = spectrum.gram_eigenvalues(X), np.array([0, 1, 2, 4])
    for order in names:
        truth = exact_curve(order, values, n, 1.0, m / d)
        measured = kaczmarz.simulate(X, order, n, 1.0, runs=32, rng=1, starts="all")
        assert truth.continued is None
        for loss, bar in zip(LOSSES, (0.03, 0.08), strict=True):
            mean, error = getattr(measured, loss), getattr(measured, loss + "_se")
            predicted = getattr(truth, loss)
            seen = predicted > 1e-4
            assert (error[seen] < bar / 2 * predicted[seen]).all()
            assert (np.abs(mean - predicted)[seen] <= bar * predicted[seen] + 3 * error[seen]).all()


def test_what_is_gone_within_one_epoch_needs_no_engine(monkeypatch):
    values = spectrum.gram_eigenvalues(data.normalize_rows(data.gaussian(2400, 40, rng=5)))
    times = times_for(7, values, (2400, 40))
    monkeypatch.setattr(exact, "curve", None)
    assert times[1] == 5 / 2400
    assert times[-7:].tolist() == [1, 2, 3, 4, 5, 6, 7]
    one, other = (exact_curve(order, values, times, 1.0, 60.0) for order in ("flip_flop", "single_shuffle"))
    assert (one.test == other.test).all()
    assert (one.continued, len(one.epochs)) == (1, len(times))
    assert one.train[times == 1] < VANISHED
    assert (np.diff(one.train) <= 0).all()


def test_fractions_of_an_epoch_join_whole_epochs():
    values = spectrum.gram_eigenvalues(data.normalize_rows(data.gaussian(300, 60, rng=5)))
    times = recorded_times(4, 7, 300)
    assert times[1] == 7 / 300
    assert times_for(4, values, (300, 60)).tolist() == [0, 1, 2, 3, 4]  # enough is left after one epoch
    for order in orders.ORDERS:
        joined, whole = (exact_curve(order, values, t, 1.0, 5.0) for t in (times, np.arange(5)))
        assert np.allclose(joined.train[np.isin(times, whole.epochs)], whole.train, rtol=1e-12)
        assert (np.diff(joined.test) < 0).all()
        assert (np.diff(joined.train) < 0).all()


def test_a_refusal_is_passed_on_while_much_of_the_loss_is_left(monkeypatch):
    def refuse(order, values, epochs, step, rho, batch):
        raise ArithmeticError("too slow")

    monkeypatch.setattr(exact, "curve", refuse)
    with pytest.raises(ArithmeticError, match="too slow"):
        exact_curve("flip_flop", np.linspace(0.01, 2, 30), np.arange(9), 0.1, 1.0)
    with pytest.raises(ArithmeticError, match="19 positive eigenvalues are too few"):
        exact_curve("iid", np.append(np.zeros(11), np.ones(19)), np.arange(9), 1.0, 1.0)


def test_all_epochs_are_recorded_up_to_two_hundred_and_a_hundred_per_decade_beyond():
    assert recorded_times(7).tolist() == list(range(8))
    n = recorded_times(20_000)
    assert n[:201].tolist() == list(range(201))
    assert n[-1] == 20_000
    assert 190 <= len(n) - 201 <= 210
