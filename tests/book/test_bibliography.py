"""The bibliography: each entry says what was seen of it and is cited; pages that build on others' ideas cite them."""

import re

import pytest
from pybtex.database import parse_file
from test_claims_cited import CHAPTERS, PAGES, ROOT, prose

ENTRIES = parse_file(ROOT / "references.bib").entries
LINKS = {"doi": r"10\.\d{4,}/\S+", "eprint": r"\d{4}\.\d{4,5}|[a-z-]+/\d{7}"}


def cited(path):
    """The keys that a page cites."""
    return {key for keys in re.findall(r"\{cite:[pt]\}`([^`]+)`", prose(path)) for key in keys.split(",")}


def test_every_entry_is_cited_and_every_citation_has_an_entry():
    assert set().union(*map(cited, [*CHAPTERS, *PAGES])) == set(ENTRIES)


def test_every_entry_says_what_was_seen_of_the_text():
    notes = {key: entry.fields.get("note", "") for key, entry in ENTRIES.items()}
    assert [key for key, note in notes.items() if not re.search(r"\b(not )?seen\b|^Read in full", note)] == []


def test_links_have_the_form_of_their_kind_and_stand_in_their_own_field():
    for key, entry in ENTRIES.items():
        for kind in LINKS.keys() & entry.fields.keys():
            assert re.fullmatch(LINKS[kind], entry.fields[kind]), key
        assert not re.search(r"arXiv:|doi", entry.fields.get("journal", "") + entry.fields["note"]), key


@pytest.mark.parametrize("name", ["12", "13", "14", "15", "appendix_shuffle_buffers"])
def test_pages_that_build_on_ideas_of_others_cite_them(name):
    (path,) = (path for path in CHAPTERS if path.stem.startswith(name))
    assert len(cited(path) - {"ahle2026stochastic"}) >= 2
