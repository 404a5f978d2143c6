"""Ways through the book: what a chapter needs, what comes next, and references that resolve both ways."""

import os
import re
from pathlib import Path

import nbformat
import pytest
import small_books

ROOT = Path(__file__).resolve().parents[2]
TOC = re.findall(r"(?:root|file): (\S+)", (ROOT / "_toc.yml").read_text())
CHAPTERS = [name for name in TOC if name.startswith("chapters/")]
NUMBERED = [name for name in CHAPTERS if re.match(r"chapters/\d", name)]
COMING = {"12_your_data"}  # may be named, by the role {chapter}, before it is there

BOX = re.compile(r"^:::\{container\} reading-order\n(.*?)\n:::$", flags=re.S | re.M)
ROLE = re.compile(r"\{(prf:ref|eq|numref|ref|doc|term|chapter)\}`([^`]+)`")


def source(name):
    return ROOT / f"{name}.ipynb" if name.startswith("chapters/") else ROOT / f"{name}.md"


def cells(name):
    """The markdown of a page in pieces: a notebook's cells (with the captions of its figures), or a page's sections."""
    path = source(name)
    if path.suffix == ".md":
        return [path.read_text()]
    pieces = []
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "markdown":
            pieces.append(cell.source)
        elif "figure" in cell.metadata.get("mystnb", {}):
            figure = cell.metadata["mystnb"]["figure"]
            pieces.append(f"({figure['name']})=\n{figure['caption']}")
    return pieces


def target(text):
    """What a role points at: `label`, or the label of `words <label>`."""
    named = re.fullmatch(r".*<([^<>]+)>", text, flags=re.S)
    return " ".join((named[1] if named else text).split())


# --------------------------------------------------------------------------------- what it needs, what is next


def missing(name, pieces, following=None):
    """What a chapter does not say about its place in the book, in words."""
    faults = []
    opening = next((piece for piece in pieces[:5] if "What you will learn" in piece), pieces[0])
    top, last = BOX.search(opening), BOX.search(pieces[-1])
    if not top:
        faults.append("no box ':::{container} reading-order' follows 'What you will learn' in its cell")
    else:
        if not re.match(r"\*\*Needs:\*\* \S", top[1]):
            faults.append("the box after 'What you will learn' does not begin with '**Needs:** ...'")
        if "What you will learn" not in opening[: top.start()]:
            faults.append("the box does not come after 'What you will learn'")
        if not re.search(r"^\*\*Next:\*\* \S", top[1], flags=re.M):
            faults.append("the box after 'What you will learn' has no line '**Next:** ...'")
    if not last or not re.match(r"\*\*Next:\*\* \S", last[1]):
        faults.append(
            "the last cell is not a box ':::{container} reading-order' that begins with '**Next:** ...'"
        )
    for place, box in (("opening", top), ("last", last)):
        after = box[1].split("**Next:**")[-1] if box else ""
        links = {
            target(text).split("/")[-1] for role, text in ROLE.findall(after) if role in ("doc", "chapter")
        }
        if box and not links:
            faults.append(f"'Next' in the {place} cell links to no chapter, by {{doc}} or {{chapter}}")
        if box and following and following.split("/")[-1] not in links:
            faults.append(f"'Next' in the {place} cell does not name the chapter that follows, {following}")
    return [f"{name}: {fault}" for fault in faults]


@pytest.mark.parametrize("name", CHAPTERS)
def test_the_chapter_says_what_it_needs_and_what_comes_next(name):
    after = NUMBERED[NUMBERED.index(name) + 1] if name in NUMBERED[:-1] else None
    assert missing(name, cells(name), after) == []


GOOD = [
    "# T\n\n**What you will learn**\n\n:::{container} reading-order\n**Needs:** nothing.\n\n**Next:** {doc}`b`.\n:::",
    ":::{container} reading-order\n**Next:** {doc}`b`.\n:::",
]


@pytest.mark.parametrize(
    ("before", "after", "complaint"),
    [
        (
            ":::{container} reading-order\n**Needs",
            ":::{container} other\n**Needs",
            "no box ':::{container} reading-order' follows",
        ),
        ("**Needs:** nothing.\n", "Nothing.\n", "does not begin with '**Needs:**"),
        ("**What you will learn**", "", "does not come after"),
        ("nothing.\n\n**Next:** {doc}`b`.", "nothing.", "no line '**Next:**"),
        ("{doc}`b`", "b", "links to no chapter"),
        ("{doc}`b`", "{doc}`c`", "does not name the chapter that follows, chapters/b"),
    ],
)
def test_a_chapter_that_does_not_say_it_is_caught(before, after, complaint):
    assert missing("a", GOOD, "chapters/b") == []
    assert complaint in " ".join(missing("a", [piece.replace(before, after) for piece in GOOD], "chapters/b"))


