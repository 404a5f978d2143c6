"""Closed forms for isotropic rows: one module per sample order, the same functions in each; `BY_ORDER` finds it.

Curves on any other spectrum, with batches or labels, are behind :mod:`edgelaw.exact`.
"""

from collections.abc import Iterator, Mapping
from importlib import import_module
from types import ModuleType

from edgelaw.orders import ORDERS

__all__ = ["BY_ORDER"]


class _Modules(Mapping[str, ModuleType]):
    """The module of each order, loaded when it is asked for, so that a closed form brings no other one."""

    def __getitem__(self, order: str) -> ModuleType:
        if order not in ORDERS:
            raise KeyError(order)
        return import_module(f"{__name__}.{order}")

    def __iter__(self) -> Iterator[str]:
        return iter(ORDERS)

    def __len__(self) -> int:
        return len(ORDERS)


#: The module of each order of :data:`edgelaw.orders.ORDERS`, in that order.
BY_ORDER: Mapping[str, ModuleType] = _Modules()
