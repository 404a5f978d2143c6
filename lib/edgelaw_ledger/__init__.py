"""The ledger: every claim of the paper, its verdict, and the check that could contradict it.

``ledger`` reads and validates ``data/claims.toml``, ``runner`` runs the checks, ``evidence`` is what they return;
the other modules hold the checks, a module a group of claims.
"""

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

__all__ = [
    "GROUPS",
    "IDS",
    "VERDICTS",
    "Addition",
    "Claim",
    "Evidence",
    "LedgerError",
    "Outcome",
    "additions",
    "check",
    "counts",
    "decide",
    "examine",
    "load",
    "missing",
    "number",
    "run",
    "sampled",
]
