"""What is asked of `edgelaw.predict`, validated."""

from collections.abc import Iterable
from dataclasses import dataclass

from edgelaw._common import arguments
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
