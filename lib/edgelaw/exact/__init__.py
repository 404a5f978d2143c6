"""Learning curves on any spectrum, with batches, labels and schedules: one door, and one room per order behind it.

The losses depend on the rows only through their Gram matrix, and for rows with a Haar left basis (Gaussian rows of any
covariance) through its spectrum. Each order's room holds its mathematics; all state their numerical error by one
policy (:mod:`.agreement`), and refuse with an `ArithmeticError` where two resolutions differ by more than 2 % or no
contour around the spectrum is usable; then simulate (:mod:`edgelaw.kaczmarz`).

Everywhere `order` is one of `edgelaw.orders.ORDERS`, `step` is η, in (0, 2) or with batches below `stability`, `rho` is
m/d, and `batch` the rows of an averaged update, as in ``kaczmarz.Problem(X, batch=b)``: each row moves the weights by
step/b, and the last batch of an epoch is shorter if b does not divide m. Eigenvalues come in any order and on any
scale, because the normalised update does not see that of the rows; with batches their number is d.
"""

import dataclasses
from importlib import import_module
from types import ModuleType

import numpy as np

from edgelaw import orders
from edgelaw._common import arguments, threads
from edgelaw._common.types import ArrayLike, Integers
from edgelaw.curves import LearningCurve
from edgelaw.exact import agreement, finite_size
from edgelaw.exact.batches import requests
from edgelaw.exact.batches.blocks import Asked
from edgelaw.exact.batches.limits import critical_batch, stability
from edgelaw.exact.iid.expected import expected_curve
from edgelaw.exact.labels import LabelCurve, LabelFloor, LabelledRows
from edgelaw.exact.labels.curves import room
from edgelaw.theory import gradient_descent

__all__ = [
    "constants",
    "critical_batch",
    "curve",
    "curve_at",
    "effective_step",
    "expected_curve",
    "population_curve",
    "probe_curve",
    "probe_floor",
    "stability",
]


def _room(order: str) -> ModuleType:
    """The package behind an order, loaded when it is asked for."""
    return import_module(f"{__name__}.{arguments.choice(order, 'order', orders.ORDERS)}")


@threads.one_blas_thread()
def curve(
    order: str,
    eigenvalues: ArrayLike,
    epochs: ArrayLike,
    step: float = 1.0,
    rho: float = 1.0,
    batch: int = 1,
    weights: ArrayLike | None = None,
) -> LearningCurve:
    r"""Learning curve from the spectrum of a *sample* of m = ρd rows, as d → ∞ with the rows' left basis Haar.

    The equations are **proved** (thm-as-curves) for single rows and a bounded spectrum, almost surely at every fixed n
    (IID: in the mean over the draws), and *derived* here for batches. Nothing is drawn, so standard errors are NaN;
    `error` is the relative numerical error of solving the equations, not the distance of a finite matrix from them, of
    which `finite_size_test` and `finite_size_train` are an estimate (:mod:`.finite_size`; NaN with weights or batches).
    From the epoch `continued` a loss goes on by a law. Costs are in ``benchmarks/CURVES.md``.

    Parameters
    ----------
    eigenvalues : array_like
        Of :math:`X^\top X/m`, at least 20. If row norms vary, take those of the normalised rows
        (``edgelaw.data.normalize_rows``). Zeros are directions that no row has: their share stays in the test loss.
    epochs : int or array of int
        Up to which epoch, or the epochs wanted; 0 is always among those returned.
    weights : array_like, optional
        Their shares, if not equal: a quadrature, of any number of nodes, makes this the curve of a continuous law. Not
        with batches.

    Examples
    --------
    Orthogonal rows, whose order does not matter: an epoch multiplies every coordinate by 1 − η.

    >>> import numpy as np
    >>> [round(float(x), 6) for x in curve("single_shuffle", np.ones(30), epochs=2, step=0.5).test]
    [1.0, 0.25, 0.0625]
    """
    theory, n = _room(order), arguments.epochs(epochs)
    asked = requests.of_sample(order, eigenvalues, step, batch, rho, weights)
    made = None if order == "iid" else _elementary(n, asked)
    if made is not None:
        none = np.zeros(len(n))  # whatever the rows and their order
        return dataclasses.replace(made, finite_size_test=none, finite_size_train=none.copy())
    made = theory.curve(n, asked)
    return made if weights is not None else finite_size.added(made, order, asked, np.size(eigenvalues))


def _elementary(n: Integers, asked: Asked) -> LearningCurve | None:
    """The curve in any order of orthogonal rows, m = d, or of one batch per epoch, which is gradient descent."""
    rows, cut = asked.rows, asked.cut
    if len(rows.values) == 1 and rows.rho == 1:
        steps, shares = ([asked.step], [1.0]) if cut is None else (cut.taus, cut.kappas)
        losses = np.power(1.0 - np.asarray(steps), 2.0 * n[:, None]) @ np.asarray(shares)
        return agreement.learning_curve(n, losses, losses.copy(), 0.0)
    if cut is None or cut.batches > 1:
        return None
    losses = gradient_descent.weighted_losses(n, rows.values, rows.shares, rows.rho * asked.tau)
    return agreement.learning_curve(n, *losses, 0.0)


