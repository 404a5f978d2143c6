"""The sample orders as index streams, the four of the paper and two of data loaders; every order is made here.

An epoch is a list of m row indices. The orders of the paper's definition "Shuffling Methods":

- ``iid``: every index drawn uniformly from the m rows, or with given probabilities, independently;
- ``random_reshuffle``: a new uniform permutation every epoch;
- ``single_shuffle``: one uniform permutation, used in every epoch;
- ``flip_flop``: one uniform permutation, forwards in odd epochs (the 1st, 3rd, ...) and backwards in even ones.

Loaders that read a file from its beginning have the orders `ShuffleBuffer` and `BlockShuffle`. A stream is a pure
function of its seed: an epoch spends a fixed number of random doubles, so that any can be asked for on its own.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np

from edgelaw._common import arguments
from edgelaw._common.types import Array, ArrayLike, Integers, Rng

ORDERS = ("iid", "random_reshuffle", "single_shuffle", "flip_flop")


class FromFile:
    """What the orders of loaders share: a size in rows, shards read in random order, epochs drawn anew or repeated."""

    shard: int | None
    reshuffle: bool
    together: int

    def __post_init__(self) -> None:
        """Make the numbers of rows plain integers, since an order is compared by how it is written."""
        size = fields(self)[0].name  # type: ignore[arg-type]
        object.__setattr__(self, size, arguments.whole(getattr(self, size), size, 1))
        if self.shard is not None:
            object.__setattr__(self, "shard", arguments.whole(self.shard, "shard", 1))
        object.__setattr__(self, "together", arguments.whole(self.together, "together", 1))
        if self.shard is None and self.together > 1:
            raise ValueError(
                "together says how many shards are read at once; give shard, the rows of each, too."
            )

    def shards(self, rows: int) -> int:
        """How many shards are shuffled; none where the file is one."""
        return 0 if self.shard is None else -(-rows // self.shard)

    def arrange(self, uniforms: Array, rows: int) -> Integers:
        """The epochs (count, rows) that uniform numbers (count, shards + rows) make: first the shards are ranked."""
        shards = self.shards(rows)
        places = self.places(uniforms[:, shards:], rows)
        if self.shard is None:
            return places
        shard, inside = np.divmod(np.arange(rows), self.shard)
        rank = uniforms[:, :shards].argsort(axis=1).argsort(axis=1)[:, shard]
        group, turn = np.divmod(rank, self.together)  # a row from each shard of a group in turn
        file = ((group * self.shard + inside) * self.together + turn).argsort(axis=1)
        return np.take_along_axis(file, places, axis=1)

    def places(self, uniforms: Array, rows: int) -> Integers:
        """In which order the rows leave, counted as they are read."""
        raise NotImplementedError


@dataclass(frozen=True)
class ShuffleBuffer(FromFile):
    """A shuffle buffer: the next row is drawn uniformly from a buffer, whose free place the file's next row takes.

    The buffer is filled before the first draw, and emptied in uniform order when the file has ended. A buffer of 1
    keeps the file's order, one of all rows makes uniform permutations.

    This is ``tf.data.Dataset.shuffle(buffer_size)``, and ``IterableDataset.shuffle(buffer_size)`` of Hugging Face
    datasets, with `shard` for a data set of several files. WebDataset's ``shuffle`` draws the same way once its buffer
    is full, but starts as soon as it holds ``initial`` rows.

    Parameters
    ----------
    buffer : int
        Rows in the buffer; more than the file has count as all of them.
    shard : int, optional
        Rows per shard. The shards are read in random order, each from its beginning; by default the file is one shard.
    reshuffle : bool
        Whether every epoch draws anew (``reshuffle_each_iteration`` of tf.data), or repeats the first one.
    together : int
        Shards that are read at once, a row from each in turn, before the next as many (``interleave`` of tf.data,
        several workers or input shards of streaming data sets).

    Examples
    --------
    >>> stream(ShuffleBuffer(1), 4, rng=0).epoch(0).tolist()
    [0, 1, 2, 3]
    """

    buffer: int
    shard: int | None = None
    reshuffle: bool = True
    together: int = 1

    def places(self, uniforms: Array, rows: int) -> Integers:
        """A draw finds what the draw before it of the same slot put there, or the slot's first row."""
        size = min(self.buffer, rows)
        steady = rows - size  # draws that are followed by a refill
        slots = (uniforms[:, :steady] * size).astype(np.intp)
        visits = slots.argsort(axis=1, kind="stable")
        slots = np.take_along_axis(slots, visits, axis=1)
        earlier = np.empty_like(visits)
        earlier[:, :1], earlier[:, 1:] = slots[:, :1], visits[:, :-1] + size
        np.copyto(earlier[:, 1:], slots[:, 1:], where=slots[:, 1:] != slots[:, :-1])
        places = np.empty((len(uniforms), rows), dtype=np.intp)
        np.put_along_axis(places[:, :steady], visits, earlier, axis=1)
        waiting = np.ones(places.shape, dtype=bool)
        np.put_along_axis(waiting, places[:, :steady], False, axis=1)
        remainder = waiting.nonzero()[1].reshape(-1, size)
        places[:, steady:] = np.take_along_axis(remainder, uniforms[:, steady:].argsort(axis=1), axis=1)
        return places


