"""The ledger itself, ``data/claims.toml``: one entry per claim of the paper, the only place of its verdict."""

import importlib
import inspect
import itertools
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, fields
from pathlib import Path

from edgelaw.shipped import folder
from edgelaw_ledger.evidence import VERDICTS, Evidence

#: The blocks of the book's own ledger, ``data/additions.toml``.
OWN = ("addition", "sentence", "box")
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
        module, _, function = self.check.partition(":")
        try:
            return getattr(importlib.import_module(module), function) if function else None
        except (ImportError, AttributeError) as problem:
            raise LedgerError(f"{self.id}: the check {self.check} cannot be found ({problem}).") from problem

    def stated(self) -> dict[str, float]:
        """What is stated, by name: a table's numbers, or a function's keyword-only arguments that are floats."""
        function = self.function()
        if function is None or hasattr(function, "stated"):
            return getattr(function, "stated", {})
        parameters = inspect.signature(function).parameters.values()
        return {p.name: p.default for p in parameters if isinstance(p.default, float)}


@dataclass(frozen=True)
class Claim(Checked):
    """One entry of the ledger; the head of its file says more about each field."""

    id: str  # a letter and a number, such as "E12"
    where: str  # section, theorem or label of the paper
    quote: str  # a few words of the paper's own, enough to find it
    statement: str  # what is claimed, TeX between dollars
    verdict: str
    correction: str  # what is true instead; empty only where the claim holds
    known: str
    check: str  # "module:function"; empty only with a reason
    chapter: str  # the one that discusses it
    reason: str = ""  # why nothing can be computed, where nothing can
    consequence: int = 0  # what it changes: 1 a result, 2 a proof, 3 the wording; 0 where it holds

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

    verdict, correction, reason, quote = "holds", "", "", ""


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


def entries(path: Path | str, blocks: Collection[str]) -> dict[str, list[dict]]:
    """The entries of a file, by the name of their block; there may be no other blocks than these."""
    try:
        with open(path, "rb") as file:
            read = tomllib.load(file)
    except (OSError, tomllib.TOMLDecodeError) as problem:
        raise LedgerError(f"{Path(path).name} cannot be read: {problem}.") from problem
    for name, block in read.items():
        if name not in blocks or not isinstance(block, list):
            raise LedgerError(f"There is no block {name!r} in {Path(path).name}, only {', '.join(blocks)}.")
    return {name: read.get(name, []) for name in blocks}


_REQUIRED = tuple(field.name for field in fields(Claim) if field.name not in ("reason", "consequence"))


def _problems(entry):
    """Everything wrong with one entry, in words."""
    allowed = {field.name for field in fields(Claim)}
    yield from (f"there is no key {key!r}" for key in sorted(set(entry) - allowed))
    yield from (f"the key {key!r} is missing" for key in _REQUIRED if key not in entry)
    for key, value in entry.items():
        if key != "consequence" and not isinstance(value, str):
            yield f"{key} must be text"
        elif key in ("where", "quote", "statement", "chapter") and not value.strip():
            yield f"{key} is empty"
        elif key in ("where", "statement", "correction", "reason") and value.count("$") % 2:
            yield f"{key} has a dollar without its partner"
    verdict, check, consequence = entry["verdict"], entry["check"], entry.get("consequence", 0)
    rules = {
        f"the verdict must be one of {', '.join(VERDICTS)}, not {verdict!r}": verdict in VERDICTS,
        f"known must be one of {', '.join(KNOWN)}, not {entry['known']!r}": entry["known"] in KNOWN,
        "a claim that does not hold needs a correction": verdict == "holds" or entry["correction"].strip(),
        f"the check must look like 'edgelaw_ledger.checks.flip_flop:e12', not {check!r}": not check
        or re.fullmatch(r"edgelaw_ledger\.checks\.\w+:\w+", check),
        "without a check there must be a reason": check or entry.get("reason", "").strip(),
        "what is known by reading has no check": not check or entry["known"] != "read",
        "consequence must be 1, 2 or 3": consequence in (0, 1, 2, 3),
        "a claim that holds has no consequence": verdict != "holds" or not consequence,
    }
    yield from (complaint for complaint, kept in rules.items() if not kept)


def load(path: Path | str | None = None) -> dict[str, Claim]:
    """Read and validate the ledger: all claims by id, in the order of the paper; another file may leave claims out."""
    claims = {}
    for entry in entries(path or folder() / "claims.toml", ("claim",))["claim"]:
        for complaint in _problems(entry):
            raise LedgerError(f"{entry.get('id')}: {complaint}.")
        if entry["id"] in claims:
            raise LedgerError(f"{entry['id']} stands twice.")
        claims[entry["id"]] = Claim(**entry)
    expected = [name for name in IDS if path is None or name in claims]
    for name, there in itertools.zip_longest(expected, claims):
        if name != there:
            raise LedgerError(
                f"{there or 'The end'} stands where {name or 'the end'} should: which claims there are, and in which "
                "order, is said by _NUMBERS in edgelaw_ledger/ledger.py."
            )
    return claims


def additions(path: Path | str | None = None) -> list[Addition]:
    """What the book adds, from ``data/additions.toml``, in its order."""
    path = path or folder() / "additions.toml"
    read = [Addition(**entry) for entry in entries(path, OWN)["addition"]]
    for entry in read:
        if entry.known not in KNOWN or not entry.check:
            raise LedgerError(
                f"{entry.title}: known must be one of {', '.join(KNOWN)}, and there must be a check."
            )
    return read


def counts(claims: Iterable[Claim | Evidence]) -> dict[str, int]:
    """How many claims have each verdict, every verdict listed."""
    tally = Counter(claim.verdict for claim in claims)
    return {verdict: tally[verdict] for verdict in VERDICTS}


def check(claim: Checked, **stated: float) -> Evidence | None:
    """Run a check, perhaps with other numbers than those stated; None where only reading can settle the claim."""
    function = claim.function()
    evidence = function(**stated) if function else None
    if function and not isinstance(evidence, Evidence):
        raise TypeError(f"The check of {claim.id} must return Evidence, not {type(evidence).__name__}.")
    return evidence
