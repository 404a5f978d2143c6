"""The rule by which the tests of data/build are skipped: only if they passed on these very files, and visibly."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

RULE = Path(__file__).resolve().parent / "build"


@pytest.fixture
def house(tmp_path):
    """A repository with one build script and one test of it; a call runs the tests and gives what pytest prints."""
    build, tests = tmp_path / "data" / "build", tmp_path / "tests" / "build"
    for folder in (build, tests):
        folder.mkdir(parents=True)
    for name in ("conftest.py", "last_run.py"):
        shutil.copy(RULE / name, tests)
    (build / "script.py").write_text("ANSWER = 42\n")
    (tests / "test_script.py").write_text(
        "import script\n\n\ndef test_answer():\n    assert script.ANSWER == 42\n\n\ndef test_other():\n    pass\n"
    )
    environment = {
        key: value for key, value in os.environ.items() if not key.startswith(("EDGELAW", "PYTEST"))
    }

    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # what is not loaded costs no seconds
    # A script rewritten within a second, as long as before, would be taken from the bytecode of the old one.
    environment["PYTHONDONTWRITEBYTECODE"] = "1"

    def run(*options, always=False):
        more = {"EDGELAW_BUILD_TESTS": "1"} if always else {}
        command = [sys.executable, "-m", "pytest", "-ra", "-p", "no:cacheprovider", "tests/build", *options]
        ran = subprocess.run(command, cwd=tmp_path, env=environment | more, capture_output=True, text=True)
        run.status = ran.returncode
        return ran.stdout

    run.folder, run.record = tmp_path, tests / "LAST_RUN"
    return run


def test_scripts_that_passed_are_skipped_in_sight_and_any_edit_makes_their_tests_run(house):
    assert "2 passed" in house()
    assert not house.record.exists()  # only a run that was asked for is recorded
    assert "2 passed" in house(always=True)
    printed = house("--doctest-modules")
    assert "tests/build: skipped, because data/build is unchanged" in printed
    assert "SKIPPED [1]" in printed
    assert "EDGELAW_BUILD_TESTS=1 runs them" in printed
    assert "2 passed" not in printed
    assert house.status == 0
    assert "2 passed" in house(always=True)
    (house.folder / "data" / "build" / "script.py").write_text("ANSWER = 43\n")
    assert "1 failed, 1 passed" in house()
    assert house.status == 1


def test_a_run_of_a_part_or_with_a_failure_is_not_recorded(house):
    assert "1 passed" in house("-k", "answer", always=True)
    assert not house.record.exists()
    (house.folder / "data" / "build" / "script.py").write_text("ANSWER = 43\n")
    assert "1 failed" in house(always=True)
    assert not house.record.exists()


def test_the_hash_sees_contents_names_and_new_files_but_no_bytecode(house, monkeypatch):
    monkeypatch.syspath_prepend(RULE)
    import last_run

    build, seen = house.folder / "data" / "build", set()
    first = last_run.digest(house.folder)
    (build / "__pycache__").mkdir()
    (build / "__pycache__" / "script.pyc").write_bytes(b"\0")
    house.record.write_text("a record of itself")
    assert last_run.digest(house.folder) == first
    (build / "more.py").write_text("")
    seen.add(last_run.digest(house.folder))
    (build / "more.py").rename(build / "other.py")
    seen.add(last_run.digest(house.folder))
    (build / "other.py").write_text("x = 1\n")
    seen.add(last_run.digest(house.folder))
    assert len(seen | {first}) == 4


def test_what_is_hashed_is_there(monkeypatch):
    monkeypatch.syspath_prepend(RULE)
    import last_run

    assert last_run.RECORD.parent == RULE
    assert all((last_run.ROOT / name).exists() for name in last_run.EXERCISED)
