"""The audit of the paper: every claim, its verdict, and the check that could contradict it.

``ledger`` reads and validates ``data/claims.toml``, ``sentences`` the book's own sentences, whose words ``pages`` finds
in the book; ``errata`` has the mistakes in the paper's own words; ``runner`` runs the checks, ``evidence`` is what they
return, ``recorded`` those that are tables, ``checks`` holds those of claims, ``own`` what the book's sentences compare,
``routes`` what they share,
``certificates`` the enclosures of closed-form numbers; ``verify`` is the command ``python -m edgelaw_ledger``.
Everything here imports edgelaw; edgelaw imports nothing from here. It is part of the repository, not of the package
that pip installs.
"""

from edgelaw_ledger.evidence import VERDICTS, Evidence, number
from edgelaw_ledger.ledger import GROUPS, IDS, Addition, Claim, LedgerError, additions, check, counts, load
from edgelaw_ledger.runner import Outcome, examine, run
from edgelaw_ledger.sentences import Sentence, load_boxes, load_sentences, status_counts

__all__ = ["GROUPS", "IDS", "VERDICTS", "Addition", "Claim", "Evidence", "LedgerError", "Outcome", "Sentence"]
__all__ += [
    "additions",
    "check",
    "counts",
    "examine",
    "load",
    "load_boxes",
    "load_sentences",
    "number",
]
__all__ += ["run", "status_counts"]
