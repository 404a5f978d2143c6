"""Running checks: one after the other or several at once, each outcome compared with what is recorded."""

import multiprocessing
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass

from edgelaw._common.arguments import whole
from edgelaw._common.threads import one_blas_thread
from edgelaw_ledger import ledger
from edgelaw_ledger.evidence import Evidence


@dataclass(frozen=True)
class Outcome:
    """The outcome of one check."""

    claim: ledger.Checked  # as recorded
    evidence: Evidence | None  # None where there is no check, or where it broke down
    error: str = ""  # how the check broke down, in one sentence

    @property
    def confirmed(self) -> bool:
        """Whether the check ran and agrees with the recorded verdict (or only reading could settle it)."""
        if self.error:
            return False
        return self.evidence is None or self.evidence.verdict == self.claim.verdict


def examine(claim: ledger.Checked) -> Outcome:
    """Run one claim's check in this process, on one BLAS thread; a broken check becomes an outcome too.

    A numerical warning (overflow, division by zero) is a breakdown: evidence must not rest on one.
    """
    evidence, error = None, ""
    with one_blas_thread(), warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        try:
            evidence = ledger.check(claim)
        except Exception as problem:  # whatever a check may raise is reported, never shown as a traceback
            error = " ".join(f"{type(problem).__name__}: {problem}".split())
    return Outcome(claim, evidence, error)


def run(
    claims: Iterable[ledger.Checked], jobs: int = 1, done: Callable[[Outcome], object] = lambda outcome: None
) -> list[Outcome]:
    """Run checks in so many processes, outcomes in the order asked for; `done` gets each outcome as it comes in."""
    claims, outcomes = list(claims), {}
    for outcome in _outcomes(claims, min(whole(jobs, "jobs", 1), len(claims))):
        outcomes[outcome.claim.id] = outcome
        done(outcome)
    return [outcomes[claim.id] for claim in claims]


def _outcomes(claims, jobs):
    """Each outcome as it comes in."""
    if jobs < 2:
        yield from map(examine, claims)
        return
    pool = ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"))
    try:
        futures = {pool.submit(examine, claim): claim for claim in claims}
        for future in as_completed(futures):
            try:
                yield future.result()
            except BrokenProcessPool:
                yield Outcome(futures[future], None, "The process that ran the checks died.")
    finally:
        pool.shutdown(cancel_futures=True)
