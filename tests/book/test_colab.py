"""Playing Colab: a fresh environment with unpinned packages, the notebook file alone, the package from a repository.

`make test` plays the first chapter, EDGELAW_COLAB=all every one. The environment is kept in .colab-venv; a chapter
that imports torch gets torch as well.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

import address

ROOT = Path(__file__).resolve().parents[2]
CHAPTERS = sorted((ROOT / "chapters").glob("*.ipynb"))
VENV = ROOT / ".colab-venv"
UNPINNED = ["numpy", "scipy", "matplotlib", "mpmath", "numba", "ipykernel", "nbclient"]


def run(*command, **options):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-3000:]
    return result.stdout


def pip(*arguments):
    return run(VENV / "bin" / "python", "-m", "pip", "--disable-pip-version-check", *arguments)


@pytest.fixture(scope="session")
def colab():
    """The environment, with whatever versions are newest today."""
    if not (VENV / ".filled").exists():
        shutil.rmtree(VENV, ignore_errors=True)
        run(sys.executable, "-m", "venv", VENV)
        pip("install", *UNPINNED)
        (VENV / ".filled").touch()
    return VENV


@pytest.fixture(scope="session")
def clone(tmp_path_factory):
    """The working tree as a repository of one commit, so that what is tested is what would be committed."""
    folder = tmp_path_factory.mktemp("clone")
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in filter(None, run(*listing, cwd=ROOT).split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    author = ["-c", "user.name=nobody", "-c", "user.email=nobody@example.org"]
    run("git", "init", "-q", cwd=folder)
    run("git", "add", "-A", cwd=folder)
    run("git", *author, "commit", "-q", "-m", "as it is", cwd=folder)
    return folder


def versions():
    """Installed versions of what Colab brings itself."""
    lines = pip("list", "--format", "freeze").splitlines()
    return {
        name: version for name, version in (line.split("==") for line in lines) if name in ("numpy", "torch")
    }


def needs_torch(notebook):
    return any(
        "torch" in cell.source or "samplers" in cell.source
        for cell in notebook.cells
        if cell.cell_type == "code"
    )


@pytest.mark.parametrize(
    "path", CHAPTERS if os.environ.get("EDGELAW_COLAB") == "all" else CHAPTERS[:1], ids=lambda path: path.stem
)
def test_the_chapter_runs_alone_on_a_fresh_machine(path, colab, clone, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    if needs_torch(notebook):
        pip("install", "torch==2.13.0")
    pip("uninstall", "--yes", "edgelaw")
    for leftover in VENV.glob("lib/python*/site-packages/edgelaw"):  # compiled code that pip did not install
        shutil.rmtree(leftover)
    before = versions()
    first = next(cell for cell in notebook.cells if cell.cell_type == "code")
    assert f"git+{address.stated()}" in first.source
    first.source = first.source.replace(f"git+{address.stated()}", f"git+file://{clone}")
    nbformat.write(notebook, tmp_path / "alone.ipynb")
    script = "import nbformat, nbclient as c; c.NotebookClient(nbformat.read('alone.ipynb', 4), timeout=600).execute()"
    environment = {
        key: value
        for key, value in os.environ.items()
        if key not in ("PYTHONPATH", "VIRTUAL_ENV", "MPLBACKEND")
    }
    environment["PATH"] = f"{colab / 'bin'}{os.pathsep}{environment['PATH']}"
    run(colab / "bin" / "python", "-c", script, cwd=tmp_path, env=environment)
    assert "edgelaw" in pip("list")
    assert versions() == before
    assert "numpy" in before
