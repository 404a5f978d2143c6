"""How a loop becomes machine code: when it is first called, once per machine, kept on disk where that is possible."""

import functools
import types
from collections.abc import Callable
from typing import Any


class compiled:
    """Compile a function for speed without the GIL when it is first called, and keep the machine code on disk.

    The compiler is imported then, not before: whoever needs no loop does not wait for it. A compiled function may call
    other compiled ones. Sums may be reordered (that is what lets them use vector registers), but infinities and NaN
    keep their meaning, and a division by zero gives one. The code is cached beside the module or in the user's cache
    folder; where neither can be written it is not cached.

    Examples
    --------
    >>> @compiled
    ... def total(values):
    ...     s = 0.0
    ...     for x in values:
    ...         s += x
    ...     return s
    >>> import numpy as np
    >>> total(np.arange(4.0))
    6.0
    """

    def __init__(self, function: Callable) -> None:
        self.function = function
        functools.update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        return self.machine_code(*arguments)

    @functools.cached_property
    def machine_code(self) -> Any:
        """The compiled function, with the compiled ones it calls."""
        from numba import njit

        options: dict[str, Any] = {
            "nogil": True,
            "error_model": "numpy",
            "fastmath": {"reassoc", "contract", "nsz", "arcp"},
        }
        function = _with_machine_code(self.function)
        try:
            return njit(cache=True, **options)(function)
        except RuntimeError:
            return njit(**options)(function)


def _with_machine_code(function: Callable) -> Callable:
    """The same function, seeing the machine code of the compiled functions it calls."""
    known = {
        name: value.machine_code if isinstance(value, compiled) else value
        for name, value in function.__globals__.items()
        if name in function.__code__.co_names or name.startswith("__")
    }
    copy = types.FunctionType(
        function.__code__, known, function.__name__, function.__defaults__, function.__closure__
    )
    return functools.update_wrapper(copy, function)
