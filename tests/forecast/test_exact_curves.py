"""Exact curves at any number of rows: closed forms, simulation, and how an ended curve is continued."""

import types

import numpy as np
import pytest

from edgelaw import data, orders, spectrum, theory
from edgelaw.curves import LearningCurve
from edgelaw.forecast.exact_curves import exact_curve, recorded_epochs
from edgelaw.forecast.measuring import measured_curve
from edgelaw.theory import levy, single_shuffle

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
    curve = module.curve(values, n, 0.8, rho, weights=shares)
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
        single_shuffle.curve(np.linspace(0.1, 2, 40), 3, rho=0.5)


@pytest.mark.parametrize(
    ("m", "d", "names"), [(64, 128, orders.ORDERS), (192, 96, ("iid", "single_shuffle", "flip_flop"))]
)
def test_exact_curves_off_the_square_meet_simulation(m, d, names):
    X = data.normalize_rows(data.gaussian(m, d, rng=5) * np.sqrt(np.linspace(0.3, 1.7, d)))
    values, n = spectrum.gram_eigenvalues(X), np.array([0, 1, 2, 4])
    for order in names:
        exact, continued = exact_curve(order, values, n, 1.0, m / d)
        measured = measured_curve(X, order, n, 1.0, np.random.default_rng(1), 16, d)
        assert continued is None
        for loss, bar in zip(LOSSES, (0.03, 0.08), strict=True):
            mean, error = getattr(measured, loss), getattr(measured, loss + "_se")
            predicted = getattr(exact, loss)
            seen = predicted > 1e-4
            assert (error[seen] < bar / 2 * predicted[seen]).all()
            assert (np.abs(mean - predicted)[seen] <= bar * predicted[seen] + 3 * error[seen]).all()


def test_a_curve_that_has_ended_is_continued_by_its_last_ratio(monkeypatch):
    def curve(values, epochs, step, rho):
        if np.max(epochs) > 12:
            raise ArithmeticError("too many")
        return LearningCurve(epochs, *(0.05**epochs for _ in LOSSES), *np.full((2, len(epochs)), np.nan))

    monkeypatch.setitem(theory.BY_ORDER, "flip_flop", types.SimpleNamespace(curve=curve))
    continued, last = exact_curve("flip_flop", np.ones(30), np.arange(41), 1.0, 5.0)
    assert last == 10
    assert np.allclose(continued.test, 0.05 ** np.arange(41.0))
    slow = types.SimpleNamespace(
        curve=lambda v, n, s, r: curve(v, n, s, r) if np.max(n) < 3 else curve(v, [99], s, r)
    )
    monkeypatch.setitem(theory.BY_ORDER, "flip_flop", slow)
    with pytest.raises(ArithmeticError, match="too many"):
        exact_curve("flip_flop", np.ones(30), np.arange(41), 1.0, 5.0)


def test_a_refusal_is_passed_on_while_much_of_the_loss_is_left(monkeypatch):
    def refuse(values, epochs, step, rho):
        raise ArithmeticError("too slow")

    monkeypatch.setitem(theory.BY_ORDER, "flip_flop", types.SimpleNamespace(curve=refuse))
    with pytest.raises(ArithmeticError, match="too slow"):
        exact_curve("flip_flop", np.linspace(0.01, 2, 30), np.arange(9), 0.1, 1.0)
    with pytest.raises(ArithmeticError, match="19 positive eigenvalues are too few"):
        exact_curve("iid", np.append(np.zeros(11), np.ones(19)), np.arange(9), 1.0, 1.0)


def test_all_epochs_are_recorded_up_to_two_hundred_and_a_hundred_per_decade_beyond():
    assert recorded_epochs(7).tolist() == list(range(8))
    n = recorded_epochs(20_000)
    assert n[:201].tolist() == list(range(201))
    assert n[-1] == 20_000
    assert 190 <= len(n) - 201 <= 210
