"""Fetch MathJax at build time, so that formulas render with the network off and no third-party code is committed."""

import hashlib
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "assets" / "mathjax"
# MathJax 3.2.2 (Apache-2.0), as packaged on PyPI: a reader has pip, but perhaps no npm.
PACKAGE, SHA256 = (
    "sphinx-mathjax-offline==0.0.2",
    "206418155b2ff2f57496fb8501fdccae3da978e53031ff296c73729ba16062c4",
)
INSIDE = "sphinx-mathjax-offline/static/mathjax/"
KEEP = ("tex-mml-chtml.js", "output/chtml/fonts/woff-v2/", "input/tex/extensions/")


def fetch():
    """Put MathJax under assets/ unless it is there; return None, or a sentence that says why it could not be had."""
    if (FOLDER / "tex-mml-chtml.js").exists():
        return None
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
        command += ["--no-deps", "--only-binary", ":all:", "--retries", "1", "--dest", folder, PACKAGE]
        result = subprocess.run(command, capture_output=True, text=True)
        wheels = list(Path(folder).glob("*.whl"))
        if result.returncode or not wheels:
            return f"MathJax could not be fetched ({PACKAGE} did not download)."
        if hashlib.sha256(wheels[0].read_bytes()).hexdigest() != SHA256:
            return f"MathJax was fetched, but {PACKAGE} is not the file expected (its sha256 differs)."
        partial = FOLDER.with_suffix(".partial")
        shutil.rmtree(partial, ignore_errors=True)
        with zipfile.ZipFile(wheels[0]) as wheel:
            for name in wheel.namelist():
                inner = name.removeprefix(INSIDE)
                if inner.startswith(KEEP) and inner != name:
                    target = partial / inner
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(wheel.read(name))
        partial.rename(FOLDER)
    return None
