"""What is asked of `edgelaw.predict`, validated; and the progress that is reported to whoever asked."""

import threading
from collections.abc import Iterable
from dataclasses import dataclass

from edgelaw._common import arguments
from edgelaw._common.types import Progress
from edgelaw.orders import ORDERS


@dataclass(frozen=True)
class Request:
    """The arguments of `predict` that do not describe the rows.

    Attributes
    ----------
    epochs : int
    step : float or "best"
    orders : tuple of str
        Each once.
    target : float or None
    simulate : bool or "auto"
    operations : float
    search : bool
        Whether best steps are searched for; always where `step` is "best".
    batch : int
        Rows per update.
    """

    epochs: int
    step: float | str
    orders: tuple[str, ...]
    target: float | None
    simulate: bool | str
    operations: float
    search: bool
    batch: int = 1

    @classmethod
    def validated(
        cls,
        epochs: int,
        step: float | str,
        orders: Iterable[str],
        target: float | None,
        simulate: bool | str,
        operations: float,
        search: bool,
        batch: int = 1,
    ) -> "Request":
        """A request, or one sentence about what is wrong with it."""
        epochs = arguments.whole(epochs, "epochs", 1)
        best = isinstance(step, str) and step == "best"
        batch = arguments.whole(batch, "batch", 1)
        if not best:
            step = arguments.step(step) if batch == 1 else arguments.number(step, "step", 0)
        target = None if target is None else arguments.number(target, "target", 0, 1)
        names = dict.fromkeys([orders] if isinstance(orders, str) else orders)
        chosen = tuple(arguments.choice(name, "orders", ORDERS) for name in names)
        if not chosen:
            raise ValueError("orders must name at least one order.")
        if not (isinstance(simulate, bool) or simulate == "auto"):
            raise ValueError(f'simulate must be "auto", True or False, not {simulate!r}.')
        operations = arguments.number(operations, "operations", 0)
        return cls(epochs, step, chosen, target, simulate, operations, bool(search) or best, batch)


class ProgressCounter:
    """Counts units, which are not all of one length, from several threads, and reports them to a caller, if any."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress, self.total, self.done = progress, total, 0
        self._lock = threading.Lock()

    def report(self, what: str) -> None:
        """Say what is being done now."""
        self.advance(what, 0)

    def advance(self, what: str, units: int = 1) -> None:
        """So many units are done."""
        with self._lock:
            self.done = min(self.done + units, self.total)
            if self._progress is not None:
                self._progress(self.done, self.total, what)

    def finish(self) -> None:
        """All is done."""
        self.advance("done", self.total)


class Share:
    """A number of units of a counter, for a part whose length is not known before."""

    def __init__(self, counter: ProgressCounter, units: int, what: str) -> None:
        self._counter, self._left, self._what = counter, units, what

    def tick(self) -> None:
        """A step of the part is done; the last unit is kept for its end."""
        if self._left > 1:
            self._left -= 1
            self._counter.advance(self._what)

    def close(self) -> None:
        """The part is done."""
        self._counter.advance(self._what, self._left)
        self._left = 0
