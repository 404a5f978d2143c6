"""The words that pages mark as results, ``... at every step. <!-- result 03-1 -->``; in Python, ``# result cli-1``."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

MARKER = re.compile(r"[ \t]*<!-- result (\S+) -->")
_COMMENT = re.compile(r"# result (\S+)$")
#: Pages for those who work on the book.
_ASIDE = {"CHANGELOG.md", "CONTRIBUTING.md"}
#: Lines that belong to no paragraph: empty ones, headings, fences, labels, options of directives.
_BETWEEN = re.compile(r"\s*(?:$|#+ |`{3}|:{3}|\([\w-]+\)=\s*$|:[\w-]+:(\s|$))")
_BULLET = re.compile(r"\s*([-*+]|\d+\.)\s+")
_IMAGE = re.compile(r"!\[([^\]]*)\]\([^)]*\)")
# Code, roles, formulas, links and substitutions: a full stop in one of them ends no sentence.
_OPAQUE = re.compile(r"(`+).+?\1|\$\$.+?\$\$|\$[^$]+\$|\[[^\]]*\]\([^)]*\)|\{\{.*?\}\}")
_END = re.compile(r"[.?!][*_)\]\"'”’]*(?=\s+[^a-z\s])")
#: Where a full stop ends no sentence.
_ABBREVIATIONS = {"al", "ch", "cf", "e.g", "eq", "fig", "i.e", "sec", "vs"}


def folded(text: str) -> str:
    """A text with every run of white space as one blank."""
    return " ".join(text.split())


def last_sentence(text: str) -> str:
    """The last sentence of a paragraph; the words that stand for an image are sentences too.

    >>> last_sentence("One, e.g. `a. B`. **Two is $x. Y$.**")
    '**Two is $x. Y$.**'
    """
    text = folded(_IMAGE.sub(r"\1", text))
    masked, start = _OPAQUE.sub(lambda match: "X" * len(match[0]), text), 0
    for match in _END.finditer(masked):
        word = re.search(r"[\w.]*$", masked[: match.start()])
        if match[0][0] != "." or (word and word[0].lower() not in _ABBREVIATIONS):
            start = match.end()
    return text[start:].strip()


def in_text(text: str) -> Iterator[tuple[str, str]]:
    """Each marker of a MyST text, and the sentence, bullet or row that it ends, cells divided by " | ".

    >>> list(in_text("- In a list, the bullet. All of it. <!-- result 03-1 -->"))
    [('03-1', 'In a list, the bullet. All of it.')]
    """
    block, bullet = "", False
    for line in text.splitlines():
        between, item = _BETWEEN.match(line), _BULLET.match(line)
        if between or item or line.startswith("|"):
            block, bullet = "", bool(item)
        start = between or item
        *marked, rest = re.split(MARKER, line[start.end() if start else 0 :])
        for words, name in zip(marked[::2], marked[1::2], strict=True):
            block += f" {words}"
            if line.startswith("|"):
                cells = re.split(r"(?<!\\)\|", block.strip(" |"))
                yield name, " | ".join(folded(cell) for cell in cells)
            else:
                yield name, folded(block) if bullet else last_sentence(block)
            block, bullet = "", False
        block += "" if between else f" {rest}"


def _strings(node: ast.AST) -> Iterator[ast.Constant | ast.JoinedStr]:
    """The strings of a program, f-strings whole."""
    if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str)):
        yield node
    else:
        for child in ast.iter_child_nodes(node):
            yield from _strings(child)


def _template(string: ast.Constant | ast.JoinedStr) -> str:
    """The words of a string, with "…" for each of its fields."""
    parts = string.values if isinstance(string, ast.JoinedStr) else [string]
    return folded("".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in parts))


def in_code(source: str) -> Iterator[tuple[str, str]]:
    """Each marker of a Python file, and the longest string that it stands at, with "…" for each field."""
    lines = source.splitlines()
    strings = list(_strings(ast.parse(source))) if any(map(_COMMENT.search, lines)) else []
    for number, line in enumerate(lines, 1):
        if marker := _COMMENT.search(line):
            above = line.lstrip().startswith("#")
            near = (one for one in strings if number == (one.lineno - 1 if above else one.end_lineno))
            yield marker[1], max(map(_template, near), key=len, default="")


def pieces(path: Path) -> list[str]:
    """The texts of a page: all of it, or a notebook's markdown, displayed tables and captions, in order."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".ipynb":
        return [text]
    texts = []
    for cell in json.loads(text)["cells"]:
        if cell["cell_type"] == "markdown":
            texts.append("".join(cell["source"]))
        texts += ["".join(out.get("data", {}).get("text/markdown", "")) for out in cell.get("outputs", ())]
        texts.append(cell["metadata"].get("mystnb", {}).get("figure", {}).get("caption", ""))
    return texts


def sources(root: Path) -> list[Path]:
    """The files of a book that may mark results."""
    found = [path for path in root.glob("*.md") if path.name not in _ASIDE]
    for folder in ("chapters", "reference"):
        found += [path for path in (root / folder).glob("*") if path.suffix in (".md", ".ipynb")]
    found += [root / "tools" / "pictures.py", *(root / "lib" / "edgelaw_app").rglob("*.py")]
    return sorted(path for path in found if path.is_file())


def results(root: Path) -> Iterator[tuple[str, str, str]]:
    """What a book marks: id, words, and the page without its suffix."""
    for path in sources(root):
        place = path.relative_to(root).with_suffix("").as_posix()
        for text in pieces(path):
            for name, words in in_code(text) if path.suffix == ".py" else in_text(text):
                yield name, words, place
