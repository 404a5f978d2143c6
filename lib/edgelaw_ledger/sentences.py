"""The book's own ledger: each sentence of the book that states a result, with the check that backs it.

The entries are the ``[[sentence]]`` blocks of ``data/additions.toml``; a ``[[no_result]]`` block of that file is a
sentence of a front page that states no result, and so needs no check; a ``[[box]]`` names the entry that checks a box.
A check backs the sentence as quantified: what it says of all cells is computed for all of them. That the words stand
in the book as they stand here is seen by the book's build (``tools/sphinx/sentence_pages.py``).
"""

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import ClassVar

from edgelaw.shipped import folder
from edgelaw_ledger.evidence import Evidence
from edgelaw_ledger.ledger import LedgerError, check_function, stated_numbers

STATUSES = ("proved", "derived", "fitted", "measured")
_ID = re.compile(r"(\d\d|[a-z]{2,})-[1-9]\d*")
_CHECK = re.compile(r"edgelaw_ledger\.(own|checks)\.\w+:\w+")
_BLOCKS = {"addition", "box", "no_result", "sentence"}


@dataclass(frozen=True)
class Sentence:
    """A sentence of the book that states a result.

    Attributes
    ----------
    id : str
        Its page's number or short name and a running number, such as "03-1" or "intro-2".
    text : str
        The sentence as printed, in MyST.
    place : str
        Its page, without the suffix: "chapters/03_shuffling_constants", "intro", "README".
    status : str
        "proved", "derived", "fitted" or "measured".
    check : str
        "module:function" of the check.
    """

    id: str
    text: str
    place: str
    status: str
    check: str

    verdict: ClassVar[str] = "holds"  # what is not so is not printed
    correction: ClassVar[str] = ""
    reason: ClassVar[str] = ""

    @property
    def known(self) -> str:
        """How it is known, under the name that claims use."""
        return self.status

    @property
    def quote(self) -> str:
        """The sentence, on one line."""
        return folded(self.text)

    def function(self) -> Callable[..., Evidence] | None:
        """The function that checks this."""
        return check_function(self.id, self.check)

    def stated(self) -> dict[str, float]:
        """The numbers that are stated: the check's keyword-only arguments that are floats, with defaults."""
        return stated_numbers(self.function())


@dataclass(frozen=True)
class NoResult:
    """A sentence of a front page that states no result: its page and its words."""

    place: str
    text: str


def folded(text: str) -> str:
    """A text with every run of white space as one blank, which is how sentences are compared.

    Examples
    --------
    >>> folded("two  lines\\n  as one ")
    'two lines as one'
    """
    return " ".join(text.split())


def _blocks(path, kind):
    """The blocks of one kind, of a file that has no others than the known ones."""
    path = folder() / "additions.toml" if path is None else path
    try:
        with open(path, "rb") as file:
            entries = tomllib.load(file)
    except (OSError, tomllib.TOMLDecodeError) as problem:
        raise LedgerError(f"The book's own ledger cannot be read: {problem}.") from problem
    for name in sorted(set(entries) - _BLOCKS):
        raise LedgerError(f"There is no block {name!r} in the book's own ledger, only {sorted(_BLOCKS)}.")
    return entries.get(kind, [])


def _problems(entry, kind):
    """Everything wrong with one block, in words."""
    names = [field.name for field in fields(kind)]
    for key in sorted(set(entry) - set(names)):
        yield f"there is no key {key!r}"
    for key in names:
        if not isinstance(entry.get(key), str) or not entry[key].strip():
            yield f"{key} must be text that says something"
            return
    if kind is NoResult:
        return
    if not _ID.fullmatch(entry["id"]):
        yield "an id is a chapter's two digits or a page's short name, a hyphen and a number, such as 03-1"
    if entry["status"] not in STATUSES:
        yield f"the status must be one of {', '.join(STATUSES)}, not {entry['status']!r}"
    if not _CHECK.fullmatch(entry["check"]):
        yield f"the check must look like 'edgelaw_ledger.own.orders:name', not {entry['check']!r}"


def load_sentences(path: Path | str | None = None) -> dict[str, Sentence]:
    """Read and validate the book's own sentences.

    Parameters
    ----------
    path : path-like, optional
        Another file than the one that ships.

    Returns
    -------
    dict of str to Sentence
        By id, in the order of the file.

    Raises
    ------
    LedgerError
        If an entry breaks a rule, its check cannot be found, or an id stands twice.
    """
    entries: dict[str, Sentence] = {}
    for entry in _blocks(path, "sentence"):
        name = entry.get("id", "A sentence")
        for complaint in _problems(entry, Sentence):
            raise LedgerError(f"{name}: {complaint}.")
        if name in entries:
            raise LedgerError(f"{name} stands twice.")
        entries[name] = Sentence(**entry)
        entries[name].function()
    return entries


def load_no_results(path: Path | str | None = None) -> list[NoResult]:
    """Read and validate the sentences of the front pages that state no result, in the order of the file."""
    entries = []
    for entry in _blocks(path, "no_result"):
        for complaint in _problems(entry, NoResult):
            raise LedgerError(f"A sentence without a result, {entry!r}: {complaint}.")
        entries.append(NoResult(**entry))
    return entries


def load_boxes(path: Path | str | None = None) -> dict[str, list[str]]:
    """Which entries check a box: the ids of claims, additions or sentences, by the label of the box.

    A box that an addition's ``see`` names needs no block here. That box and entry exist is seen by the book's build.
    """
    checks: dict[str, list[str]] = {}
    for entry in _blocks(path, "box"):
        if set(entry) != {"label", "entry"} or not all(isinstance(value, str) for value in entry.values()):
            raise LedgerError(f"A box has a label and the id of an entry that checks it, unlike {entry!r}.")
        checks.setdefault(entry["label"], []).append(entry["entry"])
    return checks


def status_counts(entries: Iterable[Sentence]) -> dict[str, int]:
    """How many sentences have each status, every status listed."""
    tally = Counter(entry.status for entry in entries)
    return {status: tally[status] for status in STATUSES}
