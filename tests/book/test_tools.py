"""The tools behind the Makefile, driven on small cases made to fail."""

import subprocess
import sys
from types import SimpleNamespace

import matplotlib.image as image
import nbformat
import numpy as np
import pytest

import book
import chapters
import environment
import mathjax
import pictures


def notebook(path, source, printed):
    outputs = [nbformat.v4.new_output("stream", name="stdout", text=printed)]
    cell = nbformat.v4.new_code_cell(source, execution_count=1, outputs=outputs)
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), path)
    return path


def test_a_chapter_whose_output_moved_is_caught_and_its_memory_is_measured(tmp_path):
    # A chapter whose outputs are the committed ones passes: the stage "chapters" shows it on all of them.
    moved = notebook(tmp_path / "moved.ipynb", "x = bytearray(400_000_000)\nprint(len(x))", "3\n")
    status, output, seconds, megabytes = chapters.compare_one(moved)
    assert status == 1
    assert "mismatch" in output
    assert 400 < megabytes < 800
    assert 0 < seconds < 60


def test_on_another_cpu_a_chapter_sees_its_kernels_and_two_threads_and_else_neither(tmp_path, monkeypatch):
    source = "import os\nprint(os.environ.get('OPENBLAS_CORETYPE'), os.environ['OMP_NUM_THREADS'])"
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.delenv("OPENBLAS_CORETYPE", raising=False)
    for another_cpu, printed in [(True, "Sandybridge 2\n"), (False, "None 1\n")]:
        path = notebook(tmp_path / "asking.ipynb", source, printed)
        monkeypatch.setattr(chapters, "notebooks", lambda only, path=path: [path])
        with pytest.raises(SystemExit) as stop:
            chapters.compare((), another_cpu=another_cpu)
        assert not stop.value.code


def test_where_mathjax_cannot_be_fetched_the_build_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(mathjax, "FOLDER", tmp_path / "mathjax")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    assert "could not be fetched" in mathjax.fetch()
    assert not list(tmp_path.iterdir())


def test_a_fetched_file_that_is_not_the_expected_one_is_refused(tmp_path, monkeypatch):
    def download(command, **_):
        folder = command[command.index("--dest") + 1]
        with open(f"{folder}/x.whl", "wb") as file:
            file.write(b"something else")
        return SimpleNamespace(returncode=0)

    monkeypatch.setattr(mathjax, "FOLDER", tmp_path / "mathjax")
    monkeypatch.setattr(mathjax.subprocess, "run", download)
    assert "sha256 differs" in mathjax.fetch()
    assert not list(tmp_path.iterdir())


def test_a_failed_build_is_forgotten_so_that_the_next_one_fails_too(tmp_path, monkeypatch):
    monkeypatch.setattr(book, "ROOT", tmp_path)
    monkeypatch.setattr(book, "HTML", tmp_path / "_build" / "html")
    monkeypatch.setattr(book.mathjax, "fetch", lambda: None)
    monkeypatch.setattr(book.subprocess, "run", lambda *_, **__: SimpleNamespace(returncode=1))
    (tmp_path / "_build" / ".doctrees").mkdir(parents=True)
    with pytest.raises(SystemExit, match="was not built"):
        book.main()
    assert not (tmp_path / "_build" / ".doctrees").exists()
    assert not (tmp_path / "_build" / "fingerprint").exists()


def test_a_python_that_cannot_make_environments_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(environment.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(environment.shutil, "which", lambda name: None)
    with pytest.raises(SystemExit, match="apt install python3-venv"):
        environment.create(tmp_path / "venv")


def test_help_teaches(root):
    for tool in ("environment.py", "chapters.py", "address.py", "pdf.py"):
        command = [sys.executable, root / "tools" / tool, "--help"]
        shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        assert "usage:" in shown
        assert len(shown) > 150


def test_the_pictures_of_the_first_page_are_what_the_library_draws_today(tmp_path, root):
    pictures.draw(tmp_path)
    for name in pictures.PICTURES:
        drawn, committed = (image.imread(folder / name) for folder in (tmp_path, root / "assets"))
        assert drawn.shape == committed.shape
        # Fonts and anti-aliasing may move a few pixels; another curve would move many.
        assert (np.abs(drawn - committed).max(axis=2) > 0.5).mean() < 2e-4, name
    assert drawn.shape[:2] == (630, 1200), "A shared link shows 1200 x 630 pixels."
