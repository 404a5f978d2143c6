r"""Closed forms for isotropic Gaussian rows, m = ρd, as d → ∞: one module per sample order.

`BY_ORDER` finds the module of an order. Every module has the same functions:

``test_loss(n, step=1.0, rho=1.0)``, ``train_loss(n, step=1.0, rho=1.0)``
    The limits of :math:`\mathbb E\|w_n\|^2/\|w_0\|^2` (the squared parameter error) and of
    :math:`\mathbb E\frac1m\|Xw_n\|^2/\|w_0\|^2` with rows scaled to norm √d, so that both are 1 at n = 0. n is a number
    of epochs or an array of them, not negative; the step η lies in (0, 2) and rho = m/d is positive. The result has the
    shape of n; what is below 1e-300 is 0.0. For rho < 1 the test loss ends at 1 − rho, the share of directions that no
    row touches.
``test_constant(step=1.0)``, ``train_constant(step=1.0)``
    At rho = 1, the limits of :math:`\sqrt n` times the test loss and of :math:`n^{3/2}` times the training loss.
``effective_step(step)``
    The step of gradient descent with the same test-loss edge at m = d. Gradient descent may be unstable at it.

A module says its own formula, how it is known, and how accurate it is. Curves on any other spectrum, with batches or
labels, are behind :mod:`edgelaw.exact`.
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
