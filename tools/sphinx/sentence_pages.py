"""Sphinx extension: the build fails when a sentence that states a result is not in the book's own ledger.

Of every chapter each bullet of its Summary, of chapter 12 each row of the table under "What to do", and of the front
pages (the first page with the captions of its figures, the README, the words in the pictures, the command line's
recommendation) each sentence must be a ``[[sentence]]`` of data/additions.toml, word for word; a front page's sentence
may also be a ``[[no_result]]`` of that file. Conversely each of these entries must stand at its place.
"""

import functools
import re
from pathlib import Path

import prose
from sphinx.util import logging

import edgelaw_ledger as claims

logger = logging.getLogger(__name__)
#: Pages each of whose sentences is an entry, or is listed as stating no result.
FRONT = ("intro", "README", "tools/pictures", "lib/edgelaw_app/forecast/ranking")
ADVICE = ("chapters/12_your_data", r"What to do")
SUMMARY = r"Summary\s*$"
BULLETS = range(3, 6)
#: The README's count of verdicts is compared with data/claims.toml by a test of its own.
COUNTS = re.compile(r"\*\*Of \d+ claims \d+ hold, [^.]*\.\*\*")


@functools.lru_cache(maxsize=64)
def _texts(path, _changed):
    """Every sentence, bullet and row of a page, as a set."""
    if path.suffix == ".py":
        return frozenset(prose.printed(path))
    pieces = prose.cells(path)
    return frozenset(
        unit.text for piece in pieces for whole in (False, True) for unit in prose.units(piece, whole)
    )


def _start(text):
    """The first words of a sentence, to find it by."""
    return text if len(text) < 90 else f"{text[:80]} …"


def misplaced(root, entries):
    """Entries whose words do not stand at their place, as pairs of (place, complaint)."""
    for entry in entries:
        path = prose.source(root, entry.place)
        name = getattr(entry, "id", "a sentence listed as stating no result")
        if path is None:
            yield "data/additions.toml", f"{name}: there is no page {entry.place!r}"
        elif prose.folded(entry.text) not in _texts(path, path.stat().st_mtime_ns):
            words = _start(prose.folded(entry.text))
            yield entry.place, f"{name} does not stand on this page word for word: {words!r}"


def _backed(entries, place):
    """The words of a page's entries."""
    return {prose.folded(entry.text) for entry in entries if entry.place == place}


def unbacked_front(root, place, sentences, no_results):
    """What a front page says without an entry, as complaints."""
    path = prose.source(root, place)
    if path is None:
        return [f"there is no page {place!r}"]
    backed, empty = _backed(sentences, place), _backed(no_results, place)
    complaints = [f"{_start(text)!r} is both a result and none" for text in sorted(backed & empty)]
    if path.suffix == ".py":
        texts = prose.printed(path)
    else:
        texts = [unit.text for piece in prose.cells(path) for unit in prose.units(piece)]
    return complaints + [
        f"this sentence has no entry in the book's own ledger, nor is it listed as stating no result: {text!r}"
        for text in texts
        if text not in backed | empty and not COUNTS.fullmatch(text)
    ]


def summary_problems(path, place, sentences, no_results=(), required=True):
    """What is wrong with a chapter's Summary, as complaints."""
    parts = [part for piece in prose.cells(path) if (part := prose.section(piece, SUMMARY)) is not None]
    if len(parts) != 1:
        complaint = f"a chapter has one section '## Summary', not {len(parts)}"
        return [complaint] if required or parts else []
    units = prose.units(parts[0], whole_bullets=True)
    bullets = [unit.text for unit in units if unit.kind == "bullet"]
    complaints = []
    if len(bullets) not in BULLETS:
        complaints.append(f"a Summary has 3 to 5 bullets in the cell of its heading, not {len(bullets)}")
    complaints += [
        f"a bullet of a Summary is one sentence: {_start(text)!r}"
        for text in bullets
        if len(prose.split(text)) > 1
    ]
    backed, empty = _backed(sentences, place), _backed(no_results, place)
    for unit in units:
        if unit.text not in backed and (unit.kind == "bullet" or unit.text not in empty):
            complaints.append(
                f"this {unit.kind} of the Summary has no entry with its words: {_start(unit.text)!r}"
            )
    return complaints


def advice_problems(path, place, title, sentences):
    """Rows of the table of advice that have no entry, as complaints."""
    part = prose.section("\n\n".join(prose.cells(path)), title)
    rows = [unit.text for unit in prose.units(part or "") if unit.kind == "row"]
    if not rows:
        return [f"there is no table under the heading {title!r}"]
    backed = _backed(sentences, place)
    return [
        f"this row of advice has no entry with its words: {_start(row)!r}"
        for row in rows
        if row not in backed
    ]


def problems(root, front=FRONT, advice=ADVICE):
    """Where the book and its own ledger disagree, as pairs of (place, complaint)."""
    ledger = root / "data" / "additions.toml"
    try:
        sentences = list(claims.load_sentences(ledger).values())
        no_results = claims.load_no_results(ledger)
    except claims.LedgerError as error:
        return [("data/additions.toml", str(error))]
    complaints = list(misplaced(root, [*sentences, *no_results]))
    for place in front:
        complaints += [(place, text) for text in unbacked_front(root, place, sentences, no_results)]
    for path in sorted((root / "chapters").glob("*.ipynb")):
        place, required = f"chapters/{path.stem}", bool(re.match(r"\d", path.stem))
        texts = summary_problems(path, place, sentences, no_results, required)
        if advice and place == advice[0]:
            texts += advice_problems(path, *advice, sentences)
        complaints += [(place, text) for text in texts]
    return complaints


def _complain(app):
    """Warn of each disagreement: the book is built with warnings as errors."""
    for place, complaint in problems(Path(app.srcdir)):
        logger.warning("%s: %s", place, complaint)


def setup(app):
    """Compare book and ledger before any page is read, whatever is built."""
    app.connect("builder-inited", _complain)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
