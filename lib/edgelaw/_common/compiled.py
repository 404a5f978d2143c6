"""How a loop becomes machine code: once per machine, kept on disk where that is possible."""

from collections.abc import Callable
from typing import Any

from numba import njit


def compiled(function: Callable) -> Any:
    """Compile for speed without the GIL, and keep the machine code where that is possible.

    Sums may be reordered (that is what lets them use vector registers), but infinities and NaN keep their meaning,
    and a division by zero gives one. The code is cached beside the module or in the user's cache folder; where
    neither can be written it is not cached.
    """
    options: dict[str, Any] = {
        "nogil": True,
        "error_model": "numpy",
        "fastmath": {"reassoc", "contract", "nsz", "arcp"},
    }
    try:
        return njit(cache=True, **options)(function)
    except RuntimeError:
        return njit(**options)(function)
