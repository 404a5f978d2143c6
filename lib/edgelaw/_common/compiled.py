"""How a loop becomes machine code: when it is first called, once per machine; without numba its NumPy twin is called.

numba is not used where it is not installed, nor with ``EDGELAW_NUMBA=0`` in the environment.
"""

import contextlib
import functools
import hashlib
import os
import types
from collections.abc import Callable, Iterator
from typing import Any

from edgelaw._common import extras

_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"reassoc", "contract", "nsz", "arcp"},
    "forceinline": True,  # a call would go to other code, with other last digits, when both are loaded from disk
}
_watching: list[Callable[[bool], object]] = []


class Compiled:
    """A loop as it is written (`function`), its vectorised `twin` or None, and its machine code: see `compiled`."""

    def __init__(self, function: Callable, twin: Callable | None) -> None:
        self.function, self.twin = function, twin
        functools.update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        return self._chosen(*arguments)

    @functools.cached_property
    def _chosen(self) -> Callable:
        return self.machine_code if has_numba() else self.without_numba

    @property
    def without_numba(self) -> Callable:
        """The twin; the loop itself where it has none, with divisions by zero as the machine code does them."""
        import numpy as np  # not before: the command line's help is instant

        return self.twin or np.errstate(all="ignore")(self.function)

    @functools.cached_property
    def machine_code(self) -> Any:
        """The compiled function, with the compiled ones it calls."""
        from numba import njit

        _announce()
        code = njit(**_OPTIONS)(_with_machine_code(self.function))
        with contextlib.suppress(RuntimeError):  # there is no folder that can be written
            code.enable_caching()
            _name_files_by_content(code._cache._cache_file)
        return code


def compiled(function: Callable | None = None, *, numpy: Callable | None = None) -> Any:
    """Compile a function for speed without the GIL when it is first called, and keep the machine code on disk.

    Arguments are given by position; a compiled function may call others. Sums may be reordered (that is what lets them
    use vector registers), but infinities and NaN keep their meaning, and a division by zero gives one. The code is
    cached beside the module or in the user's cache folder (or in ``NUMBA_CACHE_DIR``). Without numba a call goes to the
    function given as `numpy`; a loop without one, because only loops call it, runs as it is written.

    >>> import numpy as np
    >>> @compiled(numpy=np.sum)
    ... def total(values):
    ...     s = 0.0
    ...     for x in values:
    ...         s += x
    ...     return s
    >>> float(total(np.arange(4.0))), float(total.twin(np.arange(4.0)))
    (6.0, 6.0)
    """
    return Compiled(function, None) if function else functools.partial(Compiled, twin=numpy)


@functools.cache
def has_numba() -> bool:
    """Whether loops are compiled in this process: asked once."""
    return os.environ.get("EDGELAW_NUMBA") != "0" and extras.installed("numba")


@contextlib.contextmanager
def when_compiling(callback: Callable[[bool], object]) -> Iterator[None]:
    """Within this context, call back with True when something must be compiled, and with False when it is done."""
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


def _name_files_by_content(files: Any) -> None:
    """Let the name of a file of machine code follow from what it was compiled for, where Numba would number the files.

    Two processes that compile a function at once for different types would take one number for both.
    """
    save, pattern = files.save, files._data_name_pattern

    def save_by_content(key: Any, data: Any) -> None:
        digest = hashlib.sha256(repr(key).encode()).hexdigest()[:16]
        files._data_name_pattern = pattern.replace("{number", digest + ".{number")
        save(key, data)

    files.save = save_by_content


def _with_machine_code(function: Callable) -> Callable:
    """The same function, seeing the machine code of the compiled functions it calls."""
    known = {
        name: value.machine_code if isinstance(value, Compiled) else value
        for name, value in function.__globals__.items()
        if name in function.__code__.co_names or name.startswith("__")
    }
    copy = types.FunctionType(
        function.__code__, known, function.__name__, function.__defaults__, function.__closure__
    )
    return functools.update_wrapper(copy, function)
