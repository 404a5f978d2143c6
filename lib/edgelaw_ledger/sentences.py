"""The book's own ledger: each sentence of the book that states a result, with the check that backs it.

The entries are the ``[[sentence]]`` blocks of ``data/additions.toml``; the words of an entry stand on the page that
marks them, ``<!-- result 03-1 -->`` (``edgelaw_ledger.pages``). A ``[[box]]`` names the entry that checks a box. A
check backs the sentence as quantified: what it says of all cells is computed for all of them.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgelaw.shipped import folder
from edgelaw_ledger import pages
from edgelaw_ledger.evidence import Evidence
from edgelaw_ledger.ledger import LedgerError, Own, check_function
from edgelaw_ledger.recorded import Table

STATUSES = ("proved", "derived", "fitted", "measured")
_ID = re.compile(r"(\d\d|[a-z]{2,})-[1-9]\d*")
_CHECK = re.compile(r"edgelaw_ledger\.(own|checks)\.\w+:\w+")
_BLOCKS = {"addition", "box", "sentence"}
_TEXTS = ("id", "status", "scope", "check")
_TABLES = ("rows", "let")


@dataclass(frozen=True)
class Sentence(Own):
    """A sentence of the book that states a result.

    Attributes
    ----------
    id : str
        Its page's number or short name and a running number, such as "03-1" or "intro-2".
    status : str
        "proved", "derived", "fitted" or "measured".
    text : str
        The sentence as its page prints it, in MyST, on one line; cells of a row are divided by " | ".
    place : str
        Its page, without the suffix: "chapters/03_shuffling_constants", "intro", "README".
    scope : str
        What it ranges over, and so what the check ranges over; empty where nothing is said of that.
    check : str
        "module:function" of the check; empty where `rows` are the check.
    rows, let : sequence
        A table that reads what is recorded, see :mod:`edgelaw_ledger.recorded`.
    """

    id: str
    status: str
    text: str
    place: str
    scope: str = ""
    check: str = ""
    rows: Sequence[Mapping[str, Any]] = ()
    let: Sequence[str] = ()

    @property
    def known(self) -> str:
        """How it is known, under the name that claims use."""
        return self.status

    @property
    def quote(self) -> str:
        """The sentence, under the name that claims use."""
        return self.text

    def function(self) -> Callable[..., Evidence] | None:
        """The function that checks this, or the table that does."""
        return Table(self.rows, self.let, self.scope) if self.rows else check_function(self.id, self.check)


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


def _problems(entry):
    """Everything wrong with one block, in words."""
    for key in sorted(set(entry) - {*_TEXTS, *_TABLES}):
        yield f"there is no key {key!r}"
    for key in ("id", "status", *(key for key in ("scope", "check") if key in entry)):
        if not isinstance(entry.get(key), str) or not entry[key].strip():
            yield f"{key} must be text that says something"
            return
    if ("check" in entry) == ("rows" in entry):
        yield "an entry has either a check or rows"
    if "rows" in entry and "scope" not in entry:
        yield "an entry with rows has a scope"
    if not _ID.fullmatch(entry["id"]):
        yield "an id is a chapter's two digits or a page's short name, a hyphen and a number, such as 03-1"
    if entry["status"] not in STATUSES:
        yield f"the status must be one of {', '.join(STATUSES)}, not {entry['status']!r}"
    if "check" in entry and not _CHECK.fullmatch(entry["check"]):
        yield f"the check must look like 'edgelaw_ledger.own.edges:name', not {entry['check']!r}"


def _marked(root):
    """The words and the page of every result that the pages of a book mark, by id."""
    marked = {}
    for name, text, place in pages.results(root):
        first, page = marked.setdefault(name, (text, place))
        if not text:
            raise LedgerError(f"{name} is marked in {place}, but no words stand before the marker.")
        if text != first:
            raise LedgerError(f"{name} is marked twice, with other words in {place} than in {page}.")
    return marked


def load_sentences(path: Path | str | None = None) -> dict[str, Sentence]:
    """Read and validate the book's own sentences.

    Parameters
    ----------
    path : path-like, optional
        Another file than the book's, in the folder ``data`` of another book.

    Returns
    -------
    dict of str to Sentence
        By id, in the order of the file.

    Raises
    ------
    LedgerError
        If an entry breaks a rule, its check cannot be found, an id stands twice, or entries and markers differ.
    """
    path = folder() / "additions.toml" if path is None else Path(path)
    blocks, marked = _blocks(path, "sentence"), _marked(path.resolve().parent.parent)
    entries: dict[str, Sentence] = {}
    for block in blocks:
        name = block.get("id", "A sentence")
        for complaint in _problems(block):
            raise LedgerError(f"{name}: {complaint}.")
        if name in entries:
            raise LedgerError(f"{name} stands twice.")
        if name not in marked:
            raise LedgerError(f"{name}: no page marks its words by <!-- result {name} -->.")
        text, place = marked[name]
        entries[name] = Sentence(**block, text=text, place=place)
        entries[name].function()
    for name in sorted(set(marked) - set(entries)):
        raise LedgerError(
            f"{name} is marked in {marked[name][1]}, but data/additions.toml has no such entry."
        )
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
