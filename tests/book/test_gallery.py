"""The gallery: every figure and table of the paper has a counterpart that exists; and proof that the check can fail."""

import copy
import re
import sys
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "sphinx"))

import ledger_pages  # noqa: E402

import edgelaw_ledger as claims  # noqa: E402

# What the paper has, in its order, by the labels of its source; three tables have none and are named by their section.
PAPER = [
    ("figure", "fig:iid-validation-intro"),
    ("figure", "fig:lr-dependence-intro"),
    ("figure", "fig:shuffle-methods"),
    ("figure", "fig:iid-validation"),
    ("table", "tab:shuffling-constants"),
    ("figure", "fig:tripledescent"),
    ("table", "tab:anisotropy"),
    ("figure", "fig:transformer-covtrain"),
    ("figure", "fig:single-shuffle-training"),
    ("table", "unnumbered: Summary of Asymptotic Expansions"),
    ("table", "unnumbered: Comparison of Shuffling Methods"),
    ("figure", "fig:single-shuffle-test-loss-lr"),
    ("figure", "fig:flip-flop-test-loss-lr"),
    ("table", "unnumbered: Summary: Learning Rate Dependence"),
]
ENTRIES = ledger_pages.floats(ROOT)
FIELDS = ("kind", "number", "label", "where", "title", "caption", "chapter", "ours")
CHAPTERS = {path.stem: path for path in (ROOT / "chapters").glob("*.ipynb")}


def problems(entries):
    """Everything that is wrong with the list of counterparts, in words."""
    listed = [(entry["kind"], entry["label"]) for entry in entries]
    complaints = [
        f"the paper's {kind} {label!r} has no counterpart"
        for kind, label in PAPER
        if (kind, label) not in listed
    ]
    if not complaints and listed != PAPER:
        complaints.append("the counterparts are not in the paper's order, or are too many")
    for entry in entries:
        complaints += [f"{entry['label']}: {fault}" for fault in faults(entry)]
    return complaints


def faults(entry):
    """What is wrong with one counterpart."""
    complaints = [f"no {name}" for name in FIELDS if not entry.get(name)]
    if complaints or entry["chapter"] not in CHAPTERS:
        return complaints or [f"there is no chapter {entry['chapter']}"]
    path = CHAPTERS[entry["chapter"]]
    figures, printed = ledger_pages.pictures(path)
    complaints += [
        f"no figure {name} in {path.stem}" for name in entry.get("figures", ()) if name not in figures
    ]
    if (entry["kind"] == "figure") != bool(entry.get("figures")):
        complaints.append("a figure is shown by figures, a table by its label and what it prints")
    if entry["kind"] == "table":
        cells = [
            cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "markdown"
        ]
        if sum(f"({entry.get('table')})=" in source for source in cells) != 1:
            complaints.append(f"no place {entry.get('table')} in {path.stem}")
        for words in entry.get("outputs") or ["nothing"]:
            if sum(words in text for text in printed) != 1:
                complaints.append(f"not one output of {path.stem} that says {words!r}")
    cited = re.findall(r"\{claim\}`([^`]*)`", entry["ours"])
    return complaints + [p for p in (ledger_pages.stance_problem(name, LEDGER) for name in cited) if p]


LEDGER = claims.load()


def test_every_figure_and_table_of_the_paper_has_a_counterpart_that_exists():
    assert [kind for kind, _ in PAPER].count("figure") == 9
    assert [kind for kind, _ in PAPER].count("table") == 5
    assert problems(ENTRIES) == []


def test_a_counterpart_that_is_not_there_is_caught():
    for index, (_, name) in enumerate(PAPER):
        left = ENTRIES[:index] + ENTRIES[index + 1 :]
        assert f"{name!r} has no counterpart" in " ".join(problems(left))
    for index, field, value, complaint in (
        (0, "figures", ["fig-nowhere"], "no figure fig-nowhere"),
        (0, "chapter", "99_nothing", "no chapter 99_nothing"),
        (0, "caption", "", "no caption"),
        (0, "ours", "It is so ({claim}`G20`).", "as if it held"),
        (1, "figures", [], "a figure is shown by figures"),
        (4, "table", "tab-nowhere", "no place tab-nowhere"),
        (4, "outputs", ["words that nothing prints"], "not one output"),
    ):
        entries = copy.deepcopy(ENTRIES)
        entries[index][field] = value
        assert complaint in " ".join(problems(entries))


def test_places_on_the_page_are_unique_and_readable():
    places = [ledger_pages.anchor(entry) for entry in ENTRIES]
    assert len(set(places)) == len(places)
    assert all(re.fullmatch(r"paper-[a-z0-9-]+", place) for place in places)
    assert "paper-figure-3" in places
    assert "paper-table-appendix-d-4" in places
