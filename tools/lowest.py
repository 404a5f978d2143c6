"""Run the library's unit tests with exactly the lowest versions that pyproject.toml admits.

    make lowest          about five minutes on two cores once installed; the environment stays in .venv-lowest

A lower bound that nobody has run is a guess. Torch's oldest CPU build is on PyTorch's own index only: where that
index does not answer, the pinned torch is used instead, and the last line says so.
"""

import itertools
import os
import re
import subprocess
import sys
import tomllib

from environment import ROOT, create, package, pins, pip, torch_index

VENV = ROOT / ".venv-lowest"
TESTED_WITH = (
    "pytest",
    "pytest-xdist",
    "hypothesis",
    "python-flint",
    "hatchling",
    "editables",
    "tomli-w",
    "safetensors",
)


def lowest():
    """The package's requirements, each at its lower bound: a dictionary from name to version."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = {name: lines for name, lines in project["optional-dependencies"].items() if name != "all"}
    versions = {}
    for requirement in [*project["dependencies"], *itertools.chain(*extras.values())]:
        match = re.fullmatch(r"([\w-]+)>=([\d.]+)", requirement)
        if match is None:
            sys.exit(f"{requirement!r} in pyproject.toml must look like name>=version.")
        versions[match[1]] = match[2]
    return versions


def main():
    """Create the environment, install, run, and say what was run."""
    versions, pinned, index = lowest(), pins(), torch_index()
    if not index:
        versions["torch"] = pinned["torch"]
    create(VENV)
    pip(VENV, *index, f"torch=={versions['torch']}")
    pip(VENV, *(f"{name}=={version}" for name, version in versions.items() if name != "torch"))
    pip(VENV, *(f"{name}=={pinned[name]}" for name in TESTED_WITH))
    package(VENV)
    python, others = VENV / "bin" / "python", ["--ignore=tests/book", "--ignore=tests/build"]
    command = [python, "-m", "pytest", "-q", "tests", *others, "-n", "2"]
    command += ["-o", "filterwarnings=default"]  # old releases warn of one another
    status = subprocess.run(command, cwd=ROOT, env={"OMP_NUM_THREADS": "1", **os.environ}).returncode
    print("Lowest versions:", ", ".join(f"{name} {version}" for name, version in sorted(versions.items())))
    if not index:
        print("NOTICE: PyTorch's index does not answer here, so torch is the pinned one, not the lowest.")
    sys.exit(status)


if __name__ == "__main__":
    main()
