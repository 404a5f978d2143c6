"""What is asked of a forecast, validated; the operations it may take; and the progress that is reported."""

import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from edgelaw._common import arguments
from edgelaw._common.types import Array, Progress
from edgelaw.exact.labels import schedules
from edgelaw.orders import ORDERS

OPERATIONS = 2.5e10  # multiply-adds for running SGD: at most some ten seconds on one core
LARGEST_LR = 1e150


@dataclass(frozen=True)
class Request:
    """The arguments of `predict` and `probe` that do not describe the rows.

    Attributes
    ----------
    epochs : int
        The budget.
    orders : tuple of str
        Each once.
    lr, step : float or None
        A learning rate to judge, or the same as a dimensionless step; at most one of the two.
    target : float or None
    batch : int
        Rows per update.
    operations : float
    schedule : str
        One of `schedules.SHAPES`, or "given".
    rates : array or None
        The learning rate of each epoch, where it is given.
    weight_decay : float
    """

    epochs: int
    orders: tuple[str, ...]
    lr: float | None = None
    step: float | None = None
    target: float | None = None
    batch: int = 1
    operations: float = OPERATIONS
    schedule: str = "constant"
    rates: Array | None = None
    weight_decay: float = 0.0

    @classmethod
    def validated(
        cls, epochs: int, orders: Iterable[str], batch: int, operations: float, **rest: Any
    ) -> "Request":
        """A request, or one sentence about what is wrong with it."""
        epochs = arguments.whole(epochs, "epochs", 1)
        names = dict.fromkeys([orders] if isinstance(orders, str) else orders)
        chosen = tuple(arguments.choice(name, "orders", ORDERS) for name in names)
        if not chosen:
            raise ValueError("orders must name at least one order.")
        if rest.get("lr") is not None and rest.get("step") is not None:
            raise ValueError("lr and step are the same thing in two units; give one of them.")
        for name, limit in (("lr", LARGEST_LR), ("step", np.inf), ("target", 1)):
            if rest.get(name) is not None:
                rest[name] = arguments.number(rest[name], name, 0, limit)
        if rest.get("weight_decay"):
            rest["weight_decay"] = arguments.number(rest["weight_decay"], "weight_decay", 0)
        shape = rest.pop("schedule", "constant")
        if not isinstance(shape, str):
            rest["rates"], shape = _given(shape, epochs, rest), "given"
        elif shape not in schedules.SHAPES:
            raise ValueError(
                f"schedule must be one of {', '.join(schedules.SHAPES)}, or the lr of each epoch, not {shape!r}."
            )
        batch = arguments.whole(batch, "batch", 1)
        return cls(
            epochs,
            chosen,
            batch=batch,
            operations=arguments.number(operations, "operations", 0),
            schedule=shape,
            **rest,
        )

    @property
    def judged(self) -> bool:
        """Whether a learning rate is given that is to be judged."""
        return self.lr is not None or self.step is not None or self.rates is not None


def _given(values: npt.ArrayLike, epochs: int, rest: dict[str, Any]) -> Array:
    """The learning rate of each epoch, checked."""
    if rest.get("lr") is not None or rest.get("step") is not None:
        raise ValueError("schedule gives the learning rate of each epoch; leave out lr and step.")
    rates = arguments.real_array(values, "schedule", 1).astype(np.float64)
    if len(rates) != epochs or not (0 <= rates.min() and 0 < rates[0] < LARGEST_LR):
        raise ValueError(
            f"schedule must have a learning rate for each of the {epochs} epochs, none negative and the first positive."
        )
    return rates


class Budget:
    """Multiply-adds that running SGD may take: spent from several places, never more than there are."""

    def __init__(self, operations: float) -> None:
        self.total, self.spent = operations, 0.0

    @property
    def left(self) -> float:
        """What may still be spent."""
        return max(self.total - self.spent, 0.0)

    def spend(self, operations: float) -> None:
        """Count what was done."""
        self.spent += operations


class ProgressCounter:
    """Counts stages, which are not all of one length, from several threads, and reports them to a caller, if any."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress, self.total, self.done = progress, total, 0
        self._lock = threading.Lock()

    def __call__(self, what: str, stages: int = 1) -> None:
        """So many stages are done, and this is being done now."""
        with self._lock:
            self.done = min(self.done + stages, self.total)
            if self._progress is not None:
                self._progress(self.done, self.total, what)
