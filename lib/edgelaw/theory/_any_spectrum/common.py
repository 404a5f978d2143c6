"""What the learning curves of all orders on an arbitrary spectrum share: what goes in, and what may come out."""

import dataclasses
from collections.abc import Callable

import numpy as np
import scipy.linalg

from edgelaw._common import arguments
from edgelaw._common.types import Array, ArrayLike, Integers
from edgelaw.curves import VANISHED, LearningCurve

FEWEST = 20  # eigenvalues of a sample that can stand for a spectrum
LARGEST_ERROR = 0.02  # a curve whose two resolutions differ by more is not returned
_UNSURE, _DISTRUSTED = 1e-7, 1e-4  # losses below are continued where two resolutions differ by so much


def recorded(epochs: ArrayLike) -> Integers:
    """The epochs to return: all up to a given one, or the given ones; 0 included."""
    numbers = arguments.counts(epochs, "epochs")
    return np.arange(int(numbers) + 1) if numbers.ndim == 0 else np.union1d(numbers, 0)


def sample(
    eigenvalues: ArrayLike, weights: ArrayLike | None = None, smallest: float = 1e-13
) -> tuple[Array, Array]:
    """The different eigenvalues of a sample over their mean, and their shares; too few are refused."""
    values, shares = arguments.spectrum(eigenvalues, weights, smallest=smallest)
    if weights is None and np.size(eigenvalues) < FEWEST:
        raise ValueError(
            f"eigenvalues must be at least {FEWEST} to stand for a spectrum, not {np.size(eigenvalues)}; a "
            "quadrature of a continuous law comes with weights."
        )
    return values, shares


def positive(values: Array, shares: Array) -> tuple[Array, Array, float]:
    """The positive eigenvalues of a spectrum, their shares, and the share of zeros."""
    moving = values > 0
    return values[moving], shares[moving], float(shares[~moving].sum())


def covariance(eigenvalues: ArrayLike, smallest: float = 1e-13) -> tuple[Array, Array, float]:
    """The positive eigenvalues of a covariance, mean 1, their shares, and the share of zeros: what no row has."""
    values, shares, null = positive(
        *arguments.spectrum(eigenvalues, name="covariance_eigenvalues", smallest=smallest)
    )
    return values * (1 - null), shares / (1 - null), null


def edge_averages(covariance_eigenvalues: ArrayLike, *functions: Callable[[Array], Array]) -> list[float]:
    """Means of functions over a covariance's eigenvalues, mean 1, which must all be positive for an edge at zero."""
    values, shares, null = covariance(covariance_eigenvalues)
    if null:
        raise ValueError(
            "covariance_eigenvalues must be positive: a null direction keeps its share of the test loss."
        )
    return [float(shares @ function(values)) for function in functions]


def supporting_epochs(n: Integers) -> Integers:
    """The positive epochs to compute for those to return: all up to 256, then each and the one before."""
    last = int(n[-1])
    return np.unique(np.concatenate([np.arange(1, min(last, 256) + 1), n[n > 1] - 1, n[n > 0]]))


def without_lone_zero(values: Array, shares: Array, rho: float) -> tuple[float, float]:
    """ρ as if there were a row less where the Gram matrix of fewer rows than dimensions has a lone null eigenvalue.

    And the share of the rows that this takes away, 0 if nothing is changed. Centring makes such an eigenvalue, and it
    leaves no room for a contour between it and the others.
    """
    missing = 1 - shares[values > 0].sum() / rho
    if rho >= 1 or not 1e-9 < missing < 0.05:
        return rho, 0.0
    return rho * (1 - missing), float(missing)


def with_a_row_less(curve: LearningCurve, missing: float) -> LearningCurve:
    """A curve computed without a share of the rows, with the error that this may have made.

    An epoch is shorter by that share, which changes the logarithm of a loss by its slope times it. The spectrum changes
    too: in the cases tried both together were up to 2.2 times as much, so that three times are stated.
    """
    n = curve.epochs[1:]
    steepest = 0.0
    for loss in (curve.test[1:], curve.train[1:]):
        seen = loss > VANISHED
        if seen.sum() > 1:
            steepest = max(steepest, np.abs(np.gradient(np.log(loss[seen]), np.log(n[seen]))).max())
    changed = float(np.expm1(3 * missing * (1 + steepest)))
    return dataclasses.replace(curve, error=curve.error + changed)


def orthogonal(n: Integers, step: float) -> LearningCurve:
    """The curve of orthogonal rows, m = d, in any order: every coordinate is visited once per epoch."""
    losses: Array = np.power(1.0 - step, 2.0 * n)
    return learning_curve(n, losses, losses.copy(), 0.0)


