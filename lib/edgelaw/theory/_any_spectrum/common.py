"""What the learning curves of all orders on an arbitrary spectrum share: what goes in, and what may come out."""

from collections.abc import Callable

import numpy as np

from edgelaw._common import arguments
from edgelaw._common.types import Array, ArrayLike, Integers
from edgelaw.curves import LearningCurve
from edgelaw.theory import levy

FEWEST = 20  # eigenvalues of a sample that can stand for a spectrum
MOST_NODES = 40  # beyond this the average is made less accurate, down to 1e-5, before it is made larger
LARGEST_ERROR = 1e-3


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


def sample_averages(values: Array, shares: Array, reach: float, rho: float = 1.0) -> list[levy.Average]:
    """The average over a sample at two resolutions: as accurate as few nodes allow, and ten times less."""
    averages: list[levy.Average] = []
    for tolerance in (1e-9, 1e-8, 1e-7, 1e-6, 1e-5):
        try:
            averages = [levy.from_sample(values, shares, reach, t, rho) for t in (tolerance, 10 * tolerance)]
        except ArithmeticError:
            if tolerance == 1e-5 and not averages:
                raise
            continue
        if len(averages[0].nodes) <= MOST_NODES:
            break
    return averages


def vouched(n: Integers, fine: Array, coarse: Array) -> LearningCurve:
    """The learning curve of a computation at two resolutions, each (test, train) after n[1:]; or a refusal."""
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.abs(coarse / fine - 1)
    error = np.where(np.abs(fine) < 1e-250, 0.0, error).max(initial=0.0)
    if not error < LARGEST_ERROR:
        worst = n[1:][np.argmax(np.abs(coarse / fine - 1).max(axis=0))]
        raise ArithmeticError(
            f"Two resolutions differ by a relative {error:.0e} at epoch {worst}, so this curve is not returned: ask "
            "for fewer epochs or a step further from 2."
        )
    test, train = np.concatenate([np.ones((2, 1)), fine], axis=1)
    return learning_curve(n, test, train, float(error))


def learning_curve(n: Integers, test: Array, train: Array, error: float) -> LearningCurve:
    """A computed curve: it starts at 1, what is below 1e-300 is 0, and there are no standard errors."""
    test[0] = train[0] = 1.0
    test[np.abs(test) < 1e-300] = train[np.abs(train) < 1e-300] = 0.0
    nothing_drawn = np.full(len(n), np.nan)
    return LearningCurve(n, test, train, nothing_drawn, nothing_drawn.copy(), error=float(error))
