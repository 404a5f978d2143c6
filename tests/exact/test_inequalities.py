"""Exact inequalities between the two losses, as properties of computed curves of all orders.

Of unit rows U with M + Mᵀ = UUᵀ + 2a, a = 1/η − 1/2, an epoch A = I − UᵀM⁻¹U takes ‖e‖² − ‖Ae‖² = 2a‖M⁻¹Ue‖² from an
error e (appendix "Proofs IV"): at most (2/a)‖Ue‖², and at least 2a‖Ue‖²/‖M‖². So with Δ what the test loss loses in the
next epoch

    a/(2ρ) Δ ≤ train ≤ ‖M‖²/(2aρ) Δ

for every order that visits each row once per epoch, and for IID, whose test loss falls at the rate η(2 − η)ρ · train
and whose training loss falls, Δ ≤ η(2 − η)ρ · train. The test loss is convex, so Δ may be replaced by its mean over
later epochs in the first inequality, and over earlier ones in the second.

‖M‖ ≤ 1/η + ‖L‖. Cut the triangle L in halves, again and again: at level i it has blocks of a share t = 2^(1−i) of the
rows, of norm at most ‖K − I‖, and at most 2√t ‖K − I‖ in the limit (lem-slow-space, its two algebras exchanged).
"""

import numpy as np
import pytest

from edgelaw import exact, orders
from edgelaw.curves import VANISHED
from edgelaw.spectrum import gram_eigenvalues
from edgelaw_ledger.own.edge_laws import edge_and_atoms

LAST = {
    "iid": 13,
    "random_reshuffle": 11,
    "single_shuffle": 10,
    "flip_flop": 13,
}  # epochs are powers of 2 up to this
STEPS = (0.3, 1.0, 1.6)
TRIANGLE = sum(min(1.0, 2 ** (1.5 - i / 2)) for i in range(1, 100))  # of ‖K − I‖


def marchenko_pastur(rho):
    """Isotropic rows, fewer or more than dimensions."""
    x, weights = np.polynomial.legendre.leggauss(400)
    angle = np.pi * (x + 1) / 2
    values = 1 + 1 / rho - 2 * np.cos(angle) / np.sqrt(rho)
    weights = weights * np.sin(angle) ** 2 / values
    weights *= min(rho, 1) / weights.sum()
    return (np.append(0, values), np.append(1 - rho, weights), rho) if rho < 1 else (values, weights, rho)


def edge(beta, atoms=True):
    """An edge, and two atoms."""
    values, weights, _ = edge_and_atoms(beta)
    return (values, weights, 1.0) if atoms else (values[:-2], weights[:-2], 1.0)


def rows(m, d):
    """Gaussian rows of a power law."""
    X = np.random.default_rng(0).standard_normal((m, d)) * np.arange(1, d + 1) ** -0.5
    return np.maximum(gram_eigenvalues(X / np.linalg.norm(X, axis=1)[:, None]), 0), None, m / d


SPECTRA = {
    "edge 0.4 and atoms": edge(0.4),
    "edge 0.5": edge(0.5, atoms=False),
    "edge 1.5 and atoms": edge(1.5),
    "edge 1.5": edge(1.5, atoms=False),
    "edge 3 and atoms": edge(3.0),
    "fewer rows": marchenko_pastur(0.5),
    "more rows": marchenko_pastur(2.0),
    "two levels": (np.repeat([0.1, 1.9], 30), None, 1.0),
    "power law": rows(300, 200),
}


def bounds(order, values, weights, rho, step):
    """The least and the largest train/Δ."""
    if order == "iid":
        return 1 / (step * (2 - step) * rho), np.inf
    a = 1 / step - 0.5
    norm = 1 / step + TRIANGLE * max(1.0, rho * values.max() / np.average(values, weights=weights) - 1)
    return a / (2 * rho), norm**2 / (2 * a * rho)


@pytest.mark.parametrize("spectrum", SPECTRA)
@pytest.mark.parametrize("order", orders.ORDERS)
def test_a_training_loss_is_bounded_by_what_the_test_loss_loses(order, spectrum):
    (values, weights, rho), answered = SPECTRA[spectrum], 0
    epochs = np.append(0, 2 ** np.arange(LAST[order] + 1))
    for step in STEPS:
        try:
            curve = exact.curve(order, values, epochs, step, rho, weights=weights)
        except ArithmeticError:
            continue  # narrow spectra at large steps, flip-flop
        answered += 1
        n, test, train = curve.epochs, curve.test, curve.train
        lost = (test[:-1] - test[1:]) / np.diff(n)  # per epoch, between each two
        slack = (test[:-1] + test[1:]) / np.diff(n) * curve.error + VANISHED
        least, most = bounds(order, values, weights, rho, step)
        assert (train[:-1] * (1 + curve.error) + VANISHED >= least * (lost - slack)).all(), step
        assert (train[1:] * (1 - curve.error) - VANISHED <= most * (lost + slack)).all(), step
        tested = slack < lost / 2  # with a plateau the error of the test loss hides what it loses
        assert tested[train[1:] > 1e-9].all() or (rho < 1 and tested[:4].all())
    assert answered
