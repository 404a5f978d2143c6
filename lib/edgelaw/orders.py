"""The four sample orders as index streams; nothing else knows how an order is made.

An epoch is a list of m row indices. The orders are those of the paper's definition "Shuffling Methods":

- ``iid``: every index drawn uniformly from the m rows, or with given probabilities, independently;
- ``random_reshuffle``: a new uniform permutation every epoch;
- ``single_shuffle``: one uniform permutation, used in every epoch;
- ``flip_flop``: one uniform permutation, forwards in odd epochs (the 1st, 3rd, ...) and backwards in even ones.

An epoch of the first two spends exactly m random doubles (an index is ⌊m·uniform⌋ or its place in the
cumulative probabilities; a permutation is the ranking of m uniforms), and the generator can jump. Hence any
epoch can be asked for on its own, in any sequence, and many at once: a stream is a pure function of its
seed.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from edgelaw._common import arguments
from edgelaw._common.types import Array, ArrayLike, Integers, Rng

ORDERS = ("iid", "random_reshuffle", "single_shuffle", "flip_flop")


def stream(order: str, rows: int, rng: Rng, probabilities: ArrayLike | None = None) -> Stream:
    """The index stream of a sample order.

    Parameters
    ----------
    order : str
        One of `ORDERS`.
    rows : int
        Number of rows m; an epoch is m indices between 0 and m − 1.
    rng : int or numpy.random.Generator
        A seed, or a generator, from which one draw of 128 bits seeds the stream.
    probabilities : array of length rows, optional
        For ``iid`` only: how probable each row is; uniform if absent. The paper's footnote on importance
        sampling is p ∝ ‖x_i‖².

    Returns
    -------
    Stream
        Iterating over it yields epoch after epoch, without end.

    Examples
    --------
    >>> flip_flop = iter(stream("flip_flop", 4, rng=1))
    >>> first, second, third = next(flip_flop), next(flip_flop), next(flip_flop)
    >>> bool((second == first[::-1]).all()), bool((third == first).all())
    (True, True)
    >>> stream("random_reshuffle", 3, rng=0).epochs(0, 5).sum(axis=1).tolist()
    [3, 3, 3, 3, 3]
    """
    return Stream(order, rows, rng, probabilities)


class Stream:
    """A sample order as a sequence of epochs, each an array of m row indices; made by `stream`.

    Attributes
    ----------
    order, rows
        As given.
    permutation : ndarray of int or None
        The one permutation of an order that repeats itself; None for an order that draws every epoch anew.
    """

    def __init__(self, order: str, rows: int, rng: Rng, probabilities: ArrayLike | None = None) -> None:
        self.order = arguments.choice(order, "order", ORDERS)
        self.rows = arguments.whole(rows, "rows", 1)
        words = arguments.generator(rng).integers(2**32, size=4, dtype=np.uint32)
        self._seed = np.random.SeedSequence(words.tolist())
        self._cumulative = _cumulative(probabilities, self.order, self.rows)
        self.permutation: Integers | None = None
        if order in ("single_shuffle", "flip_flop"):
            self.permutation = self._uniforms(0, 1)[0].argsort()
            self.permutation.flags.writeable = False

    def backwards(self, epoch: int) -> bool:
        """Whether epoch number `epoch` (the first is 0) goes through `permutation` from its end."""
        return self.order == "flip_flop" and epoch % 2 == 1

    def epoch(self, number: int) -> Integers:
        """The row indices of epoch `number`, counted from 0, in visiting order."""
        return self.epochs(number, 1)[0]

    def epochs(self, start: int, count: int) -> Integers:
        """The indices of `count` epochs from number `start` on (the first is 0), an array (count, rows)."""
        start, count = arguments.whole(start, "start", 0), arguments.whole(count, "count", 0)
        if self.permutation is not None:
            indices = np.tile(self.permutation, (count, 1))
            if self.order == "flip_flop":
                indices[(start + 1) % 2 :: 2] = self.permutation[::-1]
            return indices
        uniforms = self._uniforms(start, count)
        if self.order == "random_reshuffle":
            return uniforms.argsort(axis=1)
        if self._cumulative is None:
            return (uniforms * self.rows).astype(np.intp)
        return self._cumulative.searchsorted(uniforms, side="right")

    def __iter__(self) -> Iterator[Integers]:
        return map(self.epoch, itertools.count())

    def _uniforms(self, start: int, count: int) -> Array:
        """The random doubles of `count` epochs from number `start` on."""
        bits = np.random.PCG64(self._seed)
        bits.advance(start * self.rows)
        return np.random.Generator(bits).random((count, self.rows))


def _cumulative(probabilities: ArrayLike | None, order: str, rows: int) -> Array | None:
    """The cumulative distribution of given row probabilities, ending in exactly 1; None if none are given."""
    if probabilities is None:
        return None
    if order != "iid":
        raise ValueError(f"probabilities apply to the order 'iid' only, not to {order!r}.")
    p = arguments.real_array(probabilities, "probabilities", 1).astype(np.float64)
    if p.shape != (rows,):
        raise ValueError(f"probabilities must have one entry for each of the {rows} rows, not {p.size}.")
    if p.min() < 0 or abs(p.sum() - 1) > 1e-6:
        raise ValueError("probabilities must be non-negative and sum to 1.")
    cumulative = p.cumsum()
    return cumulative / cumulative[-1]
