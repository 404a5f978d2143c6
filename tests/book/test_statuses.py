"""One status for each result: boxes of chapters, docstrings, pages and the ledger say the same, linked by labels."""

import ast
import re
from collections import defaultdict

from test_claims_cited import CHAPTERS, PAGES, ROOT, prose

import edgelaw_ledger as claims

WORDS = ("conjectured", "measured", "fitted", "derived", "cited", "proved")  # the weakest first
BOX = re.compile(r":label: (\S+)\n(?:(?!\n(?:```|:::)).)*?\nStatus: \*\*(\w+)\*\*", re.S)
STATUS = re.compile(r"(?<!not )\b(proved|derived|cited|conjectured)\b\**(?: here\b|\s\(([\w-]+))?", re.I)
REFERRED = re.compile(rf"(?<!not )\b({'|'.join(WORDS)})\b[^.;,`|]{{0,30}}?[(:] ?\{{prf:ref\}}`([^`]+)`")


def docstrings():
    """Every docstring of the library and of the application, by its place."""
    for path in sorted([*ROOT.glob("lib/edgelaw/**/*.py"), *ROOT.glob("lib/edgelaw_app/**/*.py")]):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                place = f"{path.relative_to(ROOT)}: {getattr(node, 'name', 'module')}"
                yield place, ast.get_docstring(node) or ""


def disagreements(boxes, texts, own, additions, sentences):
    """What two places say differently, in words."""
    named = boxes | {name: entry.known for name, entry in sentences.items()}
    for place, text in texts:
        for word, label in REFERRED.findall(text):
            if boxes[label] != word:
                yield f"{place}: {label} is {boxes[label]}, not {word}"
    for place, text in own:
        for match in STATUS.finditer(text):
            word, label = match[1].lower(), match[2]
            if label is None and (word == "proved" or not match[0].endswith("here")):
                yield f"{place}: {word}, but by which box? Name it: *{word.capitalize()}* (thm-a)"
            elif label and named.get(label) != word:
                yield f"{place}: {label} is {named.get(label, 'nowhere')}, not {word}"
    for entry in additions:
        weakest = min((boxes[x] for x in re.findall(r"\{prf:ref\}`([^`]+)`", entry.see)), key=WORDS.index)
        if entry.known != weakest:
            yield f"the addition {entry.id} is {entry.known}, its boxes are {weakest}"
    by_check = defaultdict(set)
    for entry in [*additions, *sentences.values()]:
        by_check[entry.check].add(entry.known)
    for check, known in by_check.items():
        if check and len(known) > 1 and check not in sentences:
            yield f"{check} backs what is {' and what is '.join(sorted(known))}"


def collected():
    """What `disagreements` compares, as it stands."""
    texts = [(path.name, prose(path)) for path in (*CHAPTERS, *PAGES, ROOT / "README.md")]
    boxes = {label: word for _, text in texts for label, word in BOX.findall(text)}
    return [boxes, texts, list(docstrings()), claims.additions(), claims.load_sentences()]


def test_every_place_that_names_a_status_of_a_result_names_the_same():
    boxes, *rest = collected()
    assert len(boxes) > 90
    assert set(boxes.values()) <= set(WORDS)
    assert list(disagreements(boxes, *rest)) == []


def test_a_box_that_changes_its_status_disagrees_with_docstring_page_and_ledger():
    boxes, *rest = collected()
    named = (
        ("thm-four-constants", "iid.py"),
        ("thm-edge-orders", "results.md"),
        ("thm-gap-laws", "the addition"),
    )
    for label, place in named:
        assert any(place in words for words in disagreements(boxes | {label: "derived"}, *rest)), label
