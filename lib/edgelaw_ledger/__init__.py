"""The audit of the paper: every claim, its verdict, and the check that could contradict it.

``ledger`` reads and validates ``data/claims.toml``, ``sentences`` the book's own sentences, whose words ``pages`` finds
in the book; ``errata`` has the mistakes in the paper's own words; ``runner`` runs the checks, ``evidence`` is what they
return, ``checks`` holds those of claims, ``own`` those of the book's sentences, ``routes`` what they share,
``certificates`` the enclosures of closed-form numbers; ``verify`` is the command ``python -m edgelaw_ledger``.
Everything here imports edgelaw; edgelaw imports nothing from here. It is part of the repository, not of the package
that pip installs.
"""

from edgelaw_ledger import evidence, ledger, runner, sentences
from edgelaw_ledger.evidence import VERDICTS, Evidence, decide, number, sampled
from edgelaw_ledger.ledger import GROUPS, IDS, Addition, Claim, LedgerError, additions, check, counts, load
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
    "evidence",
    "examine",
    "ledger",
    "load",
    "load_boxes",
    "load_sentences",
    "number",
    "run",
    "runner",
    "sampled",
    "sentences",
    "status_counts",
]