def test_the_first_page_has_a_path_of_half_an_hour_and_one_per_reader():
    text = (ROOT / "intro.md").read_text()
    section = text[text.index("## How to read it") :]
    short = re.search(r"\*\*In half an hour:\*\*(.*?)\n\n", section, flags=re.S)[1]
    named = [target(text).split("/")[-1] for role, text in ROLE.findall(short) if role in ("doc", "chapter")]
    assert named == ["03_shuffling_constants", "09_any_spectrum", "12_your_data"]
    for reader in ("With data and a deadline", "As a course", "As a researcher", "As a sceptic"):
        assert f"**{reader}:**" in section
    for page in ("gallery", "results", "notation", "glossary", "claims"):
        assert f"{{doc}}`reference/{page}`" in section


# ------------------------------------------------------------------------------------------- references resolve


def labels(text):
    """Every label that a piece of text defines."""
    names = re.findall(r"^:label: (\S+)", text, flags=re.M)
    names += re.findall(r"^\(([\w-]+)\)=", text, flags=re.M) + re.findall(r"^:name: (\S+)", text, flags=re.M)
    return names + re.findall(r"^\$\$ \(([\w-]+)\)", text, flags=re.M)


def terms():
    """The glossary's terms and their definitions."""
    text = (ROOT / "reference" / "glossary.md").read_text()
    definitions = {}
    for block in re.findall(r"^```\{glossary\}\n(.*?)^```", text, flags=re.S | re.M):
        for entry in re.findall(r"^(\S[^\n]*)\n((?:  \S[^\n]*\n)+)", block, flags=re.M):
            assert entry[0] not in definitions, f"{entry[0]!r} is in the glossary twice"
            definitions[entry[0]] = " ".join(entry[1].split())
    return definitions


DEFINED = {label: (name, piece) for name in TOC for piece in cells(name) for label in labels(piece)}
TERMS = terms()


def dangling(name, pieces):
    """References of a page that lead nowhere, in words."""
    faults = []
    for role, text in (match for piece in pieces for match in ROLE.findall(piece)):
        place = target(text)
        if role == "term":
            known = place.lower() in {term.lower() for term in TERMS}
        elif role == "doc":
            known = os.path.normpath(f"{Path(name).parent}/{place}") in TOC
        elif role == "chapter":
            known = f"chapters/{place}" in TOC or place in COMING
        else:
            known = place in DEFINED
        if not known:
            faults.append(f"{name}: {{{role}}}`{text}` leads nowhere")
    return faults


@pytest.mark.parametrize("name", TOC)
def test_every_reference_of_the_page_leads_somewhere(name):
    assert dangling(name, cells(name)) == []


@pytest.mark.parametrize("role", ["prf:ref", "eq", "numref", "ref", "doc", "term", "chapter"])
def test_a_reference_that_leads_nowhere_is_caught(role):
    assert dangling("chapters/x", [f"See {{{role}}}`words <nowhere>`."])


def test_labels_are_unique_in_the_whole_book():
    every = [label for name in TOC for piece in cells(name) for label in labels(piece)]
    assert len(every) > 150
    assert len(every) == len(set(every))


# ------------------------------------------------------------------------------------------ glossary and symbols


def test_the_glossary_explains_its_terms_and_links_to_where_they_are_at_work():
    assert len(TERMS) >= 35
    for term in ("epoch", "step", "IID", "random reshuffle", "single shuffle", "flip-flop", "test loss"):
        assert term in TERMS
    text = (ROOT / "reference" / "glossary.md").read_text()
    last = text[text.index("## How a result is known") :]
    for term, meaning in TERMS.items():
        assert len(meaning) > 40, term
        linked = re.search(r"\{(doc|prf:ref|eq|numref|py:\w+)\}", meaning)
        assert linked or f"\n{term}\n" in last, f"{term!r} does not say where it is defined"


@pytest.mark.parametrize("name", CHAPTERS)
def test_the_chapter_links_its_words_to_the_glossary(name):
    used = {
        target(text).lower() for piece in cells(name) for role, text in ROLE.findall(piece) if role == "term"
    }
    assert len(used) >= 2, (
        f"{name} has {len(used)} links to the glossary: {{term}}`...` at the first use of a word"
    )


