r"""Repeated rows on orthogonal axes with noisy targets: the problem of many published bounds, solved exactly.

Row i is one of the coordinate vectors; axis j is visited by :math:`m_j` rows, whose targets have mean zero and mean
square :math:`\sigma^2`. So :math:`w_* = 0`, the Hessian of the mean loss has the eigenvalues :math:`m_j/m`, and axes
do not interact: an epoch of an order without replacement is :math:`e \mapsto qe + b` on each axis, with :math:`q =
(1-\eta)^{m_j}`, :math:`b = \eta\sum_i c_ir_i`, :math:`c_i = (1-\eta)^{m_j-i}`, for a random order :math:`\mathbb E\,b
= 0` and :math:`\mathbb E\,b^2 = \eta^2\sigma^2\,\frac{m_j}{m_j-1}\sum_i(c_i-\bar c)^2`. Everything below follows by
summing geometric series. *Proved* (prop-lit-floors).
"""

import numpy as np

from edgelaw._common import arguments
from edgelaw._common.types import Array, ArrayLike
from edgelaw.orders import ORDERS

#: The book's four orders, and the order that is worst here: all positive targets before all negative ones.
ALL_ORDERS = (*ORDERS, "sorted")
_GRID = 400  # steps tried between 1e-7 and 1; the minimum is then refined


def curve(
    counts: ArrayLike,
    epochs: ArrayLike,
    step: float = 1.0,
    order: str = "iid",
    start: float = 1.0,
    noise: float = 1.0,
) -> Array:
    """Mean squared error of every axis after n epochs, exactly: of the shape of `epochs` followed by that of `counts`.

    `counts` are even numbers of rows per axis, half of each sign; ``"sorted"`` visits all positive targets of an axis
    first, in every epoch. Flip-flop is solved at even epochs. `start` and `noise` are the squared error at the start,
    of either sign with equal probability, and σ². The excess training loss is ``curve(...) @ counts / sum(counts)``.

    Two rows with targets ±1, step ½, one epoch from 0: the error is ±¼ whichever comes first.

    >>> curve([2], 1, step=0.5, order="random_reshuffle", start=0.0)
    array([0.0625])
    """
    order = arguments.choice(order, "order", ALL_ORDERS)
    rows, n = arguments.counts(counts, "counts"), arguments.counts(epochs, "epochs")[..., None]
    if (rows < 2).any() or (rows % 2).any():
        raise ValueError("counts must be even and at least 2: half of an axis's targets have each sign.")
    if order == "flip_flop" and (n % 2).any():
        raise ValueError("flip-flop is solved at the ends of even epochs only: epochs must be even.")
    eta, start, noise = arguments.step(step), float(start), float(noise)
    if order == "iid":
        share = rows / rows.sum()
        keep = (1 - share * eta * (2 - eta)) ** (rows.sum() * n)
        return start * keep + noise * eta / (2 - eta) * (1 - keep)
    q = (1 - eta) ** rows.astype(float)
    kick = noise * np.array([_kick(int(m), eta, order) for m in rows])
    if order == "random_reshuffle":
        return start * q ** (2 * n) + kick * _geometric(q**2, n)
    cycle = q**2 if order == "flip_flop" else q
    length = n // 2 if order == "flip_flop" else n
    return start * q ** (2 * n) + kick * _geometric(cycle, length) ** 2


