"""The constants of every order are the limits of its exact losses, found by Richardson extrapolation."""

import numpy as np
import pytest

from edgelaw.theory import BY_ORDER


def limit(values, powers, ratio):
    """Richardson: the limit of values at n, ratio·n, ratio²·n, ..., with corrections n^(-power)."""
    for power in powers:
        factor = float(ratio) ** power
        values = (factor * values[1:] - values[:-1]) / (factor - 1)
    return float(values[-1])


def test_richardson_by_hand():
    # 3 + 2/n at n = 1, 2: (2·4 − 5)/(2 − 1) = 3
    assert limit(np.array([5.0, 4.0]), (1,), 2) == 3.0


@pytest.mark.parametrize("step", [0.3, 1.0, 1.6])
@pytest.mark.parametrize("order", BY_ORDER)
def test_a_constant_is_the_limit_of_the_exact_losses_to_a_millionth(order, step):
    # Powers of n in which the corrections come: half-integers only for single shuffle.
    powers = (0.5, 1, 1.5, 2, 2.5, 3) if order == "single_shuffle" else (1, 2, 3)
    module = BY_ORDER[order]
    n = 3000 * 2 ** np.arange(len(powers) + 1)
    test = limit(np.sqrt(n) * module.test_loss(n, step), powers, 2)
    train = limit(n**1.5 * module.train_loss(n, step), powers, 2)
    assert test == pytest.approx(module.test_constant(step), rel=1e-6)
    assert train == pytest.approx(module.train_constant(step), rel=1e-6)