def symbols():
    """Rows of the index of symbols: the symbol, and the label of its first use."""
    rows = []
    for line in (ROOT / "reference" / "notation.md").read_text().splitlines():
        parts = [part.strip() for part in line.strip().strip("|").split("|")]
        if line.startswith("| $"):
            assert len(parts) == 5, line
            first = re.match(r"\$(\\?[A-Za-z]+(?:_(?:\{[^}]*\}|\w))?)", parts[0])[1]
            _, text = ROLE.findall(parts[4])[-1]
            rows.append((first, target(text), parts[4]))
    return rows


@pytest.mark.parametrize(("symbol", "label", "cell"), symbols())
def test_a_symbol_is_to_be_seen_where_its_link_leads(symbol, label, cell):
    name, piece = DEFINED[label]
    assert symbol in piece, f"{symbol} is not in the piece of {name} that defines {label}"
    number = re.match(r"ch\. (\d+)", cell)
    assert f"chapters/{int(number[1]):02d}_" in name if number else "appendix" in cell and "appendix" in name


def test_the_index_of_symbols_is_no_short_list():
    assert len(symbols()) >= 30


# ------------------------------------------------------------------------------------------- a book of two pages


CONF = """
extensions = ["myst_parser", "sphinx_proof", "reading_pages"]
myst_enable_extensions = ["dollarmath", "colon_fence", "amsmath"]
html_theme = "basic"
"""
FIRST = """# First

## Statement

```{prf:theorem} Small
:label: thm-small

It is small.

Status: **proved**.
```

````{prf:observation} Result (derived): Large
:label: thm-large

It is large.

Status: **derived**, checked numerically.
````

$$
x = 1
$$ (eq-one)

Next is {chapter}`02_second`, later {chapter}`12_your_data`.
"""
SECOND = "# Second\n\n## A use\n\nBy {prf:ref}`thm-small`, {prf:ref}`thm-large` and {eq}`eq-one`.\n"
OWN_LEDGER = "[[box]]\nlabel = 'thm-large'\nentry = 'C2'\n"


def test_a_theorem_says_where_it_is_used_and_the_list_has_it_too(tmp_path):
    for name in ("chapters", "data", "reference"):
        (tmp_path / name).mkdir()
    (tmp_path / "data" / "additions.toml").write_text(OWN_LEDGER)
    (tmp_path / "conf.py").write_text(CONF)
    pages = "chapters/01_first\nchapters/02_second\nreference/results"
    (tmp_path / "index.md").write_text(f"# Book\n\n```{{toctree}}\n{pages}\n```\n")
    (tmp_path / "chapters" / "01_first.md").write_text(FIRST)
    (tmp_path / "chapters" / "02_second.md").write_text(SECOND)
    lists = "# Results\n\n```{results} boxes\n```\n\n## Equations\n\n```{results} equations\n```\n"
    (tmp_path / "reference" / "results.md").write_text(lists)
    status, complaints = small_books.build(tmp_path, "-W", "-n")
    assert status == 0, complaints
    first, second, page = (
        (tmp_path / "html" / name).read_text()
        for name in ("chapters/01_first.html", "chapters/02_second.html", "reference/results.html")
    )
    box = first[first.index('id="thm-small"') : first.index("equation-eq-one")]
    assert re.search(r'Used in: .*href="02_second.html#a-use".*chapter 2, A use', box)
    assert 'href="02_second.html">' in first
    assert "chapter 12 (your data)" in first
    theorem, equation = page.split('id="equations"')
    assert 'href="../chapters/01_first.html#thm-small"' in theorem
    assert re.search(
        r'Equation <a [^>]*href="../chapters/01_first.html#equation-eq-one"[^>]*>\(1\)</a>', equation
    )
    for part in (theorem, equation):
        assert 'href="../chapters/02_second.html#a-use"' in part
    assert "2 statements: 1 proved, 1 derived." in page
    assert re.search(r"thm-small.*: <span class=\"box-status status-proved\">proved</span>[.,]", page)
    assert re.search(r"thm-large.*status-derived\">derived</span>, checked by .*C2", page)
    assert "Result 1 " in first
    assert "(derived: Large)" in first
    assert re.search(r'href="01_first.html#thm-large"[^>]*>Result 1<', second)
    assert re.search(r'href="../chapters/01_first.html#thm-large"[^>]*>Result 1<', page)
    (tmp_path / "reference" / "results.md").write_text(lists.replace("boxes", "nonsense"))
    status, complaints = small_books.build(tmp_path, "-W", "-n")
    assert status != 0
    assert "no list of 'nonsense'" in complaints
    (tmp_path / "reference" / "results.md").write_text(lists)
    (tmp_path / "chapters" / "01_first.md").write_text(FIRST.replace("**proved**", "**derived**"))
    status, complaints = small_books.build(tmp_path, "-W", "-n", "--keep-going")
    assert status != 0
    assert "the theorem thm-small is derived" in complaints
