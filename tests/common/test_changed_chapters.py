"""Which chapters have to be compared again: those that reach a file which has changed."""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
pytest.importorskip("nbformat")
import chapters

FILES = {
    "lib/edgelaw/__init__.py": "def __getattr__(name):\n    from edgelaw_app import forecast\n",
    "lib/edgelaw/data.py": "from edgelaw._common import numerics\n",
    "lib/edgelaw/_common/__init__.py": "",
    "lib/edgelaw/_common/numerics.py": "",
    "lib/edgelaw/theory/__init__.py": "from importlib import *\niid = import_module('edgelaw.theory.iid')\n",
    "lib/edgelaw/theory/iid.py": "def loss():\n    import edgelaw.laws\n",
    "lib/edgelaw/laws.py": "",
    "lib/edgelaw_app/__init__.py": "",
    "lib/edgelaw_app/forecast/__init__.py": "",
    "data/rows.npz": "",
    "requirements.txt": "",
}
CODE = {
    "data": "%pip install x\nfrom edgelaw import data",
    "theory": "from edgelaw import theory",
    "predict": "from edgelaw import predict",
    "own process": "import subprocess",
}


@pytest.fixture
def changed(tmp_path, monkeypatch):
    """A function that changes a file of a small tree: which chapters it changes."""
    monkeypatch.setattr(chapters, "ROOT", tmp_path)
    cells = {
        f"chapters/{name}.ipynb": {"cells": [{"cell_type": "code", "source": [code]}]}
        for name, code in CODE.items()
    }
    for name, content in (FILES | {name: json.dumps(cell) for name, cell in cells.items()}).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)

    def digests():
        chapters.reached.cache_clear()
        chapters.contents.cache_clear()
        return {name: chapters.digest(tmp_path / "chapters" / f"{name}.ipynb") for name in CODE}

    def change(file):
        before, content = digests(), (tmp_path / file).read_text()
        (tmp_path / file).write_text(f"{content} ")
        after = digests()
        (tmp_path / file).write_text(content)
        assert digests() == before
        return {name for name in CODE if after[name] != before[name]}

    yield change
    chapters.reached.cache_clear()
    chapters.contents.cache_clear()


def test_a_chapter_changes_with_itself_its_data_its_pins_and_the_modules_that_it_reaches(changed):
    assert changed("chapters/data.ipynb") == {"data"}
    assert changed("requirements.txt") == changed("data/rows.npz") == set(CODE)
    assert changed("lib/edgelaw/_common/numerics.py") == {"data", "own process"}
    assert changed("lib/edgelaw/theory/iid.py") == {"theory", "own process"}  # loaded by name
    assert changed("lib/edgelaw/laws.py") == {"theory", "own process"}  # imported inside a function
    behind_the_front_door = changed("lib/edgelaw_app/forecast/__init__.py")
    assert behind_the_front_door == {"predict", "own process"}
    assert changed("lib/edgelaw/__init__.py") == set(CODE)


def test_a_chapter_that_passed_is_skipped_until_it_changes_and_one_that_failed_never(
    tmp_path, changed, monkeypatch, capsys
):
    passed, ran, status = tmp_path / "_build" / "passed.json", [], {"data": 0, "theory": 1}
    paths = [tmp_path / "chapters" / f"{name}.ipynb" for name in status]
    monkeypatch.setattr(chapters, "notebooks", lambda only: paths)
    monkeypatch.setattr(
        chapters, "compare_one", lambda path, **_: ran.append(path.stem) or (status[path.stem], "", 1.0, 1.0)
    )
    for expected in (["data", "theory"], ["theory"]):
        ran.clear()
        with pytest.raises(SystemExit):
            chapters.compare((), False, passed)
        assert sorted(ran) == expected
    assert "Skipped, as nothing that they run has changed: data." in capsys.readouterr().out
    ran.clear()
    with pytest.raises(SystemExit):
        chapters.compare(())
    assert sorted(ran) == ["data", "theory"]
