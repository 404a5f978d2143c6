"""Build the HTML book from nothing, with warnings as errors; with nothing changed, only say where it is."""

import hashlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

import imagesize
import yaml
from sphinx.ext.mathjax import MATHJAX_URL

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
# Thebe, which declares one constant twice a page, and 1.5 MB of icons, which the theme's style sheet has as a font.
UNUSED = re.compile(
    r"<script(?: [^>]*(?:sphinx-thebe|fontawesome)\.js[^>]*)?>(?:const THEBE_JS_URL[^<]*)?</script>\s*"
)
PICTURE = re.compile(
    r'(<figure[^>]*>\s*)?<img (?![^>]*width=)([^>]*src="[^"]*_images/([^"/]+\.png)"[^>]*)/?>'
)
WIDE = (
    770  # pixels: the words of a wider picture, mostly one of several panels, would be too small on a phone
)
# A formula or a name of code, with the marks before and behind it: a line must not end between them.
FORMULA = r'<span class="math[^"]*">[^<]*</span>'
CODE = r'(?:<a [^>]*>)?<code class="[^"]*literal[^>]*>(?:<span[^>]*>[^<]*</span>| )*</code>(?:</a>)?'
TIED = re.compile(rf"([(\[“‘]*)({FORMULA}|{CODE})([,.;:!?)\]”’]*)")
SHORT = 24  # characters of code that stay on one line together with the mark behind them


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


def polished(article, images):
    """A text whose pictures have sizes and may be swiped sideways, and whose lines end where they may."""

    def sized(match):
        width, height = imagesize.get(images / match[3])
        image = f'<img width="{width}" height="{height}" {match[2].rstrip(" /")} />'
        if match[1] and width > WIDE:
            image = f'<div class="figure-scroll" style="--drawn: {width}px">{image}</div>'
        return (match[1] or "") + image

    def tied(match):
        if not match[1] + match[3]:
            return match[0]
        short = " short" if len(re.sub("<[^>]*>", "", match[2])) <= SHORT else ""
        return f'<span class="no-break{short}">{match[0]}</span>'

    parts = re.split(r"(<pre.*?</pre>)", PICTURE.sub(sized, article), flags=re.S)
    parts[::2] = [TIED.sub(tied, part) for part in parts[::2]]
    return "".join(parts)


def finish():
    """Polish the text of each page, drop scripts that nobody needs, and ask for MathJax where ours was not fetched."""
    for page in HTML.rglob("*.html"):
        text = UNUSED.sub("", page.read_text(encoding="utf-8"))
        text = re.sub(
            "<article.*</article>", lambda match: polished(match[0], HTML / "_images"), text, flags=re.S
        )
        if not (ROOT / "assets" / "mathjax").exists():
            text = re.sub(r'"[^"]*_static/mathjax/tex-mml-chtml\.js[^"]*"', f'"{MATHJAX_URL}"', text)
        page.write_text(text, encoding="utf-8")


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
    finish()
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
