"""Create .venv and fill it with the exact pins and the package. Runs on a bare Python, before anything is installed."""

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
# PyPI's Linux wheels of torch bring gigabytes of CUDA; the book runs on the CPU.
TORCH_CPU = "https://download.pytorch.org/whl/cpu"


def create(venv):
    """Create a virtual environment by whatever means this machine has."""
    if importlib.util.find_spec("ensurepip"):
        command = [sys.executable, "-m", "venv", venv]
    elif shutil.which("uv"):
        command = ["uv", "venv", "--seed", "--python", sys.executable, venv]
    elif importlib.util.find_spec("virtualenv"):
        command = [sys.executable, "-m", "virtualenv", "--quiet", venv]
    else:
        sys.exit("This Python cannot create virtual environments; on Debian: apt install python3-venv.")
    subprocess.run(command, check=True)


def pip(venv, *arguments):
    """Run the environment's pip, with its progress shown where someone may be watching."""
    quiet = [] if sys.stdout.isatty() else ["--quiet"]
    command = [
        venv / "bin" / "python",
        "-m",
        "pip",
        "install",
        *quiet,
        "--disable-pip-version-check",
        *arguments,
    ]
    result = subprocess.run(command, cwd=ROOT)
    if result.returncode:
        sys.exit("Installing failed; the lines above say why. Running the same command again continues.")


def torch_index():
    """PyTorch's own index of CPU builds, if this is Linux and the index answers; else nowhere special."""
    if sys.platform != "linux" or os.environ.get("PIP_FIND_LINKS"):
        return []
    try:
        urllib.request.urlopen(TORCH_CPU + "/torch/", timeout=5).close()
    except OSError:
        return []
    return ["--extra-index-url", TORCH_CPU]


def fill(venv, requirements):
    """Install the requirements, torch first and alone so that only torch can come from torch's index."""
    torch = next(
        line.split("#")[0].strip()
        for line in requirements.read_text().splitlines()
        if line.startswith("torch==")
    )
    pip(venv, *torch_index(), torch)
    pip(venv, "-r", requirements)


def refresh_pins():
    """Resolve requirements.in in an empty environment and write what came out to requirements.txt."""
    with tempfile.TemporaryDirectory() as folder:
        venv = Path(folder) / "venv"
        create(venv)
        fill(venv, ROOT / "requirements.in")
        frozen = subprocess.run(
            [venv / "bin" / "python", "-m", "pip", "freeze", "--disable-pip-version-check"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
    lines = [line.split("+")[0] for line in frozen.splitlines() if "==" in line]
    header = "# Exact versions of everything, resolved from requirements.in by `make pins`.\n"
    (ROOT / "requirements.txt").write_text(header + "\n".join(lines) + "\n")
    print(f"requirements.txt now pins {len(lines)} packages; run make test before committing it.")


def main():
    """Create and fill .venv, or refresh the pins."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--refresh-pins", action="store_true", help="rewrite requirements.txt from requirements.in"
    )
    if parser.parse_args().refresh_pins:
        return refresh_pins()
    if sys.version_info < (3, 11):  # noqa: UP036  (this runs before pip could refuse)
        sys.exit(f"Python 3.11 or newer is needed, but {sys.executable} is {sys.version.split()[0]}.")
    if not (VENV / "bin" / "python").exists():
        print("Creating .venv ...", flush=True)
        create(VENV)
    print(
        "Installing the pinned packages into .venv (about two minutes and 2 GB the first time) ...",
        flush=True,
    )
    fill(VENV, ROOT / "requirements.txt")
    pip(VENV, "--no-deps", "--no-build-isolation", "--editable", ROOT)
    # as pip does for what it installs: else every start of the command compiles the source where bytecode is not kept
    subprocess.run([VENV / "bin" / "python", "-m", "compileall", "-q", ROOT / "lib"], check=True)
    (VENV / ".filled").touch()


if __name__ == "__main__":
    main()
