"""Whether the tests of data/build have already passed on exactly the files that they exercise.

They take long and change rarely. A full run that passes, ``EDGELAW_BUILD_TESTS=1 python -m pytest tests/build``,
records a hash of those files in LAST_RUN. As long as it stays the same, other runs skip these tests and say so. Any
edit makes them run again, and so does EDGELAW_BUILD_TESTS, which the hosted workflow sets.
"""

import hashlib
import os
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
RECORD = HERE / "LAST_RUN"
VARIABLE = "EDGELAW_BUILD_TESTS"
EXERCISED = (  # folders and files; the versions that torch and NumPy are pinned to belong to them
    "data/build",
    "tests/build",
    "lib/edgelaw/kaczmarz",
    "lib/edgelaw_app/training",
    "lib/edgelaw/data.py",
    "lib/edgelaw/orders.py",
    "lib/edgelaw/shipped.py",
    "lib/edgelaw_app/atomic.py",
    "lib/edgelaw/_common/preprocessing.py",
    "requirements.txt",
)


def digest(root=ROOT):
    """SHA-256 over names and contents of all files that the tests of data/build exercise."""
    total = hashlib.sha256()
    for name in EXERCISED:
        place = Path(root) / name
        files = [place] if place.is_file() else place.rglob("*")
        for path in sorted(path for path in files if path.suffix in (".py", ".txt")):
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            total.update(f"{path.relative_to(root).as_posix()} {content}\n".encode())
    return total.hexdigest()


def reason():
    """Why the tests may be skipped, in one sentence; None if they have to run."""
    if os.environ.get(VARIABLE) or not RECORD.is_file():
        return None
    if RECORD.read_text(encoding="utf-8").split() != [digest()]:
        return None
    return f"data/build is unchanged since these tests last passed (tests/build/LAST_RUN); {VARIABLE}=1 runs them"


def record():
    """Say that the tests have passed on the files as they are."""
    RECORD.write_text(f"{digest()}\n", encoding="utf-8")
