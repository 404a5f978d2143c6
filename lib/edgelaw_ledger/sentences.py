"""The book's own ledger: each sentence of the book that states a result, with the check that backs it.

The entries are the ``[[sentence]]`` blocks of ``data/additions.toml``; the words of an entry stand on the page that
marks them, ``<!-- result 03-1 -->`` (``edgelaw_ledger.pages``). A ``[[box]]`` names the entry that checks a box. A
check backs the sentence as quantified: what it says of all cells is computed for all of them.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgelaw.shipped import folder
from edgelaw_ledger import pages
from edgelaw_ledger.evidence import Evidence
from edgelaw_ledger.ledger import OWN, LedgerError, Own, entries
from edgelaw_ledger.recorded import Table

STATUSES = ("proved", "derived", "fitted", "measured")
_ID = re.compile(r"(\d\d|[a-z]{2,})-[1-9]\d*")
_CHECK = re.compile(r"edgelaw_ledger\.(own|checks)\.\w+:\w+")


@dataclass(frozen=True)
class Sentence(Own):
    """A sentence of the book that states a result."""

    id: str  # its page's number or short name and a running number, such as "03-1" or "intro-2"
    status: str
    text: str  # as its page prints it, in MyST, on one line; cells of a row are divided by " | "
    place: str  # its page, without the suffix: "chapters/03_shuffling_constants", "intro", "README"
    scope: str = ""  # what it ranges over, and so what the check ranges over
    check: str = ""  # "module:function"; empty where `rows` are the check, see `edgelaw_ledger.recorded`
    rows: Sequence[Mapping[str, Any]] = ()
    let: Sequence[str] = ()

    @property
    def known(self) -> str:
        """How it is known, under the name that claims use."""
        return self.status

    def function(self) -> Callable[..., Evidence] | None:
        """The function that checks this, or the table that does."""
        return Table(self.rows, self.let, self.scope) if self.rows else super().function()


def _problems(entry):
    """Everything wrong with one block, in words."""
    for key in sorted(set(entry) - {"id", "status", "scope", "check", "rows", "let"}):
        yield f"there is no key {key!r}"
    for key in ("id", "status", "scope", "check"):
        if key in entry and not (isinstance(entry[key], str) and entry[key].strip()):
            yield f"{key} must be text that says something"
            return
    if ("check" in entry) == ("rows" in entry) or ("rows" in entry and "scope" not in entry):
        yield "an entry has either a check or rows with a scope"
    if not _ID.fullmatch(entry["id"]):
        yield "an id is a chapter's two digits or a page's short name, a hyphen and a number, such as 03-1"
    if entry.get("status") not in STATUSES:
        yield f"the status must be one of {', '.join(STATUSES)}, not {entry.get('status')!r}"
    if not _CHECK.fullmatch(entry.get("check", "edgelaw_ledger.own.edges:name")):
        yield (
            f"the check must look like 'edgelaw_ledger.own.edges:name' or be the id of an entry, not {entry['check']!r}"
        )


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
    """Read and validate the sentences, by id; an entry whose check is the id of another takes the rest from that."""
    path = Path(path or folder() / "additions.toml")
    blocks, marked = entries(path, OWN)["sentence"], _marked(path.resolve().parent.parent)
    by_id = {block.get("id"): block for block in blocks}
    sentences: dict[str, Sentence] = {}
    for block in blocks:
        name = block.get("id", "A sentence")
        if block.get("check") in by_id:
            first = by_id[block["check"]]
            block = first | {key: value for key, value in block.items() if key != "check"}
        for complaint in _problems(block):
            raise LedgerError(f"{name}: {complaint}.")
        if name in sentences:
            raise LedgerError(f"{name} stands twice.")
        if name not in marked:
            raise LedgerError(f"{name}: no page marks its words by <!-- result {name} -->.")
        text, place = marked[name]
        sentences[name] = Sentence(**block, text=text, place=place)
        sentences[name].function()
    for name in sorted(set(marked) - set(sentences)):
        raise LedgerError(
            f"{name} is marked in {marked[name][1]}, but data/additions.toml has no such entry."
        )
    return sentences


def load_boxes(path: Path | str | None = None) -> dict[str, list[str]]:
    """The ids of the entries that check a box, by its label, beside those that an addition's ``see`` names."""
    checks: dict[str, list[str]] = {}
    for entry in entries(path or folder() / "additions.toml", OWN)["box"]:
        if set(entry) != {"label", "entry"} or not all(isinstance(value, str) for value in entry.values()):
            raise LedgerError(f"A box has a label and the id of an entry that checks it, unlike {entry!r}.")
        checks.setdefault(entry["label"], []).append(entry["entry"])
    return checks


def status_counts(sentences: Iterable[Sentence]) -> dict[str, int]:
    """How many sentences have each status, every status listed."""
    tally = Counter(sentence.status for sentence in sentences)
    return {status: tally[status] for status in STATUSES}
