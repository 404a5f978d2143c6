"""Build the HTML book from nothing, with warnings as errors; with nothing changed, only say where it is."""

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

import yaml

import mathjax

ROOT = Path(__file__).resolve().parent.parent
HTML = ROOT / "_build" / "html"
SOURCES = (
    "intro.md",
    "README.md",
    "*.yml",
    "*.bib",
    "requirements.txt",
    "reference/*.md",
    "chapters/**/*",
    "assets/**/*",
)
SOURCES += ("lib/**/*.py", "data/**/*", "tools/sphinx/*", "tools/book.py", "tools/pictures.py")
SOURCES += ("benchmarks/*.png", "benchmarks/*.md", "tests/conformance/*")
#: Pages that stood at the root until version 0.3: their addresses lead to where they are now.
MOVED = ("api", "bibliography", "certificates", "claims", "explorer", "gallery", "glossary")
MOVED += ("loaders", "notation", "results", "scaling")
REDIRECT = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Moved</title>
<link rel="canonical" href="{site}{target}"><meta name="robots" content="noindex">
<script>location.replace("{target}" + location.search + location.hash)</script>
<noscript><meta http-equiv="refresh" content="0; url={target}"></noscript>
<p>This page is now at <a href="{target}">{target}</a>.</p></html>
"""


def fingerprint():
    """A digest of everything the book is made of."""
    digest = hashlib.sha256()
    files = {path for pattern in SOURCES for path in ROOT.glob(pattern)}
    for path in sorted(files):
        if path.is_file() and "__pycache__" not in path.parts:
            digest.update(str(path.relative_to(ROOT)).encode() + path.read_bytes())
    return digest.hexdigest()


def redirect():
    """Write a page at each old address that leads to the new one, query and place included."""
    site = yaml.safe_load((ROOT / "_config.yml").read_text())["sphinx"]["config"]["html_baseurl"]
    for name in MOVED:
        page = REDIRECT.format(site=site, target=f"reference/{name}.html")
        (HTML / f"{name}.html").write_text(page, encoding="utf-8")


def problem():
    """Why the built book cannot be used as it is, in a sentence; empty if it can."""
    stamp = ROOT / "_build" / "fingerprint"
    if not (stamp.exists() and HTML.exists()):
        return "The book is not built: run make book first."
    if stamp.read_text() != fingerprint():
        return "The book was changed since it was built: run make book first."
    return ""


def build():
    """Build from nothing: Sphinx warns only of pages that it reads, and indexes the entries only of those it writes."""
    stamp, current = ROOT / "_build" / "fingerprint", fingerprint()
    stamp.unlink(missing_ok=True)
    for name in ("html", ".doctrees"):
        shutil.rmtree(ROOT / "_build" / name, ignore_errors=True)
    command = [Path(sys.executable).parent / "jupyter-book", "build", "-W", "-n", "--keep-going", ROOT]
    if subprocess.run(command, cwd=ROOT).returncode:
        sys.exit("The book was not built: the warnings above are errors.")
    redirect()
    stamp.write_text(current)


def main():
    """Fetch what is fetched at build time, build, and end with one line that says where the book is."""
    if unfetched := mathjax.fetch():
        print(f"{unfetched} Formulas will be loaded from MathJax's public address: this is an online build.")
    if problem():
        build()
    print(f"The book is at {(HTML / 'index.html').relative_to(ROOT)} (make serve shows it on localhost).")


if __name__ == "__main__":
    main()
