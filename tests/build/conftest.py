"""The tests of data/build: its folder is put on the path, and unchanged scripts are not tested twice (see last_run)."""

import os
import sys
from pathlib import Path

import last_run
import pytest

HERE = Path(__file__).resolve().parent
BUILD = HERE.parents[1] / "data" / "build"
sys.path.insert(0, str(BUILD))
REASON = last_run.reason()


class Unchanged(pytest.File):
    """A file of tests that is not even imported."""

    def collect(self):
        """Nothing but the reason, which the summary of the run shows."""
        pytest.skip(REASON)


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path, parent):
    """Put the reason in the place of the tests (and of a search for doctests in them)."""
    collectors = yield
    if REASON is None or file_path.parent != HERE or not file_path.name.startswith("test_"):
        return collectors
    return [Unchanged.from_parent(parent, path=file_path)]


def pytest_report_header():
    """Say at the top of a run of these tests alone what becomes of them."""
    return f"tests/build: skipped, because {REASON}" if REASON else "tests/build: they run"


def pytest_sessionfinish(session, exitstatus):
    """Record a run of all of these tests, whole and without a failure; one that skipped them all is no failure."""
    config = session.config
    if REASON and exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
        session.exitstatus = pytest.ExitCode.OK
    chosen = config.option.keyword or config.option.markexpr or config.option.deselect
    parallel = hasattr(config, "workerinput") or config.pluginmanager.has_plugin("dsession")
    if exitstatus or chosen or parallel or not os.environ.get(last_run.VARIABLE):
        return
    collected = {item.path for item in session.items}
    if any("::" in argument for argument in config.args) or not set(HERE.glob("test_*.py")) <= collected:
        return
    last_run.record()
