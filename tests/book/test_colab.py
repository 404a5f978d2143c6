"""Playing Colab: a fresh environment with unpinned packages, the notebook file alone, the package from a repository.

`make test` plays the first chapter, EDGELAW_COLAB=all every one. The first chapter installs the package from the
repository, as its first cell says; the others, whose first cell says the same, install the wheel that this makes of the
repository, so that it is made once. What Colab brings is kept in .colab-venv, and apart from it torch, for the chapters
that import it. Every chapter gets a machine of its own on top of them, an environment in which nothing else is
installed. A worker's machines have one address after the other, so that the machine code which
the first of them compiles serves the next: the compiler knows it by the address and the contents of its source.
"""

import fcntl
import json
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
COLAB, TORCH = (ROOT / ".colab-venv" / name for name in ("colab", "torch"))
UNPINNED = ["numpy", "scipy", "matplotlib", "mpmath", "numba", "rich", "jinja2", "ipykernel", "nbclient"]


def run(*command, **options):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-3000:]
    return result.stdout


def pip(machine, *arguments):
    return run(machine / "bin" / "python", "-m", "pip", "--disable-pip-version-check", *arguments)


def packages(machine):
    (folder,) = machine.glob("lib/python*/site-packages")
    return folder


def layer(machine, *below):
    """An empty environment that sees the packages of those below; what is installed goes to itself alone."""
    run(sys.executable, "-m", "venv", "--without-pip", machine)
    (packages(machine) / "below.pth").write_text("".join(f"{packages(other)}\n" for other in below))


def filled(machine, create, *requirements):
    """Make an environment that is kept, once: with several workers the first makes it and the others wait."""
    machine.parent.mkdir(exist_ok=True)
    with open(f"{machine}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (machine / ".filled").exists():
            shutil.rmtree(machine, ignore_errors=True)
            create()
            pip(machine, "install", "--no-compile", *requirements)  # of most of them little is imported
            (machine / ".filled").touch()
    return machine


@pytest.fixture(scope="session")
def colab():
    """What Colab brings, in whatever versions are newest today."""
    return filled(COLAB, lambda: run(sys.executable, "-m", "venv", COLAB), *UNPINNED)


@pytest.fixture(scope="session")
def torch(colab):
    """The same and torch."""
    return filled(TORCH, lambda: layer(TORCH, colab), "torch==2.13.0")


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


@pytest.fixture(scope="session")
def wheel(colab, clone, tmp_path_factory):
    """The wheel that pip makes of the repository when a chapter installs it."""
    folder = tmp_path_factory.mktemp("wheel")
    pip(colab, "wheel", "--no-deps", "--wheel-dir", folder, f"git+file://{clone}")
    (path,) = folder.iterdir()
    return path


@pytest.fixture
def machine(tmp_path_factory):
    """Where the next machine goes, and goes from again; beside it, what was compiled is kept."""
    folder = tmp_path_factory.getbasetemp() / "machine"
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def versions(machine):
    """Installed versions of what Colab brings itself, as the machine's own Python finds them."""
    script = """
import importlib.metadata, json
found = {}
for name in ("numpy", "torch"):
    try:
        found[name] = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        pass
print(json.dumps(found))
"""
    return json.loads(run(machine / "bin" / "python", "-c", script))


def needs_torch(notebook):
    return any(
        "torch" in cell.source or "samplers" in cell.source
        for cell in notebook.cells
        if cell.cell_type == "code"
    )


def clean():
    """The environment of a reader's shell."""
    own = ("PYTHONPATH", "VIRTUAL_ENV", "MPLBACKEND")
    return {key: value for key, value in os.environ.items() if key not in own}


def test_the_wheel_alone_answers_in_an_empty_environment(wheel, machine, tmp_path):
    """With nothing but what it requires; then with the extra that brings the command line."""
    run(sys.executable, "-m", "venv", machine)
    pip(machine, "install", "--no-compile", wheel)
    here = {"cwd": tmp_path, "env": clean()}
    script = """
import numpy as np, edgelaw
from edgelaw import shipped
rows = np.random.default_rng(0).standard_normal((80, 40))
np.save("rows.npy", rows)
answer = edgelaw.predict(rows, 20)
assert answer.advice.order in answer.orders and answer.advice.lr > 0, answer.advice
assert shipped.cifar10().features.shape[1] == 2048
"""
    run(machine / "bin" / "python", "-c", script, **here)
    command = [machine / "bin" / "edgelaw", "spectrum", "rows.npy"]
    bare = subprocess.run(command, capture_output=True, text=True, **here)
    assert (bare.returncode, bare.stdout) == (1, "")
    assert "pip install 'edgelaw[cli]'" in bare.stderr
    pip(machine, "install", "--no-compile", f"{wheel}[cli]")
    assert "left edge" in run(*command, **here)
    inside = [
        machine / "bin" / "python",
        "-c",
        "import edgelaw_ledger",
    ]  # it checks a clone, and no wheel has it
    assert subprocess.run(inside, capture_output=True, **here).returncode == 1


@pytest.mark.parametrize(
    "path", CHAPTERS if os.environ.get("EDGELAW_COLAB") == "all" else CHAPTERS[:1], ids=lambda path: path.stem
)
def test_the_chapter_runs_alone_on_a_fresh_machine(path, colab, machine, tmp_path, request):
    notebook = nbformat.read(path, as_version=4)
    below = [request.getfixturevalue("torch"), colab] if needs_torch(notebook) else [colab]
    layer(machine, *below)
    before = versions(machine)
    assert before.keys() == ({"numpy", "torch"} if needs_torch(notebook) else {"numpy"})
    first = next(cell for cell in notebook.cells if cell.cell_type == "code")
    assert f"git+{address.stated()}" in first.source
    if path == CHAPTERS[0]:
        source = f"git+file://{request.getfixturevalue('clone')}"
    else:
        source = str(request.getfixturevalue("wheel"))
    first.source = first.source.replace(f"git+{address.stated()}", source)
    nbformat.write(notebook, tmp_path / "alone.ipynb")
    script = "import nbformat, nbclient as c; c.NotebookClient(nbformat.read('alone.ipynb', 4), timeout=600).execute()"
    environment = clean()
    environment["NUMBA_CACHE_DIR"] = str(machine.with_name("machine-code"))
    environment["PATH"] = f"{machine / 'bin'}{os.pathsep}{environment['PATH']}"
    run(machine / "bin" / "python", "-c", script, cwd=tmp_path, env=environment)
    assert (packages(machine) / "edgelaw").is_dir()  # installed by the chapter itself, and here alone
    assert not (packages(machine) / "numpy").exists()
    assert versions(machine) == before
