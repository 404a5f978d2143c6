r"""The exact mean of one data set under IID sampling, at its own finite d: no limit, no noise.

The mean of :math:`ww^\top` obeys a symmetric linear map of d × d matrices, so its traces are moments of a measure on
(−1, 1], and Lanczos from the identity turns it into a Gauss quadrature. Chapter 2 has the training loss. *Proved*
(prop-iid-recursion).
"""

import itertools
from collections.abc import Callable, Iterator

import numpy as np
import scipy.linalg

from edgelaw._common import arguments
from edgelaw._common.types import Array, ArrayLike
from edgelaw.curves import LearningCurve
from edgelaw.exact import agreement
from edgelaw.exact.labels.curves import ROUNDING
from edgelaw.kaczmarz import Problem


def expected_curve(
    X: ArrayLike, epochs: ArrayLike, step: float = 1.0, tolerance: float = 1e-10
) -> LearningCurve:
    r"""The exact expected learning curve of one data set, over row draws and isotropic starts: no limit, no noise.

    Only the directions of the rows X (m, d) matter. Lanczos stops when eight more steps change neither loss by more
    than `tolerance`, relatively, at any epoch wanted, and at the latest after :math:`8 + 19\sqrt{nm}` steps for n
    epochs. A step costs :math:`2md^2 + d^3` multiplications; 30 to 80 are usual.

    Two orthogonal rows: a start survives an epoch of two draws in the direction not drawn.

    >>> curve = expected_curve(np.diag([1.0, 3.0]), epochs=2)
    >>> curve.test.round(6).tolist()
    [1.0, 0.25, 0.0625]
    """
    U = Problem(arguments.matrix(X, minimum=1).astype(np.float64)).rows()
    n, step = arguments.epochs(epochs), arguments.step(step)
    tolerance = arguments.number(tolerance, "tolerance", 0)
    m, d = U.shape
    A = U.T @ U / m

    def generator(M: Array) -> Array:
        """The change of M by one mean update, m/step times; symmetric to the last digit, or rounding would grow."""
        half = step / 2 * (U.T * np.einsum("ij,ij->i", U @ M, U)) @ U - m * A @ M
        return half + half.T

    losses = np.full((2, len(n)), np.inf)
    most = 8 + 19 * np.sqrt(m * float(n[-1]))
    for theta, weights in itertools.islice(_lanczos(generator, np.eye(d) / np.sqrt(d)), int(most / 8)):
        previous = losses
        # what rounding leaves are directions that no row has
        theta = np.where(theta < d * np.finfo(float).eps * theta.min(), theta, 0.0)
        powers = (1 + theta * step / m) ** (m * n[:, None])
        train = -theta / (m / d * (2 - step))
        losses = np.stack([powers @ weights, powers @ (weights * train)])
        if (np.abs(losses - previous) <= tolerance * np.abs(losses) + np.finfo(float).tiny).all():
            break
    test, train = losses
    return agreement.learning_curve(n, test, train, tolerance)


def _lanczos(operator: Callable[[Array], Array], start: Array) -> Iterator[tuple[Array, Array]]:
    """Yield eigenvalues and squared first components of the Lanczos matrix every eight steps, and at its end."""
    diagonal: list[float] = []
    off: list[float] = []
    old, new, size, exhausted = np.zeros_like(start), start, 0.0, False
    while not exhausted:
        image = operator(new) - size * old
        diagonal.append(float(np.vdot(new, image)))
        image -= diagonal[-1] * new
        size = float(np.linalg.norm(image))
        exhausted = size <= ROUNDING * max(map(abs, diagonal))
        if len(diagonal) % 8 == 0 or exhausted:
            theta, vectors = scipy.linalg.eigh_tridiagonal(diagonal, off)
            yield theta, vectors[0] ** 2
        off.append(size)
        old, new = new, image / (size or 1.0)
