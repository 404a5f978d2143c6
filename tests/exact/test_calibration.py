"""The error that a curve states of itself is not less than its true one: random shapes, steps and epochs."""

import numpy as np
import pytest

from edgelaw.exact import curve as curve_of
from edgelaw.orders import ORDERS
from edgelaw.theory import BY_ORDER


def marchenko_pastur(rho, size=300):
    """Eigenvalues of XᵀX/m and their shares, for m = ρd isotropic rows, from equal angles."""
    angle = np.pi * (np.arange(size) + 0.5) / size
    values = 1 + 1 / rho - 2 * np.cos(angle) / np.sqrt(rho)
    shares = np.sin(angle) ** 2 / values
    shares *= min(rho, 1) / shares.sum()
    return (np.append(0, values), np.append(1 - rho, shares)) if rho < 1 else (values, shares)


def drawn(number):
    """Seeded m/d from 1/8 to 64, step and number of epochs."""
    rng = np.random.default_rng([5, number])
    rho = np.exp(rng.uniform(np.log(1 / 8), np.log(64)))
    return rho, rng.uniform(0.05, 1.9), int(np.exp(rng.uniform(np.log(3), np.log(100))))


@pytest.mark.parametrize("number", range(6))
@pytest.mark.parametrize("order", ORDERS)
def test_the_stated_error_is_not_less_than_the_true_one(order, number):
    rho, step, epochs = drawn(number)
    theory, n = BY_ORDER[order], np.arange(epochs + 1)
    values, shares = marchenko_pastur(rho)
    curve = curve_of(order, values, n, step, rho, weights=shares)
    for ours, exact, plateau in (
        (curve.test, theory.test_loss(n, step, rho), max(0.0, 1 - rho)),
        (curve.train, theory.train_loss(n, step, rho), 0.0),
    ):
        seen = exact - plateau > 1e-12  # computed or continued
        assert seen[0]
        assert np.abs(ours[seen] / exact[seen] - 1).max() <= curve.error
