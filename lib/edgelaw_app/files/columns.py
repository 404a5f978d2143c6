"""Which columns of a matrix are read: all, or some by name, number or range, without those that number the rows."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from edgelaw_app.files.errors import InputError

Columns = str | int | Iterable[str | int]
_SHOWN = 8  # names in a sentence
_PLAIN = r"[A-Za-z_][\w.]*"  # a name that can be typed in a list on any command line
_INDEX = r"__index_level_\d+__|Unnamed: 0"  # what pandas calls columns that number the rows


class Choice(NamedTuple):
    """The columns a reader asks for (None for all) and those to leave out, as they were named.

    A column is named by its name, by a pattern of names such as ``emb_*``, by its number counted from 0 (negative:
    from the end), or as one of a range of numbers such as ``3-9`` or ``3-``; commas separate several in one text.
    A text that is a column's name means that column, whatever else it could mean.
    """

    columns: Columns | None = None
    drop: Columns | None = None

    def numbers(
        self, path: str, width: int, names: Sequence[str] = (), index: Sequence[int] = ()
    ) -> list[int]:
        """The numbers of the columns to read, ascending.

        Columns of `index` number the rows: they are left out unless they were asked for.
        """
        kept = set(range(width)) - set(index)
        if self.columns is not None:
            kept = {k for item in _several(self.columns) for k in _numbers(item, path, width, names)}
        for item in _several(self.drop or ()):
            kept.difference_update(_numbers(item, path, width, names))
        if not kept:
            raise InputError(f"{path} has no column left: all {width} are dropped.")
        return sorted(kept)


def row_index(names: Sequence[str], declared: Iterable[str] = ()) -> list[int]:
    """Numbers of the columns that number the rows: declared by the file, or called as pandas and R call theirs.

    >>> row_index(["", "a", "b"]), row_index(["Unnamed: 0", "a"]), row_index(["a", "", ""])
    ([0], [0], [])
    """
    known = set(declared)
    numbers = [k for k, name in enumerate(names) if name in known or re.fullmatch(_INDEX, name)]
    if names and names[0] == "" and all(names[1:]):
        numbers.append(0)
    return sorted(numbers) if len(numbers) < len(names) else []


def note(
    kept: Sequence[int], width: int, names: Sequence[str] = (), index: Sequence[int] = ()
) -> tuple[str, ...]:
    """What to say of columns that are not read, a sentence each for an index and for others."""
    left = sorted(set(index) - set(kept))
    sentences = []
    if left:
        called = ", ".join(repr(names[k]) if names[k] else "the first, without a name" for k in left)
        sentences.append(f"Left out as row numbers: {called}.")
    if len(kept) + len(left) < width:
        sentences.append(f"Read {len(kept)} of {width} columns, as asked.")
    return tuple(sentences)


def listed(names: Iterable[str], quote: bool = True) -> str:
    """Some names for a sentence, in quotes or as they are."""
    names = list(names)
    more = f", ... ({len(names)} in all)" if len(names) > _SHOWN else ""
    return ", ".join(repr(name) if quote else name for name in names[:_SHOWN]) + more


def called(number: int, names: Sequence[str]) -> str:
    """A column for a sentence: its name, or its number counted from 0 where it has none."""
    return f"column {names[number]!r}" if names and names[number] else f"column {number} (counted from 0)"


def typed(numbers: Sequence[int], names: Sequence[str] = ()) -> str:
    """Columns as --drop takes them: their names, or numbers and ranges where a name is missing, odd or they are many.

    >>> typed([0, 2], ["id", "x", "city"]), typed([0, 1, 2, 5]), typed([1], ["a", "a b"])
    ('id,city', '0-2,5', '1')
    """
    if len(numbers) <= _SHOWN and all(names and re.fullmatch(_PLAIN, names[k]) for k in numbers):
        return ",".join(names[k] for k in numbers)
    runs = np.split(np.array(numbers), np.flatnonzero(np.diff(numbers) > 1) + 1)
    return ",".join(f"{run[0]}" if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def text_columns(path: str, numbers: Sequence[int], names: Sequence[str], classes: int) -> InputError:
    """Columns that hold no numbers, named all at once, with what to type; `classes` is the likeliest label."""
    shown = listed((names[k] or str(k) if names else str(k) for k in numbers), quote=False)
    drop = typed(numbers, names)
    if len(drop) > 200:
        drop = drop[:200].rpartition(",")[0] + " and so on"
    return InputError(
        f"{path} has columns of text (or of no plain numbers): {shown}{'' if names else ' (counted from 0)'}; leave "
        f"them out with --drop {drop}, or learn one with --labels {typed([classes], names)}."
    )


def _several(value: Columns) -> tuple[str | int, ...]:
    """One column or several as a tuple."""
    items = (value,) if isinstance(value, str | int | np.integer) else tuple(value)
    for item in items:
        if isinstance(item, bool) or not isinstance(item, str | int | np.integer):
            raise InputError(f"columns and drop must name columns by texts and integers, not {item!r}.")
    return tuple(item if isinstance(item, str) else int(item) for item in items)


def _numbers(item: str | int, path: str, width: int, names: Sequence[str]) -> list[int]:
    """The numbers of the columns that one text or integer names."""
    if isinstance(item, str):
        if item in names:
            return [k for k, name in enumerate(names) if name == item]
        if "," in item:
            return [k for part in item.split(",") for k in _numbers(part.strip(), path, width, names)]
        matching = [k for k, name in enumerate(names) if fnmatch.fnmatchcase(name, item)]
        if matching and any(sign in item for sign in "*?["):
            return matching
    first, last = 0, -1
    if span := re.fullmatch(r"(-?\d{1,12})|(\d{1,12})-(\d{0,12})", str(item)):
        if span[1] is not None:
            first = last = int(span[1]) + (width if int(span[1]) < 0 else 0)
        else:
            first, last = int(span[2]), int(span[3] or width - 1)
    if not 0 <= first <= last < width:
        shown = repr(item if len(str(item)) < 40 else str(item)[:37] + "...")
        known = f"{listed(names)}, or " if names else "without names, "
        raise InputError(
            f"{path} has no column {shown}; its columns are: {known}by number, 0 to {width - 1}."
        )
    return list(range(first, last + 1))
