"""Learning curves in theory: one module per sample order, the same functions in each; `BY_ORDER` finds it by name."""

from types import ModuleType

from edgelaw.exact.stability import critical_batch, stability
from edgelaw.theory import flip_flop, iid, random_reshuffle, single_shuffle

#: The module of each order of :data:`edgelaw.orders.ORDERS`, in that order.
BY_ORDER: dict[str, ModuleType] = {
    "iid": iid,
    "random_reshuffle": random_reshuffle,
    "single_shuffle": single_shuffle,
    "flip_flop": flip_flop,
}

__all__ = [
    "BY_ORDER",
    "critical_batch",
    "flip_flop",
    "iid",
    "random_reshuffle",
    "single_shuffle",
    "stability",
]
