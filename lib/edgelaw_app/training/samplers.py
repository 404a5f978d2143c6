"""The sample orders as `torch.utils.data.Sampler`s, for a `DataLoader`.

    DataLoader(dataset, batch_size=32, sampler=SingleShuffle(dataset, seed=0))

takes the place of ``DataLoader(dataset, batch_size=32, shuffle=True)``, which is random reshuffle with torch's own
random numbers. `learning_rate` says which ``lr`` is the step η of this book.

The indices are those of `edgelaw.orders.stream`, epoch for epoch, so a model trained through a `DataLoader`
sees exactly the rows of the simulator and the theory.
"""

import sys
import warnings
from collections.abc import Iterator, Mapping, Sized
from typing import Any

from torch.utils.data import Sampler

from edgelaw import orders
from edgelaw._common import arguments
from edgelaw._common.types import ArrayLike
from edgelaw_app.learning_rate import learning_rate
from edgelaw_app.training import sharing

__all__ = [
    "IID",
    "FlipFlop",
    "OrderSampler",
    "RandomReshuffle",
    "SingleShuffle",
    "check_loader",
    "learning_rate",
]


class OrderSampler(Sampler[int]):
    """A sample order for a `DataLoader`, for one process or for one of several replicas.

    Iterating yields one epoch. An epoch that was iterated to its end is followed by the next one, with or
    without `set_epoch`; an epoch that was broken off starts again.

    With several replicas, replica r takes the places r, r + num_replicas, r + 2·num_replicas, ... of the
    global order: in lock step they see together exactly the indices of the one-process order, none left out
    and none twice, and their batches of size b make up consecutive global batches of size b·num_replicas.
    If the rows do not divide evenly, the first replicas have one index more.

    Lightning, accelerate and others put samplers of their own around this one, and some lose its order. It looks at who
    iterates it, and warns once, with the remedy, where they do; `check_loader` says it before the first epoch.

    Parameters
    ----------
    order : str, ShuffleBuffer or BlockShuffle
        One of `edgelaw.orders.ORDERS`, or an order of `edgelaw.orders` with a parameter.
    rows : int or sized
        The number of rows, or the dataset itself.
    seed : int
        The epochs are those of ``edgelaw.orders.stream(order, rows, seed, probabilities)``. All replicas
        need the same one.
    probabilities : array of length rows, optional
        Row probabilities, for ``iid`` only.
    num_replicas, rank : int
        How many replicas share the order, and which of them this is, from 0.

    Examples
    --------
    >>> sampler = OrderSampler("flip_flop", 3, seed=1)
    >>> first, second = list(sampler), list(sampler)
    >>> second == first[::-1]
    True
    """

    # Lightning reads it once its pull request 21449 is in: leave this order as it is.
    disable_auto_shuffle = True

    def __init__(
        self,
        order: orders.Order,
        rows: int | Sized,
        seed: int = 0,
        probabilities: ArrayLike | None = None,
        num_replicas: int = 1,
        rank: int = 0,
    ):
        count = len(rows) if isinstance(rows, Sized) else rows
        self._seed = arguments.whole(seed, "seed", 0)
        self._stream = orders.stream(order, count, self._seed, probabilities)
        replicas = arguments.whole(num_replicas, "num_replicas", 1)
        rank = arguments.whole(rank, "rank", 0)
        if rank >= replicas:
            raise ValueError(f"rank must be below num_replicas={replicas}, not {rank}.")
        self._share = sharing.Share(self._stream.order, self._stream.rows, replicas, rank)
        self._epoch, self._position, self._resume = 0, 0, 0
        self._begun = 0  # the epoch that is in use, while `_epoch` may have been read to its end ahead of use
        self._warned = False

    def __len__(self) -> int:
        """Indices of this replica in one epoch."""
        return len(range(self._stream.rows)[self._share.places])

    def __iter__(self) -> Iterator[int]:
        self._judge(sharing.wrappers(sys._getframe(1)))
        return self._indices()

    def _indices(self) -> Iterator[int]:
        self._position, self._resume = self._resume, 0
        epoch, position = self._epoch, self._position
        self._begun = epoch
        for index in self._stream.epoch(epoch)[self._share.places].tolist()[position:]:
            position += 1
            self._epoch, self._position = epoch, position
            yield index
        self._epoch, self._position = epoch + 1, 0

    def set_epoch(self, epoch: int) -> None:
        """Start epoch number `epoch`, counted from 0, at the next iteration; any epoch, in any sequence.

        A place that `load_state_dict` has set is kept if it lies in this epoch, since training loops set the epoch
        after they have loaded their state.
        """
        epoch = self._begun = arguments.whole(epoch, "epoch", 0)
        if epoch != self._epoch or not self._resume:
            self._epoch, self._position, self._resume = epoch, 0, 0

    def state_dict(self, position: int | None = None) -> dict[str, Any]:
        """Where the sampler is: a dictionary of plain numbers and strings.

        `position` says how many indices of the current epoch have been *used*, for this replica; by default those
        handed out. A `DataLoader` with workers asks for batches ahead of their use, so count what was used there. The
        current epoch is the one that was begun last, even if it has been read to its end.
        """
        epoch, place = self._epoch, self._position
        if position is not None:
            epoch, place = self._begun, self._place(position)
        return {**self._made_for(), "epoch": epoch, "position": place}

    def _made_for(self) -> dict[str, Any]:
        order, rows, replicas, _ = self._share
        return {"order": order, "rows": rows, "seed": self._seed, "num_replicas": replicas}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue where `state_dict` was taken: the next iteration yields the rest of that epoch."""
        for key, own in self._made_for().items():
            if state[key] != own:
                raise ValueError(f"the state has {key}={state[key]!r}, but this sampler has {key}={own!r}.")
        epoch, position = arguments.whole(state["epoch"], "epoch", 0), self._place(state["position"])
        self._epoch, self._begun, self._position, self._resume = epoch, epoch, position, position

    def _place(self, position: int) -> int:
        most = -(-self._share.rows // self._share.replicas)  # of the first replica, whose state may serve all
        if arguments.whole(position, "position", 0) > most:
            raise ValueError(f"position must be at most the {most} indices of an epoch, not {position}.")
        return position

    def _judge(self, objects: list[Any]) -> str:
        """Warn, once, if those who iterate the sampler change its order; the warning is returned."""
        problem = sharing.complaint(self._share, objects, *sharing.world())
        if problem and not self._warned:
            self._warned = True
            warnings.warn(f"{type(self).__name__}: {problem}", stacklevel=3)
        return problem


class IID(OrderSampler):
    """Every index drawn anew from all rows, uniformly or with given probabilities; see `OrderSampler`."""

    def __init__(
        self,
        rows: int | Sized,
        seed: int = 0,
        probabilities: ArrayLike | None = None,
        num_replicas: int = 1,
        rank: int = 0,
    ):
        super().__init__("iid", rows, seed, probabilities, num_replicas, rank)


class RandomReshuffle(OrderSampler):
    """A new permutation every epoch, as ``shuffle=True`` does, from a seed of its own; see `OrderSampler`."""

    def __init__(self, rows: int | Sized, seed: int = 0, num_replicas: int = 1, rank: int = 0):
        super().__init__("random_reshuffle", rows, seed, None, num_replicas, rank)


class SingleShuffle(OrderSampler):
    """One permutation, used in every epoch; see `OrderSampler`."""

    def __init__(self, rows: int | Sized, seed: int = 0, num_replicas: int = 1, rank: int = 0):
        super().__init__("single_shuffle", rows, seed, None, num_replicas, rank)


class FlipFlop(OrderSampler):
    """One permutation, forwards and backwards in turn; see `OrderSampler`."""

    def __init__(self, rows: int | Sized, seed: int = 0, num_replicas: int = 1, rank: int = 0):
        super().__init__("flip_flop", rows, seed, None, num_replicas, rank)


def check_loader(loader: Any, sampler: OrderSampler) -> bool:
    """Whether a loader, as a library has prepared it, goes through a sampler's order; if not, a warning has the remedy.

    A sampler warns by itself when it is iterated. This also sees that it never will be, because the library has put
    another sampler in its place.

    Parameters
    ----------
    loader : DataLoader
        What will be iterated: the result of ``accelerator.prepare`` or ``fabric.setup_dataloaders``, or
        ``trainer.train_dataloader`` in Lightning's ``on_train_start``.
    sampler : OrderSampler
        The sampler that the loader was made with.
    """
    objects = sharing.holders(loader, sampler)
    if objects is not None:
        return not sampler._judge(objects)
    name = type(getattr(loader, "sampler", None)).__name__
    warnings.warn(
        f"the loader goes through a {name} instead of the {type(sampler).__name__} sampler; give the sampler to it "
        "again, and in Lightning leave out overfit_batches.",
        stacklevel=2,
    )
    return False
