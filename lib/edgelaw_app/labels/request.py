"""What is asked of `labels.forecast`, validated before anything is computed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from edgelaw._common import arguments
from edgelaw._common.types import Array, ArrayLike
from edgelaw.orders import ORDERS

SCHEDULES = ("constant", "cosine", "linear", "1/t", "best")
MOST_EPOCHS = 10_000


@dataclass(frozen=True, eq=False)
class Request:
    """The question: budget, orders, learning rate or step if given, schedule by name or by epoch, batch, ridge."""

    epochs: int
    orders: tuple[str, ...]
    lr: float | None
    step: float | None
    schedule: str
    given: Array | None  # learning rates by epoch
    batch: int
    ridge: float
    simulate: bool

    @classmethod
    def validated(
        cls,
        epochs: int,
        orders: Iterable[str],
        lr: float | None,
        step: float | None,
        schedule: str | ArrayLike,
        batch: int,
        ridge: float,
        simulate: bool,
    ) -> Request:
        """The request, or a refusal in one sentence."""
        epochs = arguments.whole(epochs, "epochs", 1)
        if epochs > MOST_EPOCHS:
            raise ValueError(f"epochs must be at most {MOST_EPOCHS:,}, not {epochs:,}.")
        names = (orders,) if isinstance(orders, str) else tuple(dict.fromkeys(orders))
        for name in names:
            arguments.choice(name, "orders", ORDERS)
        if not names:
            raise ValueError(f"orders must name at least one of {', '.join(ORDERS)}.")
        if lr is not None and step is not None:
            raise ValueError("lr and step say the same thing in two units; give one of them.")
        lr = None if lr is None else arguments.number(lr, "lr", 0)
        step = None if step is None else arguments.number(step, "step", 0)
        given = None
        if not isinstance(schedule, str):
            given = _rates(schedule, epochs)
            if lr is not None or step is not None:
                raise ValueError(
                    "schedule gives the learning rate of every epoch, so lr and step must be left out."
                )
        else:
            arguments.choice(schedule, "schedule", SCHEDULES)
            if schedule == "best" and (lr is not None or step is not None):
                raise ValueError(
                    "the best schedule chooses every epoch's learning rate, so lr and step must be left out."
                )
        if not isinstance(simulate, bool | np.bool_):
            raise ValueError(f"simulate must be True or False, not {simulate!r}.")
        ridge = 0.0 if ridge == 0 else arguments.number(ridge, "ridge", 0)
        name = schedule if isinstance(schedule, str) else "given"
        batch = arguments.whole(batch, "batch", 1)
        return cls(epochs, names, lr, step, name, given, batch, ridge, bool(simulate))


def _rates(schedule: ArrayLike, epochs: int) -> Array:
    """Learning rates by epoch."""
    rates = arguments.real_array(schedule, "schedule", 1).astype(np.float64)
    if len(rates) != epochs:
        raise ValueError(
            f"schedule must have one learning rate for each of the {epochs} epochs, not {len(rates)}."
        )
    if rates.min() < 0 or rates.max() <= 0:
        raise ValueError(
            "schedule must hold learning rates that are not negative, at least one of them positive."
        )
    return rates
