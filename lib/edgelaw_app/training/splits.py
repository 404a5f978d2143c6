"""Rows to train a linear probe on and rows to hold out, from a pool of features; nothing here needs PyTorch."""

from dataclasses import dataclass, field, replace

import numpy as np

from edgelaw._common import arguments
from edgelaw._common.types import Array, ArrayLike, Integers, Rng


@dataclass(frozen=True, eq=False)
class Probe:
    """Rows to train on and rows to hold out, prepared alike.

    Attributes
    ----------
    X : array (m, d)
        Training rows of norm √d.
    labels : array of m integers
        Their classes.
    targets : array (m, K)
        What least squares aims at.
    held : array
        Rows that no training sees.
    held_labels : array of integers
        Their classes.
    """

    X: Array = field(repr=False)
    labels: Integers = field(repr=False)
    targets: Array = field(repr=False)
    held: Array = field(repr=False)
    held_labels: Integers = field(repr=False)

    def taught(self, rng: Rng) -> "Probe":
        """The same rows with targets X Wᵀ of a random W: least squares without noise, from an isotropic start."""
        K, d = self.targets.shape[1], self.X.shape[1]
        W = arguments.generator(rng).standard_normal((K, d)) / np.sqrt(d)
        return replace(self, targets=self.X @ W.T)


def split(features: ArrayLike, labels: ArrayLike, rows: int, dims: int, held: int, rng: Rng) -> Probe:
    r"""Choose training and held-out rows, project, centre and scale them by the training rows' mean.

    The preprocessing is the paper's (`edgelaw.data.preprocess`); held-out rows go through it too, with the
    training rows' mean. The targets are one-hot vectors, minus their mean with weights :math:`1/s_i`, where :math:`s_i`
    scaled row i to norm :math:`\sqrt d`: the rows obey :math:`\sum_i x_i/s_i = 0`, and with targets that do so too
    the equations of m ≤ d rows have a solution.

    Parameters
    ----------
    features, labels : array (N, columns), array of N integers from 0
    rows, dims, held : int
        m, d and the number of held-out rows.
    rng : int or numpy.random.Generator

    Returns
    -------
    Probe

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> probe = split(rng.normal(size=(50, 30)), np.arange(50) % 3, rows=20, dims=20, held=10, rng=1)
    >>> probe.X.shape, probe.held.shape, probe.targets.shape
    ((20, 20), (10, 20), (20, 3))
    """
    pool, generator = arguments.matrix(features, "features").astype(np.float64), arguments.generator(rng)
    classes = arguments.counts(labels, "labels")
    rows, held = arguments.whole(rows, "rows", 2), arguments.whole(held, "held", 1)
    dims = arguments.whole(dims, "dims", 2)
    N, columns = pool.shape
    if classes.shape != (N,):
        raise ValueError(f"labels must have one entry for each of the {N} rows of features.")
    if rows + held > N or dims > columns:
        raise ValueError(
            f"rows + held must be at most {N} and dims at most {columns}, not {rows} + {held} and {dims}."
        )
    chosen = generator.permutation(N)[: rows + held]
    Z = pool[chosen] @ (generator.standard_normal((columns, dims)) / np.sqrt(dims))
    Z -= Z[:rows].mean(axis=0)
    scale = np.sqrt(dims) / np.linalg.norm(Z, axis=1)
    Z *= scale[:, None]
    hot = np.eye(classes.max() + 1)[classes[chosen[:rows]]]
    hot -= np.average(hot, axis=0, weights=1 / scale[:rows])
    return Probe(Z[:rows], classes[chosen[:rows]], hot, Z[rows:], classes[chosen[rows:]])
