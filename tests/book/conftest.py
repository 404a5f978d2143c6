"""The tools are scripts, not a package: make them importable for the tests that hold them to account."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tools" / "sphinx"), str(ROOT / "data" / "build")]


@pytest.fixture(scope="session")
def root():
    return ROOT
