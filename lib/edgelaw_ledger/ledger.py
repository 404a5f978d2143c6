"""The ledger itself, ``data/claims.toml``: one entry per claim of the paper, read and validated here.

A verdict is recorded once, in that file. Whatever shows one (the book's pages, the terminal, the README's
counts) reads it from there.
"""

import importlib
import inspect
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from pathlib import Path

from edgelaw.shipped import folder
from edgelaw_ledger.evidence import VERDICTS, Evidence

KNOWN = ("proved", "derived", "fitted", "measured", "read")
#: What each group of claims is about, and where the paper makes them.
GROUPS = {
    "A": "Introduction and background (abstract, Sections 1 and 2)",
    "B": "IID sampling (Section 3, Appendix B)",
    "C": "Free probability (Section 4, Appendix C)",
    "D": "Single shuffle at step 1 (Section 4, Appendix D)",
    "E": "Flip-flop at step 1 (Section 4, Appendix E)",
    "F": "Learning rates (Appendix F)",
    "G": "Conjecture, experiments and recommendations (Sections 5 to 7)",
    "H": "The left edge and its regimes (Appendix A)",
}
_NUMBERS = {"A": 35, "B": 13, "C": 21, "D": 32, "E": 23, "F": 30, "G": 22, "H": 24}
#: Every claim, in the order of the file: which there are is said here. There are no F19, F20 and F21.
IDS = tuple(
    f"{group}{i}"
    for group, last in _NUMBERS.items()
    for i in range(1, last + 1)
    if f"{group}{i}" not in ("F19", "F20", "F21")
)


class LedgerError(ValueError):
    """The ledger breaks one of its rules; the message says which entry and which rule."""


class Checked:
    """What has a check: a claim of the paper, or what the book says itself."""

    id: str
    check: str
    verdict: str
    correction: str
    reason: str

    def function(self) -> Callable[..., Evidence] | None:
        """The function that checks this, or None where only reading can."""
        return check_function(self.id, self.check)

    def stated(self) -> dict[str, float]:
        """The numbers that are stated, by the name under which the check takes another one."""
        return stated_numbers(self.function())


@dataclass(frozen=True)
class Claim(Checked):
    """One entry of the ledger.

    Attributes
    ----------
    id : str
        A letter and a number, such as "E12".
    where : str
        Section, theorem or label of the paper.
    quote : str
        A few words of the paper's own, enough to find it.
    statement : str
        What is claimed, TeX between dollars.
    verdict : str
        "holds", "fails", "imprecise" or "open".
    correction : str
        What is true instead; empty only where the claim holds.
    known : str
        "proved", "derived", "fitted", "measured" or "read".
    check : str
        "module:function" of the check; empty only with a reason.
    chapter : str
        The chapter that discusses it.
    reason : str
        Why nothing can be computed, where nothing can.
    consequence : int
        For a claim that does not hold: 1 if a stated result, constant or recommendation changes, 2 if a proof,
        condition or remainder has to be repaired but what it leads to stands, 3 if only the wording or a
        scale does; 0 where it holds.
    """

    id: str
    where: str
    quote: str
    statement: str
    verdict: str
    correction: str
    known: str
    check: str
    chapter: str
    reason: str = ""
    consequence: int = 0

    @property
    def group(self) -> str:
        """The letter of the claim's group."""
        return self.id[0]

    @property
    def holds(self) -> bool:
        """Whether the recorded verdict is "holds"."""
        return self.verdict == "holds"


class Own(Checked):
    """What the book says itself: what is not so is not printed."""

    verdict, correction, reason = "holds", "", ""


@dataclass(frozen=True)
class Addition(Own):
    """A result of the book that the paper does not have: title, statement, how it is known, its check, its place."""

    title: str
    statement: str
    known: str
    check: str
    chapter: str
    see: str
    id: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", self.check.partition(":")[2])  # the name of its check

    @property
    def quote(self) -> str:
        """Its title."""
        return self.title


def check_function(name: str, check: str) -> Callable[..., Evidence] | None:
    """The function that a check's "module:function" names, for the entry of that name."""
    if not check:
        return None
    module, _, function = check.partition(":")
    try:
        return getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as problem:
        raise LedgerError(f"{name}: the check {check} cannot be found ({problem}).") from problem


def stated_numbers(function: Callable[..., Evidence] | None) -> dict[str, float]:
    """The keyword-only arguments of a function whose defaults are floats; of a table, the numbers of its rows."""
    if function is None:
        return {}
    if hasattr(function, "stated"):
        return function.stated
    parameters = inspect.signature(function).parameters.values()
    return {p.name: p.default for p in parameters if isinstance(p.default, float)}


_REQUIRED = tuple(field.name for field in fields(Claim) if field.name not in ("reason", "consequence"))


