r"""Single shuffle (shuffle once, then repeat the same order): the exact curves of isotropic Gaussian rows.

One epoch is :math:`A = \prod_k (I - \eta u_k u_k^\top)` with :math:`m = \rho d` uniform unit vectors, the same in
every epoch. As :math:`d \to \infty`

.. math::

   \sum_{i,j} z^i w^j\, \frac{E \operatorname{tr} A^i A^{j\top}}{d} = \Phi, \qquad
   \sum_{i,j} z^i w^j\, \frac{E \operatorname{tr} S A^i A^{j\top}}{\rho d} = \Psi, \qquad S = \sum_k u_k u_k^\top,

both closed forms in two parameters v and v′. With :math:`g = \eta + (1-\eta) v`, :math:`z = (v/g)\,
e^{\eta\rho(1-v)}`, the same with primes for w, :math:`u = v v'/(g g')` and :math:`K = u\, e^{\rho (1-u) g g'}`

.. math::

   \begin{gathered}
   \Phi = \frac{(1-u)\, g g'}{\eta^2 (1-v)(1-v')(1-K)}, \\
   \Psi = \frac{1}{1-K}\Bigl\{\frac{g + g'}{\eta} - 1 - \frac{2-\eta}{\eta}\,
   \frac{u\,(e^{\rho(1-u)gg'}-1)}{\rho\,(1-u)}\Bigr\}.
   \end{gathered}

The test loss after n epochs is :math:`[z^n w^n]\Phi`, the training loss :math:`[z^n w^n]\Psi` (the paper's is
:math:`\rho\Psi`). *Proved* (cor-proof-isotropic) at every fixed n, with an error of order 1/d in mean square.
"""

import numpy as np
import numpy.typing as npt

from edgelaw._common import arguments
from edgelaw._common.types import ArrayLike, FloatOrArray
from edgelaw.theory import _shuffle_contour as contours
from edgelaw.theory._epochs import by_epoch
from edgelaw.theory.single_shuffle_sums import (
    expansion,
    poisson,
    queue_weights,
    test_expansion,
    test_sum,
    train_expansion,
    train_sum,
)

__all__ = [
    "effective_step",
    "expansion",
    "generating_functions",
    "poisson",
    "queue_weights",
    "test_constant",
    "test_expansion",
    "test_loss",
    "test_sum",
    "train_constant",
    "train_expansion",
    "train_loss",
    "train_sum",
]


def test_loss(n: ArrayLike, step: float = 1.0, rho: float = 1.0) -> FloatOrArray:
    r"""The test loss after n epochs: :math:`E\|A^n\|_F^2/d`.

    Relative accuracy about 1e-13 at steps up to 1.5, rising like 1e-15 √n with n; 1e-9 or better for n ≤ 300, steps
    in [0.05, 1.95] and rho in [0.25, 4]; at rho = 1, better than 1e-9 at every n up to 1e8 for steps in [0.05, 1.98].
    The nodes needed grow with n where the step is close to 2 and rho far from 1 (ten seconds at n = 300, step 1.9,
    rho 4); where they do not suffice for 1e-6 (step 1.99 near n = 3000) a ValueError says so.

    One epoch leaves :math:`e^{-\eta(2-\eta)\rho}`, two leave :math:`e^{-2} + 2e^{-3}` at step 1 and rho 1:

    >>> bool(np.allclose(test_loss([1, 2]), [np.exp(-1), np.exp(-2) + 2 * np.exp(-3)], rtol=1e-12))
    True
    """
    return _losses("test", n, step, rho)


def train_loss(n: ArrayLike, step: float = 1.0, rho: float = 1.0) -> FloatOrArray:
    r"""The training loss after n epochs: :math:`E\|X A^n\|_F^2/(m d)`. As accurate as :func:`test_loss`.

    >>> bool(np.isclose(train_loss(1), np.exp(-2), rtol=1e-12)), train_loss(np.array([0, 3])).shape
    (True, (2,))
    """
    return _losses("train", n, step, rho)


def generating_functions(
    v: npt.ArrayLike, v2: npt.ArrayLike, step: float = 1.0, rho: float = 1.0
) -> tuple[FloatOrArray, FloatOrArray, FloatOrArray, FloatOrArray]:
    r"""z, w, :math:`\Phi` and :math:`\Psi` at parameters v and v′ so small that the series converge.

    >>> z, w, test, train = generating_functions(0.0, 0.0)
    >>> float(z.real), float(test.real), float(train.real)
    (0.0, 1.0, 1.0)
    """
    model = contours.model(arguments.step(step), arguments.aspect(rho))
    v, v2 = np.asarray(v, dtype=complex), np.asarray(v2, dtype=complex)
    z, w = (x / (model.eta + model.b * x) * np.exp(model.eta * model.rho * (1 - x)) for x in (v, v2))
    test, train = (model.kernel(loss, v, 1 - v, v2, 1 - v2) for loss in ("test", "train"))
    return z, w, test, train


def _losses(loss, n, step, rho):
    model = contours.model(arguments.step(step), arguments.aspect(rho))

    def octaves(later):
        values = np.empty(len(later))
        octave = np.floor(np.log2(later))
        for k in np.unique(octave):
            values[octave == k], error = model.diagonals(loss, later[octave == k], 1e-10)
            if error > 1e-6:
                raise ValueError(
                    f"The {loss} loss at {later[octave == k][-1]} epochs, step {step:g} and rho {rho:g} needs more "
                    "nodes than are allowed: take fewer epochs, a smaller step or a rho closer to 1."
                )
        return values

    return by_epoch(n, octaves)


def test_constant(step: float = 1.0) -> float:
    r""":math:`\lim \sqrt n \cdot` test loss at rho = 1: :math:`\sqrt{a/2\pi}` with :math:`a = 1/\eta - 1/2`.

    *Proved* (thm-ss-constants).

    >>> round(float(test_constant() * 2 * np.sqrt(np.pi)), 12)
    1.0
    """
    return float(np.sqrt((1 / arguments.step(step) - 0.5) / (2 * np.pi)))


def train_constant(step: float = 1.0) -> float:
    r""":math:`\lim n^{3/2} \cdot` training loss at rho = 1: :math:`(a^2 + 1/4)/(4\sqrt{2\pi a})`.

    *Proved* (thm-ss-constants), a as in `test_constant`. Smallest at :math:`\eta \approx 1.27`, without bound at
    either end of (0, 2).

    >>> round(float(train_constant() * 8 * np.sqrt(np.pi)), 12)
    1.0
    """
    a = 1 / arguments.step(step) - 0.5
    return float((a**2 + 0.25) / (4 * np.sqrt(2 * np.pi * a)))


def effective_step(step: float) -> float:
    r""":math:`1/a = 2\eta/(2-\eta)`: twice the step at step 1, unstable for gradient descent above 2/3.

    *Proved* (thm-four-constants).

    >>> float(effective_step(1.0))
    2.0
    """
    return 1 / (1 / arguments.step(step) - 0.5)
