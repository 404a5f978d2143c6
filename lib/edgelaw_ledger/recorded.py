"""Checks that are tables: rows in ``data/additions.toml``, each of an expression, a number and how near they must be.

An entry with ``rows`` needs no ``check``. A row has a ``what``, a ``value`` (an expression) and the stated number under
the name of a comparison of :mod:`edgelaw_ledger.evidence`: ``printed`` (with ``digits`` where the last is a zero),
``most``, ``least``, or ``near`` with ``within``; a row with ``off`` says how large its value may be, and one with
``true`` has an expression that must be so. An expression knows what stands in :data:`KNOWN`, the modules of ``own``
among it, each recorded sweep by its name, and what ``let`` defines before:

    let = ["ratio = what_breaks['off'].mean(axis=1)"]
    rows = [
      { what = "parameter error", value = "abs(ratio[:, 0]).max()", most = 0.0243 },
      { what = "50 rows", value = "own.literature.over_iid('sorted', 20)", near = 12.3, within = 0.005 },
      { what = "eight kinds", true = "len(ratio) == 8" },
    ]
"""

import importlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgelaw import data, laws, theory
from edgelaw.orders import ORDERS
from edgelaw.theory.regimes import orthogonal, products, published
from edgelaw_ledger import evidence, own

STATED = ("printed", "most", "least", "near")
#: What an expression knows besides the recorded sweeps.
KNOWN = {"np": np, "ORDERS": ORDERS, "laws": laws, "theory": theory, "own": own}
KNOWN |= {"orthogonal": orthogonal, "products": products, "published": published}


@dataclass(frozen=True)
class Table:
    """The check that a table is: called like a function, with other numbers than those stated if they are given."""

    rows: Sequence[Mapping[str, Any]]
    let: Sequence[str] = ()
    __doc__: str = "A table of rows."  # what readers see: what it ranges over

    @property
    def stated(self) -> dict[str, float]:
        """The stated number of each row that has one."""
        return {row["what"]: float(row[name]) for row in self.rows for name in STATED if name in row}

    def __call__(self, **stated: float) -> evidence.Evidence:
        """Compare every row."""
        names: dict[str, Any] = dict(KNOWN)
        for line in self.let:
            target, _, expression = line.partition(" = ")
            value = _value(expression, names)
            names |= zip(target.split(", "), value, strict=True) if "," in target else [(target, value)]
        numbers = self.stated | stated
        return evidence.compared(*(_compared(row, names, numbers) for row in self.rows))


def _value(expression, names):
    """What an expression gives; the sweeps that it names are read, the modules imported."""
    for package, name in re.findall(r"\b(own|theory)\.(\w+)", expression):
        if not hasattr(KNOWN[package], name):
            importlib.import_module(f"{KNOWN[package].__name__}.{name}")
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
    if "off" in row:
        return evidence.off(what, value, row["off"])
    kind = next(name for name in STATED if name in row)
    more = [row[key] for key in ("digits", "within") if key in row]
    return getattr(evidence, kind)(what, value, numbers[what], *more)
