"""Refusing a reader's file: one kind of error, one sentence, whatever a foreign parser raised."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import textwrap
from collections.abc import Iterator

OBJECTS = "pickled objects, which are never loaded: save a plain array, texts by the array's astype(str)"
WHOLE = 2**30  # bytes that may be read at once
_NO_MEMORY = (
    r"alloc|out of memory|not enough memory|failed to map segment|start new thread|launch worker thread"
)


class InputError(ValueError):
    """What is wrong with a reader's file or with what was asked of it, in one sentence."""


class MissingFile(InputError, FileNotFoundError):
    """There is no such file."""


def refuse_memory(error: BaseException, path: str) -> None:
    """Refuse what an error says when it tells of too little memory, in words of Python, torch, Arrow or the linker."""
    short = isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM
    if short or re.search(_NO_MEMORY, str(error)):
        raise InputError(
            f"not enough memory: {path} needs more than this process may use; raise its limit (ulimit -v) or read "
            "fewer columns."
        ) from None


@contextlib.contextmanager
def as_input_error(path: str) -> Iterator[None]:
    """Whatever goes wrong inside becomes one sentence; foreign parsers raise many kinds of errors."""
    try:
        yield
    except InputError:
        raise
    except FileNotFoundError:
        raise MissingFile(f"There is no file {path}.") from None
    except Exception as error:
        refuse_memory(error, path)
        reason = textwrap.shorten(str(error), 200, placeholder="...").rstrip(".") or type(error).__name__
        if re.search("pickl|Python object", str(error)):  # torch's own words advise to load them
            reason = f"it holds {OBJECTS}"
        raise InputError(f"{path} is damaged, protected or of another format: {reason}.") from None


@contextlib.contextmanager
def named_errors(name: str) -> Iterator[None]:
    """What a shared formula refuses about "X" becomes an InputError about the input of this name."""
    try:
        yield
    except InputError:
        raise
    except ValueError as error:
        raise InputError(re.sub(r"\bX\b", lambda _: name, str(error), count=1)) from None


def refuse_large(path: str, size: int) -> None:
    """Refuse more bytes than are read at once, where a format or a use needs all of them in memory."""
    if size > WHOLE:
        raise InputError(
            f"{path} holds {size:,} bytes that can only be read whole, and at most {WHOLE:,} are; save plain rows in a "
            ".npy file, by numpy.ascontiguousarray."
        )


def refuse_beyond_memory(name: str, needed: int) -> None:
    """Refuse what needs more bytes than this machine has memory, where the system tells how much that is."""
    try:
        there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return
    if needed > there > 0:
        raise InputError(
            f"{name} needs {needed / 1e9:,.1f} GB of memory, and this machine has {there / 1e9:,.1f} GB; use rows "
            "and dims for a smaller matrix."
        )
