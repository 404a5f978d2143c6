"""Sentences, bullets and table rows of the book's pages, as they are written in MyST.

A page is a .md file, a notebook (its markdown, the captions of its figures and the tables that its cells display) or a
Python file (the texts that it prints). Code, terminal output, formulas on lines of their own and headings are no
sentences; a row of a table is one, its cells divided by " | ".
"""

import ast
import itertools
import json
import re
from typing import NamedTuple

from markdown_it import MarkdownIt
from mdit_py_plugins.colon_fence import colon_fence_plugin

PARSER = MarkdownIt("commonmark").enable("table").use(colon_fence_plugin)
#: Directives whose content is no prose: they are filled by the build.
SILENT = {"bibliography", "claims", "gallery", "ledger", "math", "results", "toctree"}
#: Where a full stop ends no sentence.
ABBREVIATIONS = {"al", "ch", "cf", "e.g", "eq", "fig", "i.e", "sec", "vs"}
IMAGE = re.compile(r"!\[([^\]]*)\]\([^)]*\)")
# Code, roles, formulas, links and substitutions: a full stop in one of them ends no sentence.
OPAQUE = re.compile(r"(`+).+?\1|\$\$.+?\$\$|\$[^$]+\$|\[[^\]]*\]\([^)]*\)|\{\{.*?\}\}", flags=re.S)
END = re.compile(r"[.?!][*_)\]\"'”’]*(?=\s+[^a-z\s])")
OPTION = re.compile(r"^:([\w-]+):[ \t]*(.*)\n?", flags=re.M)
TARGET = re.compile(r"^\([\w-]+\)=[ \t]*$", flags=re.M)


def folded(text):
    """A text with every run of white space as one blank; blanks at the ends of a table's row do not count."""
    text = re.sub(r"\s*\|\s*", " | ", text) if text.strip().startswith("|") else text
    return " ".join(text.strip().strip("|").split())


def split(text):
    """The sentences of a paragraph, white space folded; the words that stand for an image are sentences too."""
    spoken = [sentence for words in IMAGE.findall(text) for sentence in split(words)]
    text = re.sub(r"\[\s*\]\([^)]*\)", "", IMAGE.sub("", text))
    masked = OPAQUE.sub(lambda match: "X" * len(match[0]), text)
    sentences, start = [], 0
    for match in END.finditer(masked):
        word = re.search(r"[\w.]*$", masked[: match.start()])[0].lower()
        if match[0][0] != "." or word not in ABBREVIATIONS:
            sentences.append(text[start : match.end()])
            start = match.end()
    return [folded(part) for part in [*sentences, text[start:]] if part.strip()] + spoken


def directive(token):
    """The name of the directive that a fence is, its options and its content; the name is empty for code."""
    name = re.match(r"\{([\w:-]+)\}", token.info.strip())
    if not name:
        return "", {}, ""
    lines = token.content.split("\n")
    count = next((i for i, line in enumerate(lines) if not OPTION.fullmatch(line)), len(lines))
    options = dict(OPTION.fullmatch(line).groups() for line in lines[:count])
    return name[1], options, "\n".join(lines[count:])


class Unit(NamedTuple):
    """A sentence, a bullet or a row, and what it is: "sentence", "bullet" or "row"."""

    kind: str
    text: str


def units(text, whole_bullets=False):
    """The sentences and rows of a MyST text in its order; with `whole_bullets` a bullet of a list is one unit."""
    made, row, bullet, heading = [], None, None, False
    for token in PARSER.parse(TARGET.sub("", text)):
        if token.type in ("heading_open", "heading_close", "thead_open", "thead_close"):
            heading = token.type.endswith("open")
        elif token.type == "tr_open":
            row = []
        elif token.type == "tr_close":
            made += [Unit("row", " | ".join(row))] if row and not heading else []
            row = None
        elif token.type == "list_item_open" and whole_bullets and bullet is None:
            bullet = (token.level, [])
        elif token.type == "list_item_close" and bullet is not None and bullet[0] == token.level:
            made.append(Unit("bullet", folded(" ".join(bullet[1]))))
            bullet = None
        elif token.type == "inline" and not heading:
            if row is not None:
                row.append(folded(token.content))
            elif bullet is not None:
                bullet[1].append(token.content)
            else:
                made += [Unit("sentence", part) for part in split(token.content)]
        elif token.type in ("fence", "colon_fence"):
            name, options, content = directive(token)
            if name and name not in SILENT:
                made += [Unit("sentence", part) for part in split(options.get("alt", ""))]
                made += units(content, whole_bullets)
    return made


def section(text, title):
    """The part of a MyST text under the heading that matches `title`, up to the next one that is not below it."""
    tokens, lines = PARSER.parse(text), text.split("\n")
    start = rank = None
    for token, inside in itertools.pairwise(tokens):
        if token.type != "heading_open" or token.level:
            continue
        if start is not None and int(token.tag[1]) <= rank:
            return "\n".join(lines[start : token.map[0]])
        if start is None and re.match(title, inside.content):
            start, rank = token.map[1], int(token.tag[1])
    return None if start is None else "\n".join(lines[start:])


# Pages -----------------------------------------------------------------------------------------------------


def cells(path):
    """The pieces of a page: its text, or a notebook's markdown, captions and displayed tables, in order."""
    if path.suffix == ".md":
        return [path.read_text(encoding="utf-8")]
    pieces = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "markdown":
            pieces.append("".join(cell["source"]))
        for output in cell.get("outputs", ()):
            pieces.append("".join(output.get("data", {}).get("text/markdown", "")))
        pieces.append(cell["metadata"].get("mystnb", {}).get("figure", {}).get("caption", ""))
    return [piece for piece in pieces if piece.strip()]


def source(root, place):
    """The file of a page that is named without its suffix, or None."""
    files = (root / f"{place}{suffix}" for suffix in (".md", ".ipynb", ".py"))
    return next((file for file in files if file.is_file()), None)


def _template(node):
    """The text of a string or an f-string, with "…" for each of its fields."""
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else "…" for part in node.values)
    return node.value


def printed(path, words=3):
    """The texts of a Python file that have at least so many words outside their fields; docstrings are none."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):  # a docstring
            skipped.add(id(node.value))
        elif isinstance(node, ast.JoinedStr):  # its parts
            skipped |= {id(part) for value in node.values for part in ast.walk(value)}
    texts = []
    for node in ast.walk(tree):
        string = isinstance(node, ast.Constant) and isinstance(node.value, str)
        if (string or isinstance(node, ast.JoinedStr)) and id(node) not in skipped:
            template = _template(node)
            if " " in template.strip() and len(re.findall(r"[^\W\d_]{2,}", template)) >= words:
                texts.append(folded(template))
    return texts
