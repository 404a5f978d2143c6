"""Try the samplers in Lightning, accelerate and torchdata, and write down what was seen.

    make conformance     about ten minutes on two cores once installed; the environment stays in .venv-conformance

These libraries are no part of .venv: nothing else here needs them. What is run, and how it is judged, is in
tests/conformance.
"""

import os
import subprocess
import sys

from environment import ROOT, create, package, pins, pip, torch_index
from lowest import lowest

VENV = ROOT / ".venv-conformance"
FOLDER = ROOT / "tests" / "conformance"
BUILT_WITH = ("hatchling", "editables")


def main():
    """Create the environment, install the library as it is pinned and the others, and run every cell."""
    pinned = pins()
    needed = {*lowest(), *BUILT_WITH} - {"torch", "pyarrow", "dask", "distributed"}
    create(VENV)
    pip(VENV, *torch_index(), f"torch=={pinned['torch']}")
    pip(VENV, *(f"{name}=={pinned[name]}" for name in sorted(needed)), "-r", FOLDER / "requirements.txt")
    package(VENV)
    command = [VENV / "bin" / "python", FOLDER / "matrix.py"]
    sys.exit(subprocess.run(command, cwd=ROOT, env={"OMP_NUM_THREADS": "1", **os.environ}).returncode)


if __name__ == "__main__":
    main()
