"""Which columns of a matrix are read: all, or some by name, number or range, without those that number the rows.

Columns of files without names are called by their numbers, counted from 0.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Sequence

import numpy as np

from edgelaw_app.files.errors import InputError

Columns = str | int | Sequence[str | int]
_SHOWN = 8  # names in a sentence
_PLAIN = r"[A-Za-z_][\w.]*"  # a name that can be typed in a list on any command line
_INDEX = r"__index_level_\d+__|Unnamed: 0"  # what pandas calls columns that number the rows


def chosen(
    path: str, names: Sequence[str], columns: Columns | None = None, drop: Columns | None = None
) -> list[int]:
    """The numbers of the columns to read, ascending, as :func:`open_matrix` says; a column's name means that column."""
    kept = set(range(len(names))) - set(row_index(names))
    if columns is not None:
        kept = {k for item in _several(columns) for k in _numbers(item, path, names)}
    for item in _several(drop or ()):
        kept.difference_update(_numbers(item, path, names))
    if not kept:
        raise InputError(f"{path} has no column left: all {len(names)} are dropped.")
    return sorted(kept)


def row_index(names: Sequence[str]) -> list[int]:
    """Numbers of the columns that number the rows, called as pandas and R call theirs.

    >>> row_index(["", "a", "b"]), row_index(["Unnamed: 0", "a"]), row_index(["a", "", ""])
    ([0], [0], [])
    """
    found = [k for k, name in enumerate(names) if re.fullmatch(_INDEX, name)]
    if names[:1] == [""] and all(names[1:]):
        found.append(0)
    return found if len(found) < len(names) else []


def note(kept: Sequence[int], names: Sequence[str]) -> tuple[str, ...]:
    """What to say of columns that are not read, a sentence each for an index and for others."""
    left = [k for k in row_index(names) if k not in kept]
    sentences = []
    if left:
        called = ", ".join(repr(names[k]) if names[k] else "the first, without a name" for k in left)
        sentences.append(f"Left out as row numbers: {called}.")
    if len(kept) + len(left) < len(names):
        sentences.append(f"Read {len(kept)} of {len(names)} columns, as asked.")
    return tuple(sentences)


def listed(names: Iterable[str]) -> str:
    """Some names for a sentence."""
    names = list(names)
    more = f", ... ({len(names)} in all)" if len(names) > _SHOWN else ""
    return ", ".join(map(repr, names[:_SHOWN])) + more


def typed(numbers: Sequence[int], names: Sequence[str]) -> str:
    """Columns as --drop takes them: their names, or numbers and ranges where a name is missing, odd or they are many.

    >>> typed([0, 2], ["id", "x", "city"]), typed([0, 1, 2, 5], "012345"), typed([1], ["a", "a b"])
    ('id,city', '0-2,5', '1')
    """
    if len(numbers) <= _SHOWN and all(re.fullmatch(_PLAIN, names[k]) for k in numbers):
        return ",".join(names[k] for k in numbers)
    runs = np.split(np.array(numbers), np.flatnonzero(np.diff(numbers) > 1) + 1)
    text = ",".join(f"{run[0]}" if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
    return text if len(text) <= 200 else text[:200].rpartition(",")[0] + " and so on"


def text_columns(path: str, numbers: Sequence[int], names: Sequence[str], classes: int) -> InputError:
    """Columns that hold no numbers, named all at once, with what to type; `classes` is the likeliest label."""
    return InputError(
        f"{path} has columns of text (or of no plain numbers): {listed(names[k] for k in numbers)}; leave them out "
        f"with --drop {typed(numbers, names)}, or learn one with --labels {typed([classes], names)}."
    )


def _several(value: Columns) -> tuple[str | int, ...]:
    """One column or several as a tuple."""
    return (value,) if isinstance(value, str | int | np.integer) else tuple(value)


def _numbers(item: str | int, path: str, names: Sequence[str]) -> list[int]:
    """The numbers of the columns that one text or integer names."""
    if isinstance(item, str):
        if item in names:
            return [k for k, name in enumerate(names) if name == item]
        if "," in item:
            return [k for part in item.split(",") for k in _numbers(part.strip(), path, names)]
        matching = [k for k, name in enumerate(names) if fnmatch.fnmatchcase(name, item)]
        if matching and any(sign in item for sign in "*?["):
            return matching
    first, last, width = 0, -1, len(names)
    if span := re.fullmatch(r"(-?\d{1,12})|(\d{1,12})-(\d{0,12})", str(item)):
        if span[1] is not None:
            first = last = int(span[1]) + (width if int(span[1]) < 0 else 0)
        else:
            first, last = int(span[2]), int(span[3] or width - 1)
    if not 0 <= first <= last < width:
        shown = repr(item if len(str(item)) < 40 else str(item)[:37] + "...")
        raise InputError(
            f"{path} has no column {shown}; its columns are: {listed(names)}, or by number 0 to {width - 1}."
        )
    return list(range(first, last + 1))
