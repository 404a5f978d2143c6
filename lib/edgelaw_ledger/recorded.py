"""Checks that only read what is recorded: a table of rows in ``data/additions.toml`` instead of a function.

An entry with ``rows`` needs no ``check``. A row has a ``what``, a ``value`` (an expression) and the stated number under
the name of a comparison of :mod:`edgelaw_ledger.evidence`: ``printed`` (with ``digits`` where the last is a zero),
``most``, ``least``, or ``near`` with ``within``; a row with ``true`` has an expression that must be so. An expression
knows numpy as ``np``, the orders as ``ORDERS``, the study of probes as ``study``, :func:`ends`, each recorded sweep by
its name, and what ``let`` defines before:

    let = ["ratio = what_breaks['off'].mean(axis=1)"]
    rows = [
      { what = "parameter error", value = "abs(ratio[:, 0]).max()", most = 0.0243 },
      { what = "eight kinds", true = "len(ratio) == 8" },
    ]
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgelaw import data
from edgelaw.orders import ORDERS
from edgelaw_app.training import study
from edgelaw_ledger import evidence

COMPARISONS = {"printed": evidence.printed, "most": evidence.most, "least": evidence.least}


@dataclass(frozen=True)
class Table:
    """The check that a table is: called like a function, with other numbers than those stated if they are given."""

    rows: Sequence[Mapping[str, Any]]
    let: Sequence[str] = ()
    __doc__: str = "A table of rows."  # what readers see: what it ranges over

    @property
    def stated(self) -> dict[str, float]:
        """The stated number of each row that has one."""
        names = (*COMPARISONS, "near")
        return {row["what"]: float(row[name]) for row in self.rows for name in names if name in row}

    def __call__(self, **stated: float) -> evidence.Evidence:
        """Compare every row."""
        names = {"np": np, "ORDERS": ORDERS, "study": study, "ends": ends}
        for line in self.let:
            name, _, expression = line.partition(" = ")
            names[name] = _value(expression, names)
        numbers = self.stated | stated
        return evidence.compared(*(_compared(row, names, numbers) for row in self.rows))


def ends(grids: Collection[study.Grid], order: str, budgets: Collection[str] = study.BUDGETS) -> list[float]:
    """Of an order's losses over random reshuffle's: least and largest in parameter error, then in training loss."""
    return [end for measure in study.MEASURES for end in study.span(grids, order, [measure], budgets)]


def _value(expression, names):
    """What an expression gives; the sweeps that it names are read."""
    for word in set(re.findall(r"[a-z]\w+", expression)) - set(names):
        if word in data.SWEEPS:
            names[word] = data.sweep(word)
    return eval(expression, names)


def _compared(row, names, numbers):
    """One row as evidence."""
    what = row["what"]
    if "true" in row:
        return evidence.true(what, bool(_value(row["true"], names)))
    value = float(_value(row["value"], names))
    if "near" in row:
        return evidence.near(what, value, numbers[what], row["within"])
    kind = next(name for name in COMPARISONS if name in row)
    digits = {"digits": row["digits"]} if "digits" in row else {}
    return COMPARISONS[kind](what, value, numbers[what], **digits)
