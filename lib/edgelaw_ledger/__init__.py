"""The audit of the paper: every claim, its verdict, and the check that could contradict it.

``ledger`` reads and validates ``data/claims.toml``, ``sentences`` the book's own sentences, whose words ``pages`` finds
in the book; ``errata`` has the mistakes in the paper's own words; ``runner`` runs the checks, ``evidence`` is what they
return, ``checks`` holds those of claims, ``own`` those of the book's sentences, ``routes`` what they share,
``certificates`` the enclosures of closed-form numbers; ``verify`` is the command ``python -m edgelaw_ledger``.
Everything here imports edgelaw; edgelaw imports nothing from here. It is part of the repository, not of the package
that pip installs.

The names below are loaded when they are first used, so that the command's ``--help`` is instant.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from edgelaw_ledger.evidence import VERDICTS, Evidence, decide, number, sampled
    from edgelaw_ledger.ledger import (
        GROUPS,
        IDS,
        Addition,
        Claim,
        LedgerError,
        additions,
        check,
        counts,
        load,
        missing,
    )
    from edgelaw_ledger.runner import Outcome, examine, run
    from edgelaw_ledger.sentences import Sentence, load_boxes, load_sentences, status_counts

__all__ = [
    "GROUPS",
    "IDS",
    "VERDICTS",
    "Addition",
    "Claim",
    "Evidence",
    "LedgerError",
    "Outcome",
    "Sentence",
    "additions",
    "check",
    "counts",
    "decide",
    "examine",
    "load",
    "load_boxes",
    "load_sentences",
    "missing",
    "number",
    "run",
    "sampled",
    "status_counts",
]

_MODULES = ("evidence", "ledger", "runner", "sentences")


def __getattr__(name: str) -> Any:
    """Load a name from the module that has it."""
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name in __all__:
        home = next(module for module in map(__getattr__, _MODULES) if hasattr(module, name))
        globals()[name] = value = getattr(home, name)
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
