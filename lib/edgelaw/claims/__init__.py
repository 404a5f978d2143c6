"""The ledger: every claim of the paper, its verdict, and the check that could contradict it."""

from edgelaw.claims.evidence import Evidence, decide, number, sampled

__all__ = ["Evidence", "decide", "number", "sampled"]