@dataclass(frozen=True)
class BlockShuffle(FromFile):
    """A block shuffle: the rows are shuffled inside consecutive blocks, after the shards have been shuffled as wholes.

    With `block` = 1 the shards are visited in random order and the rows inside keep the file's; with blocks that hold
    several shards it is the algorithm ``py1b`` of MosaicML's streaming data sets for one node. The last block may be
    shorter; `shard`, `reshuffle` and `together` are those of a `ShuffleBuffer`.

    Examples
    --------
    >>> stream(BlockShuffle(2), 6, rng=0).epoch(0).reshape(3, 2).sum(axis=1).tolist()
    [1, 5, 9]
    """

    block: int
    shard: int | None = None
    reshuffle: bool = True
    together: int = 1

    def places(self, uniforms: Array, rows: int) -> Integers:
        """The rows ranked by uniform numbers, each after all of the blocks before its own."""
        return (np.arange(rows) // self.block + uniforms).argsort(axis=1)


Order = str | ShuffleBuffer | BlockShuffle


def concordance(order: Order, rows: int) -> float:
    r"""How alike two epochs of an order are: Kendall's τ of their permutations, on average.

    It is 1 for single shuffle, 0 for random reshuffle. In a shuffle buffer of B rows, q = 1 − 1/B, a row that entered g
    draws before another has left by then with probability :math:`1 - q^g`; else either is as likely to leave first.
    Hence

    .. math:: \tau = \frac{2}{m(m-1)}\sum_{g=1}^{m-B} (m-g)\,(1-q^g)^2 .

    In a block shuffle two rows keep their sequence or draw it anew. *Proved* (prop-buffer-concordance).

    Not known for ``iid`` and ``flip_flop``, where not all pairs of epochs are alike; nor for a buffer with shards, or
    blocks of several rows of shards that they do not hold whole.

    Examples
    --------
    >>> concordance(ShuffleBuffer(2), 3), concordance("single_shuffle", 3)
    (0.16666666666666666, 1.0)
    """
    loader, m = stream(order, rows, 0)._loader, rows
    if order == "single_shuffle" or (loader and not loader.reshuffle) or m == 1:
        return 1.0
    if order == "random_reshuffle":
        return 0.0
    if isinstance(loader, ShuffleBuffer) and loader.shard is None:
        size = min(loader.buffer, m)
        gaps = np.arange(1, m - size + 1)
        agreed = -np.expm1(gaps * np.log1p(-1 / size)) if size > 1 else np.ones(len(gaps))
        return float((agreed**2 * (m - gaps)).sum() / (m * (m - 1) / 2))
    if isinstance(loader, BlockShuffle):
        if loader.shard is None:
            return 1 - _together(m, loader.block)
        if loader.block == 1:
            return _together(m, loader.shard)
        if loader.block % loader.shard == 0 and m % loader.shard == 0:
            return 0.0
    raise ValueError(
        "concordance is known for single shuffle, random reshuffle, a buffer without shards, and blocks without "
        f"shards, of one row or of whole shards, not for {order!r}."
    )


def _together(rows: int, size: int) -> float:
    """The share of all pairs of rows that lie in the same piece, the file being cut into pieces of so many rows."""
    pieces = np.diff(np.append(np.arange(0, rows, size), rows))
    return float((pieces * (pieces - 1)).sum() / (rows * (rows - 1)))


class Stream:
    """A sample order as an index stream: iterating over it yields epoch after epoch, each m row indices, without end.

    `order` is how the order is written, such as ``ShuffleBuffer(buffer=64, shard=None, reshuffle=True, together=1)``;
    `permutation` the one of an order that repeats itself, None for an order that draws every epoch anew.

    Parameters
    ----------
    order : str, ShuffleBuffer or BlockShuffle
        One of `ORDERS`, or an order with a parameter.
    rows : int
        Number of rows m; an epoch is m indices between 0 and m − 1.
    rng : int or numpy.random.Generator
        A seed, or a generator, from which one draw of 128 bits seeds the stream.
    probabilities : array of length rows, optional
        For ``iid`` only: how probable each row is (the paper's importance sampling has p ∝ ‖x_i‖²); uniform if absent.

    Examples
    --------
    >>> first, second, third = stream("flip_flop", 4, rng=1).epochs(0, 3)
    >>> bool((second == first[::-1]).all()), bool((third == first).all())
    (True, True)
    """

    def __init__(self, order: Order, rows: int, rng: Rng, probabilities: ArrayLike | None = None) -> None:
        self._loader = order if isinstance(order, FromFile) else None
        self.order = repr(order) if self._loader else arguments.choice(order, "order", ORDERS)
        self.rows = arguments.whole(rows, "rows", 1)
        shards = self._loader.shards(self.rows) if self._loader else 0
        self._draws = self.rows + shards  # doubles of one epoch
        words = arguments.generator(rng).integers(2**32, size=4, dtype=np.uint32)
        self._seed = np.random.SeedSequence(words.tolist())
        self._cumulative = _cumulative(probabilities, self.order, self.rows)
        self.permutation: Integers | None = None
        repeats = self.order in ("single_shuffle", "flip_flop")
        if repeats or (self._loader and not self._loader.reshuffle):
            self.permutation = self._drawn(0, 1)[0]
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
        return self._drawn(start, count)

    def __iter__(self) -> Iterator[Integers]:
        return map(self.epoch, itertools.count())

    def _drawn(self, start: int, count: int) -> Integers:
        """Epochs (count, rows) from the random doubles of `count` epochs from number `start` on."""
        bits = np.random.PCG64(self._seed)
        bits.advance(start * self._draws)
        uniforms = np.random.Generator(bits).random((count, self._draws))
        if self._loader:
            return self._loader.arrange(uniforms, self.rows)
        if self.order != "iid":
            return uniforms.argsort(axis=1)
        if self._cumulative is None:
            return (uniforms * self.rows).astype(np.intp)
        return self._cumulative.searchsorted(uniforms, side="right")


stream = Stream


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
