"""Every theorem-like box says how it is known, and only what is proved or cited is called a theorem."""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "sphinx"))

import boxes  # noqa: E402

import edgelaw_ledger as claims  # noqa: E402
from edgelaw_ledger.pages import sources  # noqa: E402

TOC = re.findall(r"(?:root|file): (\S+)", (ROOT / "_toc.yml").read_text())


def test_every_box_of_the_book_says_how_it_is_known():
    paths = {path.relative_to(ROOT).with_suffix("").as_posix(): path for path in sources(ROOT)}
    read = boxes.read([(name, paths[name]) for name in TOC])
    assert len(read) > 40
    assert boxes.problems(read, boxes.entries(), boxes.known_entries()) == []


def problems(tmp_path, text, checks=None):
    """What is complained of on a page with this text."""
    path = tmp_path / "page.md"
    path.write_text(text)
    return boxes.problems(boxes.read([("page", path)]), checks or {}, claims.IDS)


BOX = """:::{dropdown} More
```{prf:theorem} Small
:label: thm-small

It is small.

Status: **proved**, given {prf:ref}`thm-large`.
```
:::
"""


def test_a_proved_theorem_is_let_pass_wherever_it_stands(tmp_path):
    assert problems(tmp_path, BOX) == []
    assert problems(tmp_path, BOX.replace("proved", "cited")) == []
    assert problems(tmp_path, BOX.replace("theorem", "definition").replace("Status", "State")) == []


def test_a_theorem_without_its_status_or_with_another_is_caught(tmp_path):
    for before, after, complaint in (
        ("Status: **proved**, given {prf:ref}`thm-large`.", "", "has no line 'Status"),
        ("Status: **proved**", "Status: proved", "has no line 'Status"),
        ("**proved**", "**hoped**", "has no line 'Status"),
        ("It is small.", "Status: **derived**", "has no line 'Status"),
        ("**proved**", "**derived**", "is derived: what is neither proved nor cited"),
        ("**proved**", "**conjectured**", "is conjectured: what is neither"),
    ):
        for kind in boxes.PROVED:
            text = BOX.replace("prf:theorem", f"prf:{kind}").replace(before, after)
            [(place, found)] = problems(tmp_path, text)
            assert place == "page"
            assert f"the {kind} thm-small {complaint}" in found


def test_a_result_needs_a_check_and_a_conjecture_none(tmp_path):
    result = BOX.replace("prf:theorem", "prf:observation").replace("**proved**", "**derived**")
    [(_, complaint)] = problems(tmp_path, result)
    assert "no entry of data/additions.toml says what checks it" in complaint
    assert problems(tmp_path, result, {"thm-small": ["C2"]}) == []
    assert problems(tmp_path, result.replace("derived", "conjectured")) == []
    [(place, complaint)] = problems(tmp_path, "# Empty", {"thm-gone": ["C2"]})
    assert (place, complaint) == ("data/additions.toml", "there is no box thm-gone")


def test_checks_of_boxes_come_from_additions_and_blocks(tmp_path):
    assert boxes.entries()["thm-four-constants"] == ["effective_steps"]
    path = tmp_path / "additions.toml"
    path.write_text("[[box]]\nlabel = 'a'\nentry = 'E12'\n[[box]]\nlabel = 'a'\nentry = 'D15'\n")
    assert boxes.entries(path) == {"a": ["E12", "D15"]}
    path.write_text("[[box]]\nlabel = 'a'\nentry = 12\n")
    with pytest.raises(claims.LedgerError, match="id of an entry that checks it"):
        boxes.entries(path)
    assert {"E12", "exact_sums", *claims.load_sentences()} <= boxes.known_entries()
    result = BOX.replace("prf:theorem", "prf:observation").replace("**proved**", "**derived**")
    [(place, complaint)] = problems(tmp_path, result, {"thm-small": ["nowhere"]})
    assert (place, complaint) == (
        "data/additions.toml",
        "the box thm-small is to be checked by nowhere, which is no entry",
    )
