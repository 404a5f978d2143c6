"""How a loop becomes machine code: when it is first called, once per machine, kept on disk where that is possible."""

import contextlib
import functools
import types
from collections.abc import Callable, Iterator
from typing import Any

_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"reassoc", "contract", "nsz", "arcp"},
    "forceinline": True,  # a call would go to other code, with other last digits, when both are loaded from disk
}
_watching: list[Callable[[bool], object]] = []


class compiled:
    """Compile a function for speed without the GIL when it is first called, and keep the machine code on disk.

    The compiler is imported then, not before: whoever needs no loop does not wait for it. A compiled function may call
    other compiled ones. Sums may be reordered (that is what lets them use vector registers), but infinities and NaN
    keep their meaning, and a division by zero gives one. The code is cached beside the module or in the user's cache
    folder (or in ``NUMBA_CACHE_DIR``), one file for each processor and signature; where none can be written it is not
    cached.

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

        from edgelaw._common.code_cache import CodeCache

        _announce()
        function = _with_machine_code(self.function)
        code = njit(**_OPTIONS)(function)
        with contextlib.suppress(RuntimeError):  # there is no folder that can be written
            code._cache = CodeCache(function, _OPTIONS)
        return code


@contextlib.contextmanager
def when_compiling(callback: Callable[[bool], object]) -> Iterator[None]:
    """Within this context, call back with True when something must be compiled, and with False when it is done.

    Code that is found on disk is loaded without a word.

    Examples
    --------
    >>> @compiled
    ... def twice(x):
    ...     return 2 * x
    >>> seen = []
    >>> with when_compiling(seen.append):
    ...     first, second = twice(1.0), twice(2.0)
    >>> seen, second
    ([True, False], 4.0)
    """
    _watching.append(callback)
    try:
        yield
    finally:
        _watching.remove(callback)


@functools.cache
def _announce() -> None:
    """From now on, pass on what the compiler says of its beginnings and ends."""
    from numba.core import event

    class Listener(event.Listener):
        depth = 0  # a function is compiled within the one that calls it, under the compiler's lock

        def on_start(self, event: Any) -> None:
            self.depth += 1
            self.tell(self.depth == 1, True)

        def on_end(self, event: Any) -> None:
            self.depth -= 1
            self.tell(self.depth == 0, False)

        def tell(self, outermost: bool, beginning: bool) -> None:
            for callback in tuple(_watching) if outermost else ():
                callback(beginning)

    event.register("numba:compile", Listener())


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
