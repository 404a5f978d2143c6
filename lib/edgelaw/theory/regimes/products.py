r"""Means of products of matrices near the identity: what single shuffle, random reshuffle and gradient descent average.

For symmetric :math:`B_1, \dots, B_m` an epoch is :math:`P_\sigma = (I-\eta B_{\sigma(m)})\cdots(I-\eta
B_{\sigma(1)})`. Yun, Sra and Jadbabaie compare the norms of

.. math:: W_{SS} = \mathbb E_\sigma P_\sigma^n, \qquad W_{RR} = (\mathbb E_\sigma P_\sigma)^n, \qquad
          W_{GD} = \Bigl(\frac1m\sum_i(I-\eta B_i)\Bigr)^{mn} .
"""

import itertools
from typing import NamedTuple

import numpy as np

from edgelaw._common import arguments
from edgelaw._common.types import Array, ArrayLike

_MOST = 6  # matrices: 720 permutations


class MeanProducts(NamedTuple):
    """The three means: single shuffle's, random reshuffle's, gradient descent's (and IID's)."""

    single_shuffle: Array
    random_reshuffle: Array
    gradient_descent: Array

    @property
    def norms(self) -> tuple[float, float, float]:
        """Their spectral norms."""
        return tuple(float(np.linalg.norm(W, 2)) for W in self)  # type: ignore[return-value]


def mean_products(B: ArrayLike, step: float, epochs: int) -> MeanProducts:
    """The three means after n epochs, by running through all m! permutations of at most six symmetric matrices.

    Matrices that commute cannot tell single shuffle from random reshuffle:

    >>> means = mean_products([np.diag([1.0, 0.0]), np.diag([0.0, 0.5])], step=0.5, epochs=2)
    >>> bool(np.allclose(means.single_shuffle, means.random_reshuffle))
    True
    """
    B = _matrices(B)
    m, d, _ = B.shape
    n, factors = arguments.whole(epochs, "epochs", 1), np.eye(d) - arguments.number(step, "step", 0) * B
    orders = np.array(list(itertools.permutations(range(m))))
    products = factors[orders[:, 0]]
    for visit in orders.T[1:]:
        products = factors[visit] @ products
    return MeanProducts(
        np.linalg.matrix_power(products, n).mean(axis=0),
        np.linalg.matrix_power(products.mean(axis=0), n),
        np.linalg.matrix_power(factors.mean(axis=0), m * n),
    )


def replacement_gap(B: ArrayLike) -> Array:
    r"""The leading coefficient G of :math:`W_{GD} - W_{RR} = \eta^2\,n\,G + O(\eta^3)`. *Proved* (prop-lit-products).

    :math:`G = \frac12\sum_i(B_i - \bar B)^2 \succeq 0`.

    >>> replacement_gap([[[1.0]], [[0.0]]]).tolist()
    [[0.25]]
    """
    centred = (B := _matrices(B)) - B.mean(axis=0)
    return 0.5 * np.einsum("kij,kjl->il", centred, centred)


def shuffle_gap(B: ArrayLike) -> Array:
    r"""The leading coefficient G of :math:`W_{RR} - W_{SS} = \eta^4\binom n2\,G + O(\eta^5)`.

    *Proved* (prop-lit-products).

    :math:`G = \mathbb E\,\Delta^\top\Delta \succeq 0` with :math:`\Delta_\sigma = \frac12\sum_{i<j}\pm[B_j,B_i]`, the
    sign + if i comes first.

    >>> shuffle_gap([np.diag([1.0, 0.0]), [[0.5, 0.5], [0.5, 0.5]]]).tolist()
    [[0.0625, 0.0], [0.0, 0.0625]]
    """
    B = _matrices(B)
    pairs = list(itertools.combinations(range(len(B)), 2))
    brackets = np.array([B[j] @ B[i] - B[i] @ B[j] for i, j in pairs]) / 2
    gap, orders = np.zeros_like(B[0]), list(itertools.permutations(range(len(B))))
    for rank in orders:
        signs = [1.0 if rank[i] < rank[j] else -1.0 for i, j in pairs]
        delta = np.tensordot(signs, brackets, 1)
        gap += delta.T @ delta
    return gap / len(orders)


def _matrices(B: ArrayLike) -> Array:
    """Between two and six symmetric matrices of one size."""
    B = arguments.real_array(B, "B", 3)
    if not 2 <= len(B) <= _MOST or B.shape[1] != B.shape[2]:
        raise ValueError(
            f"B must hold between 2 and {_MOST} square matrices, not an array of shape {B.shape}."
        )
    if not np.allclose(B, B.swapaxes(1, 2)):
        raise ValueError("B must hold symmetric matrices.")
    return B
