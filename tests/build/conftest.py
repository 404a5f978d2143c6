"""The build scripts are not a package: their folder is put on the path, as running one of them does."""

import sys
from pathlib import Path

BUILD = Path(__file__).resolve().parents[2] / "data" / "build"
sys.path.insert(0, str(BUILD))
