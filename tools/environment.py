"""Create .venv and fill it with the exact pins and the package. Runs on a bare Python, before anything is installed."""

import argparse
import importlib.util
import os
import re
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
    """Create a virtual environment, unless it is there, by whatever means this machine has."""
    if (venv / "bin" / "python").exists():
        return
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
    command = [venv / "bin" / "python", "-m", "pip", "install", *quiet, "--disable-pip-version-check"]
    if subprocess.run([*command, *arguments], cwd=ROOT).returncode:
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


def pins():
    """The exact versions of requirements.txt, by normalised name."""
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    pairs = [line.split("==") for line in lines if "==" in line]
    return {name.lower().replace("_", "-"): version for name, version in pairs}


def fill(venv, requirements):
    """Install the requirements, torch first and alone so that only torch can come from torch's index."""
    torch = re.search(r"^torch==\S+", requirements.read_text(), flags=re.M)[0]
    pip(venv, *torch_index(), torch)
    pip(venv, "-r", requirements)


def package(venv):
    """Install this package as it lies here, without what it needs."""
    pip(venv, "--no-deps", "--no-build-isolation", "--editable", ROOT)


def pinned(text, versions):
    """A requirements file with the given versions in the place of its own."""
    return re.sub(
        r"^([\w.-]+)==\S+", lambda m: f"{m[1]}=={versions[m[1].lower().replace('_', '-')]}", text, flags=re.M
    )


def refresh_pins():
    """Resolve requirements.in in an empty environment; write what came out to requirements.txt and Binder's file."""
    with tempfile.TemporaryDirectory() as folder:
        venv = Path(folder) / "venv"
        create(venv)
        fill(venv, ROOT / "requirements.in")
        command = [venv / "bin" / "python", "-m", "pip", "freeze", "--disable-pip-version-check"]
        frozen = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    lines = [line.split("+")[0] for line in frozen.splitlines() if "==" in line]
    header = "# Exact versions of everything, resolved from requirements.in by `make pins`.\n"
    (ROOT / "requirements.txt").write_text(header + "\n".join(lines) + "\n")
    binder = ROOT / "binder" / "requirements.txt"
    binder.write_text(pinned(binder.read_text(), pins()))
    print(f"requirements.txt now pins {len(lines)} packages; run make test before committing it.")


def main():
    """Create and fill .venv, or refresh the pins."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--refresh-pins", action="store_true", help="resolve requirements.in afresh")
    if parser.parse_args().refresh_pins:
        return refresh_pins()
    if sys.version_info < (3, 11):  # noqa: UP036  (this runs before pip could refuse)
        sys.exit(f"Python 3.11 or newer is needed, but {sys.executable} is {sys.version.split()[0]}.")
    print("Installing the pinned packages into .venv (two minutes and 2 GB the first time) ...", flush=True)
    create(VENV)
    fill(VENV, ROOT / "requirements.txt")
    package(VENV)
    # as pip does for what it installs: else every start of the command compiles the source where bytecode is not kept
    subprocess.run([VENV / "bin" / "python", "-m", "compileall", "-q", ROOT / "lib"], check=True)
    (VENV / ".filled").touch()


if __name__ == "__main__":
    main()
