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


@pytest.fixture(scope="session")
def built():
    """Refuse to look at a book that is not there."""
    assert (pages.HTML / "index.html").exists(), "The book is not built: run make book first."


@pytest.fixture(scope="module")
def address(built):
    with pages.served(pages.HTML) as address:
        yield address