def vouched(
    n: Integers, computed: Integers, fine: Array, coarse: Array, plateau: float, floor: float
) -> LearningCurve:
    """The learning curve at n of a computation at two resolutions, each (test, train) after the `computed` epochs.

    The error is three times the largest relative difference of the two, or the `floor`. From where they differ by
    more than 2 % the curve goes on by its last rate, provided that a loss without its plateau is below 1e-7 there
    (and then, if possible, from where it differs by more than 1e-4); otherwise it is refused.
    """
    level = np.array([[plateau], [0.0]])
    with np.errstate(all="ignore"):
        difference = np.abs(coarse / fine - 1)
        good = (difference < LARGEST_ERROR) & (fine > level)
        good |= (np.abs(fine - level) < 1e-280) | (np.abs(fine - level) < 1e-14 * level)
        gone = np.maximum(np.abs(fine[:, 0]), np.abs(coarse[:, 0])) < VANISHED  # after one epoch
    good[:, 0] |= gone
    difference[gone, 0] = 0.0
    vouched_for = [int(np.argmin(row)) if not row.all() else len(row) for row in good]
    for k, (row, above) in enumerate(zip(fine, level[:, 0], strict=True)):
        vouched_for[k] = last = _trusted(row - above, difference[k], vouched_for[k])
        if last < len(row) and not (last > 0 and row[last - 1] - above < _UNSURE):
            worst = difference[:, last].max()
            what = f"Two resolutions differ by a relative {worst:.0e}"
            if worst < LARGEST_ERROR:
                what = "A loss does not come out above its plateau"
            raise ArithmeticError(
                f"{what} at epoch {computed[last]}, so this curve is not returned: ask for fewer epochs or a step "
                "further from 2."
            )
    curves = [
        above + _continued(computed, row - above, last, n)
        for row, last, above in zip(fine, vouched_for, level[:, 0], strict=True)
    ]
    shown = [difference[i, : vouched_for[i]][fine[i, : vouched_for[i]] > 1e-250] for i in (0, 1)]
    error = max(floor, 3 * max(part.max(initial=0.0) for part in shown))
    curve = learning_curve(n, curves[0], curves[1], error)
    continued = min(vouched_for)
    if continued == len(computed) or computed[continued] > n[-1]:
        return curve
    return dataclasses.replace(curve, continued=int(computed[continued - 1]))


def _trusted(losses: Array, difference: Array, count: int) -> int:
    """How many of the first `count` losses to keep where the others are not vouched for: not the small and doubtful."""
    if count == len(losses) or count == 0:
        return count
    vanished = losses[count - 1] < VANISHED
    sure = (losses >= (VANISHED if vanished else _UNSURE)) | (difference < _DISTRUSTED)
    fewer = min(count, len(sure) if sure.all() else int(np.argmin(sure)))
    if vanished:  # the last one kept is the first that has
        return max(fewer, int(np.argmax(losses < VANISHED)) + 1)
    return fewer if fewer > 0 and losses[fewer - 1] < _UNSURE else count


def _continued(computed: Integers, losses: Array, count: int, n: Integers) -> Array:
    """The first `count` losses at n, with 1 at n = 0, and beyond them what their last ratio makes of them."""
    values = np.ones(len(n))
    known = (n > 0) & (n <= computed[count - 1]) if count else np.zeros(len(n), dtype=bool)
    values[known] = losses[np.searchsorted(computed, n[known])]
    beyond = (n > 0) & ~known
    if beyond.any():
        before, last = losses[count - 2] if count > 1 else 1.0, losses[count - 1]
        gone = computed[count - 1] - (computed[count - 2] if count > 1 else 0)
        rate = np.log(last / before) / gone if last > 0 and before > 0 else -np.inf
        values[beyond] = (
            last * np.exp(min(rate, 0.0) * (n[beyond] - computed[count - 1])) if last > 0 else 0.0
        )
    return values


def learning_curve(n: Integers, test: Array, train: Array, error: float) -> LearningCurve:
    """A computed curve: it starts at 1, what is below 1e-300 is 0, and there are no standard errors."""
    test[0] = train[0] = 1.0
    test[np.abs(test) < 1e-300] = train[np.abs(train) < 1e-300] = 0.0
    nothing_drawn = np.full(len(n), np.nan)
    return LearningCurve(n, test, train, nothing_drawn, nothing_drawn.copy(), error=float(error))


def gauss_rule(positions, masses, size):
    """Nodes and weights of the Gauss rule of a discrete measure, by Lanczos with full orthogonalisation."""
    basis = np.empty((size, len(positions)))
    diagonal, off = np.empty(size), np.empty(size - 1)
    basis[0] = np.sqrt(masses / masses.sum())
    for k in range(size):
        image = positions * basis[k]
        diagonal[k] = basis[k] @ image
        for _ in range(2):
            image -= basis[: k + 1].T @ (basis[: k + 1] @ image)
        if k < size - 1:
            off[k] = np.linalg.norm(image)
            basis[k + 1] = image / off[k]
    roots, vectors = scipy.linalg.eigh_tridiagonal(diagonal, off)
    return roots, vectors[0] ** 2 * masses.sum()
