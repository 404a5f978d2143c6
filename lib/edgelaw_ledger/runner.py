"""Running checks: one after the other or several at once, each outcome compared with what is recorded."""

import multiprocessing
import os
import time
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass

from edgelaw._common.arguments import whole
from edgelaw._common.threads import one_blas_thread
from edgelaw_ledger import ledger
from edgelaw_ledger.evidence import Evidence

_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


@dataclass(frozen=True)
class Outcome:
    """The outcome of one claim's check.

    Attributes
    ----------
    claim : Claim, Addition or Sentence
        As recorded.
    evidence : Evidence or None
        What its check returned; None where there is no check, or where it broke down.
    error : str
        How the check broke down, in one sentence; else empty.
    seconds : float
        How long it took.
    """

    claim: ledger.Checked
    evidence: Evidence | None
    error: str = ""
    seconds: float = 0.0

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
    start = time.perf_counter()
    evidence, error = None, ""
    with one_blas_thread(), warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        try:
            evidence = ledger.check(claim)
        except Exception as problem:  # whatever a check may raise is reported, never shown as a traceback
            error = " ".join(f"{type(problem).__name__}: {problem}".split())
    return Outcome(claim, evidence, error, time.perf_counter() - start)


def run(
    claims: Iterable[ledger.Checked], jobs: int = 1, done: Callable[[Outcome], object] | None = None
) -> list[Outcome]:
    """Run the checks of some claims.

    Parameters
    ----------
    claims : iterable of Claim, Addition or Sentence
        What to check.
    jobs : int
        How many processes, each with one BLAS thread; 1 stays in this process.
    done : callable, optional
        Called with each outcome as it comes in, in no particular order.

    Returns
    -------
    list of Outcome
        In the order of `claims`.

    Examples
    --------
    >>> import edgelaw_ledger as claims
    >>> [outcome] = claims.run([claims.load()["C2"]])
    >>> outcome.confirmed
    True
    """
    claims, done = list(claims), done or (lambda outcome: None)
    whole(jobs, "jobs", 1)
    if jobs == 1 or len(claims) < 2:
        outcomes = {}
        for claim in claims:
            outcomes[claim.id] = examine(claim)
            done(outcomes[claim.id])
    else:
        outcomes = _parallel(claims, min(jobs, len(claims)), done)
    return [outcomes[claim.id] for claim in claims]


def _parallel(claims, jobs, done):
    """Outcomes by id, from a pool of processes that start afresh with one thread each."""
    before = {name: os.environ.get(name) for name in _ONE_THREAD}
    os.environ.update(dict.fromkeys(_ONE_THREAD, "1"))
    outcomes = {}
    pool = ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"))
    try:
        futures = {pool.submit(examine, claim): claim for claim in claims}
        for future in as_completed(futures):
            claim = futures[future]
            try:
                outcomes[claim.id] = future.result()
            except BrokenProcessPool:
                outcomes[claim.id] = Outcome(claim, None, "The process that ran the checks died.")
            done(outcomes[claim.id])
    finally:
        pool.shutdown(cancel_futures=True)
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
    return outcomes
