"""The tools are scripts, not a package: make them importable for the tests that hold them to account."""

import sys
from pathlib import Path

import pages
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tools" / "sphinx"), str(ROOT / "data" / "build")]


@pytest.fixture(scope="session")
def root():
    return ROOT


@pytest.fixture(scope="module")
def chromium():
    with pages.browser() as chromium:
        yield chromium


@pytest.fixture(scope="module")
def address():
    assert (pages.HTML / "index.html").exists(), "The book is not built: run make book first."
    with pages.served(pages.HTML) as address:
        yield address
