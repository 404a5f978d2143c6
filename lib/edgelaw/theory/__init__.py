"""Closed forms for isotropic rows: one module per sample order, the same functions in each; `BY_ORDER` finds it.

Curves on any other spectrum, with batches or labels, are behind :mod:`edgelaw.exact`.
"""

from types import ModuleType

from edgelaw.theory import flip_flop, iid, random_reshuffle, single_shuffle

#: The module of each order of :data:`edgelaw.orders.ORDERS`, in that order.
BY_ORDER: dict[str, ModuleType] = {
    "iid": iid,
    "random_reshuffle": random_reshuffle,
    "single_shuffle": single_shuffle,
    "flip_flop": flip_flop,
}

__all__ = ["BY_ORDER", "flip_flop", "iid", "random_reshuffle", "single_shuffle"]
