"""Are the rows of the kind that the theory assumes? Two orders, run from all starts, against their exact curves."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.linalg
import scipy.special

from edgelaw import kaczmarz, spectrum
from edgelaw._common import threads
from edgelaw._common.types import Array, Integers
from edgelaw_app import files
from edgelaw_app.forecast import ranking
from edgelaw_app.forecast.exact_curves import exact_curve
from edgelaw_app.forecast.results import Check
from edgelaw_app.forecast.spectral import Spectral, random_part

WATCHED = ("single_shuffle", "flip_flop")  # the powers of one matrix per shuffle give both, at any epoch
LAST = 64  # no later epoch is watched
# Up to SIDE rows, or dimensions, all of them are taken; else so many rows in so many random directions at most.
SIDE, MOST_ROWS, MOST_DIMS = 640, 2048, 512
TALLEST = 4  # rows per dimension: of more, hardly anything is left after an epoch
OPERATIONS = 2e10  # multiply-adds that decide how many shuffles there are, where as many are allowed
PRODUCT = 0.2  # time of a multiply-add in a product of matrices in single precision over that of one of SGD
FEWEST, MOST = 6, 64  # shuffles
CONFIDENCE = 0.995  # one-sided
SMALLEST = 1e-7  # of its start: a smaller loss is not compared
PRECISE = 1e-3  # of its start: a smaller loss varies much from run to run, and is not doubted
USELESS = 0.5  # a standard error above this part of what is promised decides nothing
TWINS = 16  # random rows with the same eigenvalues, that rows which differ are set beside
UNKNOWN = " These rows are too few, or not of the kind theory assumes (repeated, sparse or heavy-tailed rows are not)."
NOT_RUN = Check("not run", "No run was made to compare with, because it would take too long.")


class Compared(NamedTuple):
    """What was measured and predicted over its start: arrays (orders, losses, epochs), NaN where that is nothing."""

    measured: Array
    error: Array  # standard error of what was measured
    predicted: Array
    promised: Sequence[float]  # how far theory may be off in each of the losses, relatively
    sigmas: float  # how many standard errors are beyond chance
    orders: Sequence[str]
    losses: Sequence[str]
    epochs: Array | Integers


def judged(compared: Compared, ran: str, why: str = UNKNOWN) -> Check:
    """The verdict on what SGD "run so" has done, in numbers of the worst place and in words, with why it differs.

    - **differs** if a loss is further off than promised by more than `sigmas` of its standard errors;
    - **agrees** if each is within what is promised and its standard error within half of that;
    - **undecided** otherwise.
    """
    predicted, promised = compared.predicted, np.array(compared.promised)[:, None]
    if not np.isfinite(compared.measured[np.isfinite(predicted)]).all():
        return Check(
            "differs",
            "SGD, run at the lr of theory, diverges, so the losses here come from runs at smaller ones.",
        )
    excess, error = compared.measured / predicted - 1, compared.error / predicted
    certain = (np.abs(excess) - compared.sigmas * error) / promised
    possible = np.maximum(np.abs(excess), error / USELESS) / promised
    possible = np.where(predicted > PRECISE, possible, 0.0)
    verdict, doubt = "differs", certain
    if not np.nanmax(certain) > 1:
        verdict, doubt = "agrees" if np.nanmax(possible) <= 1 else "undecided", possible
    at = np.unravel_index(np.nanargmax(doubt), excess.shape)
    order, loss, epoch = (
        names[int(k)]
        for names, k in zip((compared.orders, compared.losses, compared.epochs), at, strict=True)
    )
    where = f"the {loss} of {ranking.NAMES[order]} after {epoch:.0f} epoch{'s' if epoch != 1 else ''}"
    off = f"{100 * excess[at]:+.1f} ± {100 * error[at]:.1f} %"
    said = {
        "agrees": f"agrees with theory: the largest gap is {off}, {where}.",
        "differs": f"differs from theory: {where} is {off} off.{why}",
        "undecided": f"neither confirms theory nor contradicts it: {where} is {off} off.",
    }
    return Check(verdict, f"SGD, run {ran}, {said[verdict]}", float(excess[at]), float(error[at]))


@threads.one_blas_thread()
def diagnose(
    design: files.Design,
    rng: np.random.Generator,
    epochs: int = 50,
    step: float = 1.0,
    operations: float = np.inf,
    shuffles: int | None = None,
) -> tuple[Check, float]:
    """Single shuffle and flip-flop, run from all starts at epochs 1, 2, 4, ... of the budget; and what that cost.

    Shuffles are between 6 and 64 unless given, as many as 2e10 multiply-adds allow; none are run if that costs more
    than `operations`. Where SGD differs, the text says :func:`why`. How often the verdict is right was **measured**
    (`edgelaw.data.sweep("diagnostic_rates")`) on 104 designs; it misses what a projection to 512 directions hides,
    such as sparse rows.
    """
    X, subset = _part(design, rng)
    watched = 2 ** np.arange(int(np.log2(min(epochs, LAST))) + 1)
    values = design.gram_eigenvalues() if X.shape == design.shape else spectrum.gram_eigenvalues(X)
    try:
        predicted, watched = _predicted(np.maximum(values, 0), watched, step, len(X) / X.shape[1])
    except ArithmeticError:
        return Check("undecided", "Theory refuses this spectrum."), 0.0
    rows, rank = X.shape[0], min(X.shape)
    cost = 4.0 * rows * rank**2 + 4.0 * (len(watched) - 1) * rank**3  # multiply-adds of a shuffle
    if shuffles is None:
        shuffles = int(min(OPERATIONS / cost, MOST))
        shuffles = int(min(max(shuffles, FEWEST), operations / (PRODUCT * cost)))
    if shuffles < FEWEST:
        return NOT_RUN, 0.0
    losses = _measured(X, watched, step, rng, shuffles)
    error = losses.std(axis=0, ddof=1) / np.sqrt(shuffles)
    sigmas = float(scipy.special.stdtrit(shuffles - 1, CONFIDENCE))
    names = WATCHED, Spectral.losses, watched
    compared = Compared(losses.mean(axis=0), error, predicted, Spectral.promised, sigmas, *names)
    ran, spent = f"{shuffles} times on {subset}", shuffles * PRODUCT * cost
    check, looking = judged(compared, ran), PRODUCT * TWINS * 4.0 * min(rows, spectrum.LOOKED_AT) ** 3
    if check.verdict != "differs" or spent + looking > operations:
        return check, spent
    return judged(compared, ran, why(spectrum.general_position(X, rng, TWINS))), spent + looking


def why(position: spectrum.Position) -> str:
    """Which half of the condition under which eigenvalues are enough rows do not meet, in a sentence."""
    said = {
        "uneven": "rows are not spread evenly (sums of squared cosines spread by {:.2f} of their mean, not {:.2f})",
        "parallel": "rows come nearly parallel (the nearest has a cosine of {:.2f} in the mean, not {:.2f})",
    }
    seen = dict(zip(said, zip(position[:2], position.usual, strict=True), strict=True))
    if not position.failed:
        return (
            " These rows may be too few: random ones with the same eigenvalues are as uneven, "
            "and as near each other."
        )
    found = " and ".join(said[half].format(*seen[half]) for half in position.failed)
    return f" Theory asks for rows like random ones with the same eigenvalues, but {found}."


def _part(design: files.Design, rng: np.random.Generator) -> tuple[Array, str]:
    """The rows to run on, of equal norm, and what they are in words."""
    m, d = design.shape
    if d <= SIDE or m <= SIDE:
        rows, dims = min(m, MOST_ROWS, TALLEST * d), d
    else:
        dims = MOST_DIMS if m >= d else d
        rows = min(TALLEST * dims, round(m / d * dims)) if m >= d else SIDE
    X = random_part(design, rows, dims, rng)
    if (rows, dims) == (m, d):
        return X, f"all {m} rows in {d} dimensions"
    directions = f"all {d} dimensions" if dims == d else f"{dims} random directions of {d}"
    return X, f"{rows} random rows of {m}, in {directions}"


def _predicted(values: Array, epochs: Integers, step: float, rho: float) -> tuple[Array, Integers]:
    """Exact losses (orders, losses, epochs) where they are compared, and when; ArithmeticError without any."""
    losses = np.full((len(WATCHED), 2, len(epochs)), np.nan)
    for k, order in enumerate(WATCHED):
        try:
            curve = exact_curve(order, values, epochs, step, rho)
        except ArithmeticError:
            if k == 0:
                raise
            continue
        losses[k] = curve.test[1:], curve.train[1:]
    losses[..., 1:][losses[..., 1:] < SMALLEST] = np.nan
    seen = np.isfinite(losses).any(axis=(0, 1))
    return losses[..., seen], epochs[seen]


def _measured(X: Array, epochs: Integers, step: float, rng: np.random.Generator, shuffles: int) -> Array:
    """Losses (shuffles, orders, losses, epochs), in the mean over all starts."""
    U, heights = _rotated(X)
    (m, r), d, squarings = U.shape, X.shape[1], len(epochs) - 1
    losses = np.empty((shuffles, len(WATCHED), 2, len(epochs)))

    def of_map(P: Array) -> tuple[float, float]:
        squares = np.einsum("ij,ij->i", P, P, dtype=np.float64)
        return (squares.sum() + d - r) / d, heights @ squares

    for run in losses:
        A = kaczmarz.epoch_matrix(U[rng.permutation(m)], min(step, 1.999))
        single, flipped = A, A.T @ A
        run[:, :, 0] = of_map(A)
        for n in range(1, len(epochs)):
            single = single @ single
            run[0, :, n], run[1, :, n] = of_map(single), of_map(flipped)
            if n < squarings:
                flipped = flipped.T @ flipped  # symmetric: half a product is computed
    return losses


def _rotated(X: Array) -> tuple[Array, Array]:
    """Unit rows in the directions of their Gram matrix that they have, in float32, and their mean squares there."""
    m, d = X.shape
    X = X / np.sqrt(d)
    if m < d:
        values, vectors = scipy.linalg.eigh(X @ X.T)
        U = vectors * np.sqrt(np.maximum(values, 0))
    else:
        U = X @ scipy.linalg.eigh(X.T @ X)[1]
    return U.astype(np.float32), (U**2).mean(axis=0)