@threads.one_blas_thread()
def population_curve(
    order: str,
    covariance_eigenvalues: ArrayLike,
    epochs: ArrayLike,
    step: float = 1.0,
    rho: float = 1.0,
    batch: int = 1,
) -> LearningCurve:
    r"""Learning curve for m = ρd Gaussian rows of a given *covariance*, as d → ∞: as from `curve`, with no data.

    Rows are normalised by the update, which changes nothing as long as their norms concentrate: the squared norm of a
    row fluctuates by a relative :math:`\sqrt{2/r}`, r the effective rank of the covariance.

    >>> import numpy as np
    >>> [round(float(x), 6) for x in population_curve("iid", np.ones(2), epochs=[1, 100]).test]
    [1.0, 0.501944, 0.040083]
    """
    theory, n = _room(order), arguments.epochs(epochs)
    asked = requests.of_covariance(order, covariance_eigenvalues, step, batch, rho)
    made = theory.curve(n, asked)
    return dataclasses.replace(made, test=asked.null + (1 - asked.null) * made.test)


def curve_at(
    eigenvalues: ArrayLike,
    times: ArrayLike,
    step: float = 1.0,
    rho: float = 1.0,
    weights: ArrayLike | None = None,
) -> LearningCurve:
    """The curve of IID, single rows, at any times in epochs, whole or not, 0 among them; otherwise as `curve`.

    >>> [round(float(x), 6) for x in curve_at(np.ones(20), 0.5).test]
    [1.0, 0.606531]
    """
    n = np.union1d(arguments.real_array(np.atleast_1d(times), "times", 1), 0)
    if n[0] < 0:
        raise ValueError("times must not be negative.")
    asked = requests.of_sample("iid", eigenvalues, step, 1, rho, weights)
    made = _room("iid").curve(n, asked)
    return made if weights is not None else finite_size.added(made, "iid", asked, np.size(eigenvalues))


def constants(
    order: str, covariance_eigenvalues: ArrayLike, step: float = 1.0, batch: int = 1
) -> tuple[float, float]:
    """The limits of √n · test and :math:`n^{3/2}` · train at m = d, for Gaussian rows of a given covariance.

    The eigenvalues must be positive: a zero would leave a constant test loss. Those of single rows are **proved**
    (thm-edge-orders), of batches *derived* (thm-mb-steps); they set in late for broad spectra. Training constants
    that are not known are NaN: flip-flop's with batches, IID's and random reshuffle's if b does not divide m.

    >>> test, train = constants("iid", [2.0, 2.0], step=0.5)
    >>> round(test, 6), round(train, 6)  # isotropic: those of edgelaw.theory.iid
    (0.56419, 0.376126)
    """
    return _room(order).constants(requests.of_covariance(order, covariance_eigenvalues, step, batch))


def effective_step(order: str, step: float, eigenvalues: ArrayLike | None = None, batch: int = 1) -> float:
    r"""The step of gradient descent with the same test-loss edge at m = d, on a spectrum with a left edge at zero.

    For IID it is the step itself, for single shuffle :math:`2\eta/(2-\eta)`; for random reshuffle and flip-flop it
    depends on the eigenvalues of the sample, or is that of isotropic Gaussian rows without. With batches, which need
    the eigenvalues, it is that of gradient descent with one full update per epoch: η/b for b = m.

    >>> effective_step("single_shuffle", 1.0)
    2.0
    """
    if eigenvalues is None and requests.single_rows(batch):
        return _room(order).effective_step(requests.of_covariance(order, [1.0], step))
    return _room(order).effective_step(requests.of_sample(order, eigenvalues, step, batch, fewest=1))


@threads.one_blas_thread()
def probe_curve(
    order: str,
    rows: LabelledRows,
    epochs: ArrayLike,
    step: ArrayLike = 1.0,
    batch: int = 1,
    ridge: float = 0.0,
) -> LabelCurve:
    """Training and held-out loss of SGD from zero weights on rows with targets, noisy or not.

    Flip-flop has no theory of both losses. A step is a learning rate times `rows.scale`; an array has one per epoch, a
    schedule. Single shuffle takes neither schedules nor batches, and only IID a ridge, the ``weight_decay`` of
    `torch.optim.SGD`. Losses are in units of squared targets, summed over outputs.

    Two orthogonal rows: at step 1 a draw learns its row, and half the draws of an epoch learn either.

    >>> import numpy as np
    >>> from edgelaw.exact.labels import LabelledRows
    >>> probe_curve("iid", LabelledRows.of(np.eye(2), [1.0, 1.0]), 2).train.round(12).tolist()
    [1.0, 0.25, 0.0625]
    """
    labels = _labels(order)
    if not ridge:
        return labels.curve(rows, epochs, step, batch)
    if order != "iid":
        raise ValueError(f"ridge must be 0 for {order!r}: weight decay has a theory under 'iid' alone.")
    return labels.curve(rows, epochs, step, batch, ridge)


@threads.one_blas_thread()
def probe_floor(order: str, rows: LabelledRows, step: float, batch: int = 1) -> LabelFloor:
    """Where a constant step ends on rows with targets: the losses after many epochs, in the mean over orders.

    Targets that the rows can fit leave nothing.

    >>> import numpy as np
    >>> from edgelaw.exact.labels import LabelledRows
    >>> probe_floor("iid", LabelledRows.of(np.eye(30), np.ones(30)), step=0.5).excess
    0.0
    """
    return _labels(order).floor(rows, step, batch)


def _labels(order: str) -> ModuleType:
    """What an order's room has of labels."""
    if order == "flip_flop":
        raise ValueError(
            "order must not be 'flip_flop', which has no theory of labels; simulate it with edgelaw.kaczmarz."
        )
    return room(order)