def _problems(entry):
    """Everything wrong with one entry, in words."""
    allowed = {field.name for field in fields(Claim)}
    for key in sorted(set(entry) - allowed):
        yield f"there is no key {key!r}"
    for key in _REQUIRED:
        if key not in entry:
            yield f"the key {key!r} is missing"
    for key, value in entry.items():
        if key != "consequence" and not isinstance(value, str):
            yield f"{key} must be text"
            return
        if key in ("where", "quote", "statement", "chapter") and not value.strip():
            yield f"{key} is empty"
        if key in ("where", "statement", "correction", "reason") and value.count("$") % 2:
            yield f"{key} has a dollar without its partner"
    verdict, check = entry.get("verdict"), entry.get("check", "")
    if verdict not in VERDICTS:
        yield f"the verdict must be one of {', '.join(VERDICTS)}, not {verdict!r}"
    if entry.get("known") not in KNOWN:
        yield f"known must be one of {', '.join(KNOWN)}, not {entry.get('known')!r}"
    if verdict != "holds" and not entry.get("correction", "").strip():
        yield "a claim that does not hold needs a correction"
    if check and not re.fullmatch(r"edgelaw_ledger\.checks\.\w+:\w+", check):
        yield f"the check must look like 'edgelaw_ledger.checks.flip_flop:e12', not {check!r}"
    if not check and not entry.get("reason", "").strip():
        yield "without a check there must be a reason"
    if check and entry.get("known") == "read":
        yield "what is known by reading has no check"
    if entry.get("consequence", 0) not in (0, 1, 2, 3) or isinstance(entry.get("consequence"), bool):
        yield "consequence must be 1, 2 or 3"
    if verdict == "holds" and entry.get("consequence"):
        yield "a claim that holds has no consequence"


def load(path: Path | str | None = None) -> dict[str, Claim]:
    """Read and validate the ledger.

    Parameters
    ----------
    path : path-like, optional
        Another file than the one that ships, which may leave claims out.

    Returns
    -------
    dict of str to Claim
        By id, in the order of the paper.

    Raises
    ------
    LedgerError
        If an entry breaks a rule, an id is not one of `IDS`, stands twice, out of order, or is left out.

    Examples
    --------
    >>> import edgelaw_ledger as claims
    >>> claims.load()["E12"].verdict
    'fails'
    """
    whole, path = path is None, folder() / "claims.toml" if path is None else path
    try:
        with open(path, "rb") as file:
            entries = tomllib.load(file)
    except (OSError, tomllib.TOMLDecodeError) as problem:
        raise LedgerError(f"The ledger cannot be read: {problem}.") from problem
    if set(entries) != {"claim"} or not isinstance(entries["claim"], list):
        raise LedgerError("The ledger must consist of [[claim]] entries and nothing else.")
    claims = {}
    for entry in entries["claim"]:
        name = entry.get("id")
        if name not in IDS:
            raise LedgerError(
                f"{name!r} is not the id of a claim; which there are is said by _NUMBERS in edgelaw_ledger/ledger.py."
            )
        if name in claims:
            raise LedgerError(f"{name} stands twice.")
        for complaint in _problems(entry):
            raise LedgerError(f"{name}: {complaint}.")
        claims[name] = Claim(**entry)
    if list(claims) != [name for name in IDS if name in claims]:
        raise LedgerError(f"The entries must stand in the order A1, A2, ..., {IDS[-1]}.")
    if whole and (absent := [name for name in IDS if name not in claims]):
        raise LedgerError(f"There is no entry of {', '.join(absent)}.")
    return claims


def additions(path: Path | str | None = None) -> list[Addition]:
    """What the book adds, from ``data/additions.toml``, in its order.

    Returns
    -------
    list of Addition
    """
    path = folder() / "additions.toml" if path is None else path
    with open(path, "rb") as file:
        entries = [Addition(**entry) for entry in tomllib.load(file).get("addition", [])]
    for entry in entries:
        if entry.known not in KNOWN or not entry.check:
            raise LedgerError(
                f"{entry.title}: known must be one of {', '.join(KNOWN)}, and there must be a check."
            )
    return entries


def counts(claims: Iterable[Claim | Evidence]) -> dict[str, int]:
    """How many claims have each verdict, every verdict listed.

    Parameters
    ----------
    claims : iterable of Claim or Evidence

    Returns
    -------
    dict of str to int
    """
    tally = Counter(claim.verdict for claim in claims)
    return {verdict: tally[verdict] for verdict in VERDICTS}


def check(claim: Checked, **stated: float) -> Evidence | None:
    """Run one claim's check, optionally with other numbers than those stated.

    Returns
    -------
    Evidence or None
        None where only reading can settle the claim.
    """
    function = claim.function()
    if function is None:
        return None
    evidence = function(**stated)
    if not isinstance(evidence, Evidence):
        raise TypeError(f"The check of {claim.id} must return Evidence, not {type(evidence).__name__}.")
    return evidence
