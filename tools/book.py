"""Build the HTML book with warnings as errors; with nothing changed, only say where it is."""

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

import mathjax

ROOT = Path(__file__).resolve().parent.parent
HTML = ROOT / "_build" / "html"
SOURCES = (
    "*.md",
    "reference/*.md",
    "*.yml",
    "*.bib",
    "requirements.txt",
    "chapters/**/*",
    "assets/**/*",
    "lib/**/*.py",
    "data/**/*",
)
SOURCES += ("tools/sphinx/*.py", "benchmarks/*.png", "benchmarks/*.md", "tests/conformance/*")


def fingerprint():
    """A digest of everything the book is made of."""
    digest = hashlib.sha256()
    files = {path for pattern in SOURCES for path in ROOT.glob(pattern)}
    for path in sorted(files):
        if path.is_file() and "__pycache__" not in path.parts:
            digest.update(str(path.relative_to(ROOT)).encode() + path.read_bytes())
    return digest.hexdigest()


def main():
    """Fetch what is fetched at build time, build, and end with one line that says where the book is."""
    problem = mathjax.fetch()
    if problem:
        print(f"{problem} Formulas will be loaded from MathJax's public address: this is an online build.")
    current, stamp = fingerprint(), ROOT / "_build" / "fingerprint"
    if not (stamp.exists() and stamp.read_text() == current and HTML.exists()):
        stamp.unlink(missing_ok=True)
        command = [Path(sys.executable).parent / "jupyter-book", "build", "-W", "-n", "--keep-going", ROOT]
        if subprocess.run(command, cwd=ROOT).returncode:
            # Sphinx warns of a page only when it reads it: forget what was read, or the next build would pass.
            shutil.rmtree(ROOT / "_build" / ".doctrees", ignore_errors=True)
            sys.exit("The book was not built: the warnings above are errors.")
        stamp.write_text(current)
    print(f"The book is at {(HTML / 'index.html').relative_to(ROOT)} (make serve shows it on localhost).")


if __name__ == "__main__":
    main()
