"""What the sweeps take from the forecast's engine, in one place."""

import losses
import numpy as np

from edgelaw.forecast import engine


def exact(order, eigenvalues, epochs, step, rho):
    """The exact curve of one order at any aspect, (2, epochs), as the forecast has it; NaN where it is refused."""
    try:
        return losses.of_curve(engine.exact(order, eigenvalues, epochs, step, rho)[0])
    except ArithmeticError:
        return np.nan


def pilot(X, rows, dims, rng):
    """So many random rows in so many random directions, as the forecast takes them."""
    return engine.subset(engine.Array(X), rows, dims, rng)
