"""What the sweeps take from the forecast's room, in one place."""

import losses
import numpy as np

from edgelaw_app import files
from edgelaw_app.forecast.diagnostic import diagnose
from edgelaw_app.forecast.exact_curves import exact_curve
from edgelaw_app.forecast.spectral import random_part


def exact(order, eigenvalues, epochs, step, rho):
    """The exact curve of one order at any aspect, (2, epochs), as the forecast has it; NaN where it is refused."""
    try:
        return losses.of_curve(exact_curve(order, eigenvalues, epochs, step, rho))
    except ArithmeticError:
        return np.nan


def pilot(X, rows, dims, rng):
    """So many random rows in so many random directions, as the forecast takes them."""
    return random_part(files.design(X, center=False, normalize=False), rows, dims, rng)


def diagnosis(X, epochs, rng):
    """The verdict of the forecast's diagnostic on these rows, and what it measured at its worst place."""
    answer, _ = diagnose(files.design(X, center=False, normalize=False), rng, epochs)
    recorded = {"agrees": "passes", "differs": "fails"}  # as the shipped record has them
    return recorded.get(answer.verdict, answer.verdict), answer.excess, answer.error
