r"""How far one run is from its curve: a law of the loss itself, the rows, their effective rank and the step.

A curve is a limit of large matrices, and a mean over orders. A run has one matrix and one order. Its loss from all
starts, without the plateau of directions that no row has, is off by a relative standard deviation of about

.. math:: \text{IID} \; \frac{3\ell}{8\sqrt{nm}}(1+g), \qquad
   \text{single shuffle, flip-flop} \; \frac{(\eta\ell)^{3/2}}{6r}(1+g), \qquad
   \text{random reshuffle} \; \frac{(\eta\ell)^{3/2}}{6r}\sqrt{\frac{\ell}{n}}(1+g),

with :math:`\ell = \log(1/\text{loss})`, n epochs, m rows, r the effective rank of the sample, and :math:`g =
2\eta n\mu`, where μ is the smallest positive eigenvalue of :math:`U^\top U`, unit rows U.

Why: each of the nm draws of IID takes about ℓ/(nm) from the logarithm of the loss, more or less by as much. In the
other orders every row comes equally often; what their order changes falls with the step and with the mean squared inner
product of two rows, 1/r. A fresh order averages out over epochs, one that repeats does not. Once there is a slowest
direction that has lost a factor :math:`e^{-g}`, as there is with fewer rows than dimensions, deviations of its rate are
all that counts.

*Fitted* to Gaussian rows of five covariances and tried on other rows (``edgelaw.data.sweep("finite_size")``, chapter
9), at steps from 0.25 to 1.5, one row per update. It is not proved, and knows nothing of rows whose left basis is not
like a Haar one: repeated, sparse or clustered rows can be further off, at any size.
"""

import dataclasses

import numpy as np

from edgelaw._common.types import Array
from edgelaw.curves import LearningCurve
from edgelaw.exact import sources
from edgelaw.exact.batches.blocks import Asked

# Both so that of the fitted runs 95 % are within two deviations.
DRAWS = 3 / 8  # what the draws of IID add
SHUFFLED = 1 / 6  # what an order adds in which every row comes once per epoch


def relative(
    order: str, n: Array, losses: Array, step: float, rows: float, rank: float, slowest: float
) -> Array:
    """The relative standard deviation of one run's losses, which start at 1 and have no plateau, after n epochs.

    `slowest` is μ, next to nothing for m = d rows of a spectrum with an edge at zero:

    >>> relative("single_shuffle", 50.0, np.array([0.1, 0.001]), 1.0, 512, 80.0, 0.0).round(3).tolist()
    [0.007, 0.038]
    """
    tiny = np.finfo(float).tiny
    left, epochs = np.log(1 / np.clip(losses, tiny, 1.0)), np.maximum(n, tiny)  # nothing has moved at 0
    if order == "iid":
        early = DRAWS * left / np.sqrt(epochs * rows)
    else:
        early = SHUFFLED * (step * left) ** 1.5 / rank
    if order == "random_reshuffle":
        early = early * np.sqrt(left / epochs)
    return early * (1 + 2 * step * epochs * slowest)


def added(curve: LearningCurve, order: str, asked: Asked, size: int) -> LearningCurve:
    """The curve of a sample with so many eigenvalues and what its size makes of it; of batches that is not known."""
    if asked.cut is not None:
        return curve
    values, shares, null = sources.positive(asked.rows.values, asked.rows.shares)
    slowest = asked.rows.rho * float(values.min())
    rank = size / float(values**2 @ shares)  # because values have mean 1, zeros included
    above = np.maximum([(curve.test - null) / (1 - null), curve.train], 0.0)
    off = relative(order, curve.epochs, above, asked.step, asked.rows.rho * size, rank, slowest) * above
    return dataclasses.replace(curve, finite_size_test=(1 - null) * off[0], finite_size_train=off[1])
