"""The tools are scripts, not a package: make them importable for the tests that hold them to account."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))


@pytest.fixture(scope="session")
def root():
    return ROOT