def floor(count: int, step: float = 1.0, order: str = "iid") -> float:
    r"""Where the mean squared error of one axis ends, over σ².

    IID ends at :math:`\eta/(2-\eta)`; random reshuffle at :math:`\mathbb Eb^2/(1-q^2)`; single shuffle and a sorted
    order at :math:`\mathbb Eb^2/(1-q)^2`; flip-flop at :math:`\mathbb E(qb+b')^2/(1-q^2)^2`, b' of the way back.

    >>> [round(floor(2, 0.5, order), 4) for order in ALL_ORDERS]
    [0.3333, 0.0667, 0.1111, 0.04, 0.1111]
    """
    order = arguments.choice(order, "order", ALL_ORDERS)
    m, eta = arguments.whole(count, "count", 2), arguments.step(step)
    if m % 2:
        raise ValueError(f"count must be even, half of the targets of each sign, not {m}.")
    if order == "iid":
        return eta / (2 - eta)
    q = (1 - eta) ** m
    ends = {"random_reshuffle": 1 - q**2, "flip_flop": (1 - q**2) ** 2}
    return _kick(m, eta, order) / ends.get(order, (1 - q) ** 2)


def best_step(
    counts: ArrayLike, epochs: int, order: str = "iid", start: float = 1.0, noise: float = 1.0
) -> tuple[float, float]:
    """The constant step in (0, 1] with the smallest excess training loss after n epochs, and that loss.

    Without noise the largest step is the best one:

    >>> best_step([4], 2, "random_reshuffle", noise=0.0)
    (1.0, 0.0)
    """
    rows = arguments.counts(counts, "counts")

    def loss(step):
        return float(curve(rows, epochs, step, order, start, noise) @ rows) / float(rows.sum())

    grid = np.geomspace(1e-7, 1, _GRID)
    for _ in range(3):
        place = int(np.argmin([loss(step) for step in grid]))
        grid = np.geomspace(grid[max(place - 1, 0)], grid[min(place + 1, len(grid) - 1)], 40)
    best = min(grid, key=loss)
    return float(grid[0] if place == 0 else best), loss(best)


def scheduled(count: int, steps: ArrayLike, order: str = "iid", last: int = 1) -> float:
    r"""Mean squared error of one axis over σ², from 0, after epochs with these steps: of the mean of the last ends.

    The mean over the ends of the `last` epochs is :math:`\sum_j V_jb_j` with :math:`V_j` what it keeps of epoch j.

    >>> [round(scheduled(2, [0.5] * 40, "random_reshuffle", last), 4) for last in (1, 20)]
    [0.0667, 0.0054]
    """
    order = arguments.choice(order, "order", ("iid", "random_reshuffle", "single_shuffle"))
    m, etas = arguments.whole(count, "count", 2), arguments.real_array(steps, "steps", 1)
    kept, square, total = 0.0, 0.0, np.zeros(m)
    for after, eta in enumerate(etas[::-1]):
        arguments.step(eta, "every step")
        kept += 1 / last if after < last else 0
        q, weights = (1 - eta) ** m, eta * (1 - eta) ** np.arange(m)[::-1]
        square += kept**2 * (eta / (2 - eta) * (1 - q**2) if order == "iid" else _spread(weights))
        total += kept * weights
        kept *= q
    return float(_spread(total) if order == "single_shuffle" else square)


def _spread(weights: Array) -> float:
    """E (Σ c_i r_i)² over σ², over random orders of residuals that add up to zero."""
    centred = weights - weights.mean()
    return float(len(weights) / (len(weights) - 1) * (centred @ centred))


def _kick(m: int, eta: float, order: str) -> float:
    """E b² over σ² of an epoch (flip-flop: of two), on an axis with m rows."""
    back = (1 - eta) ** np.arange(m, dtype=float)  # weights of the rows, the last visited first
    weights = back[::-1]
    if order == "sorted":
        signs = np.repeat([1.0, -1.0], m // 2)
        return float(eta**2 * (weights @ signs) ** 2)
    if order == "flip_flop":
        weights = (1 - eta) ** m * weights + back
    return eta**2 * _spread(weights)


def _geometric(ratio: Array, terms: ArrayLike) -> Array:
    """1 + ratio + … of so many terms, also where the ratio is 1 or close to it."""
    near = 1 - ratio < 1e-12
    safe = np.where(near, 0.5, ratio)
    return np.where(near, terms, (1 - safe**terms) / (1 - safe))
