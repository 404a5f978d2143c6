"""Run the chapters: `compare` holds their outputs against what is committed (nbval), `execute` writes them back."""

import argparse
import ast
import concurrent.futures
import functools
import hashlib
import json
import math
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parent.parent
PASSED = ROOT / "_build" / "chapters.json"  # the digest of each chapter as it was when it last passed
DOORS = dict.fromkeys(
    ("edgelaw.predict", "edgelaw.probe"), "edgelaw_app.forecast"
)  # names loaded when asked for
SECONDS_EACH, SECONDS_ALL, MEGABYTES_EACH = 60, 360, 1500  # on a quiet machine
BUSY = 1.5  # beside other work the same cell takes more processor time: caches and cores are shared

# One thread: the same digits every time, and no quarrel over the cores.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")

ANOTHER_CPU = {
    "OPENBLAS_CORETYPE": "Sandybridge",  # matrix products as on a processor of 2011
    "ATEN_CPU_CAPABILITY": "default",  # and torch without vector registers
    "OMP_NUM_THREADS": "2",
    # Two chapters with two threads each share two cores: a thread that waits must sleep, not spin.
    "OPENBLAS_THREAD_TIMEOUT": "4",
    "OMP_WAIT_POLICY": "PASSIVE",
}


def notebooks(only=()):
    """The chapters, in order; or those whose name begins with one of the given names."""
    paths = sorted((ROOT / "chapters").glob("*.ipynb"))
    chosen = [
        path for path in paths if not only or path.stem.startswith(tuple(Path(name).stem for name in only))
    ]
    if not chosen:
        sys.exit(
            f"No chapter is called {' or '.join(only)}; there are {', '.join(path.stem for path in paths)}."
        )
    return chosen


def imported(code):
    """The names of all modules that code imports, or may import, with the packages that they are in."""
    found = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            before = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            found |= {before + alias.name for alias in node.names}
    found |= {DOORS[name] for name in found & DOORS.keys()}
    return {".".join(name.split(".")[:k]) for name in found for k in range(1, name.count(".") + 2)}


@functools.cache
def reached(name):
    """The library's files of a module and what they import: all of a package that loads by name, none of a door."""
    place = ROOT / "lib" / name.replace(".", "/")
    for path in filter(Path.is_file, (place.with_suffix(".py"), place / "__init__.py")):
        code, all_of_it = path.read_text(encoding="utf-8"), set()
        if "def __getattr__" in code:
            return {path}, set()
        if path.stem == "__init__" and "import_module(" in code:
            all_of_it = {f"{name}.{file.stem}" for file in place.iterdir() if file.stem != "__init__"}
        return {path}, imported(code) | all_of_it
    return set(), set()


@functools.cache
def contents(path):
    """The digest of a file."""
    return hashlib.sha256(path.read_bytes()).digest()


def digest(path):
    """Of a chapter with its outputs, the library's files that it reaches, data, pins, Python and this tool."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    code = re.sub(r"^(\s*)[%!].*", r"\1pass", code, flags=re.M)
    files = {path, ROOT / "requirements.txt", Path(__file__).resolve()}
    files |= {file for end in ("npz", "md", "txt") for file in (ROOT / "data").glob(f"*.{end}")}
    if "subprocess" in code:  # a process of its own may reach all
        files |= set((ROOT / "lib").rglob("*.py"))
    seen, waiting = set(), imported(code)
    while waiting:
        seen |= waiting
        found = [reached(name) for name in waiting]
        files |= set().union(*(paths for paths, _ in found))
        waiting = set().union(*(names for _, names in found)) - seen
    return hashlib.sha256(sys.version.encode() + b"".join(map(contents, sorted(files)))).hexdigest()


def compare_one(path, environment=None):
    """Run nbval, strict, in a process of its own; return its status, output, seconds and peak megabytes.

    Seconds are the smaller of wall and processor time, so that a busy machine is not held against the chapter. The
    environment holds variables to set besides those that are set.
    """
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--nbval",
        "--nbval-current-env",
        "-q",
        "-p",
        "no:cacheprovider",
    ]
    command += ["-p", "no:xdist", "-W", "default", path]
    start = time.perf_counter()
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=os.environ | (environment or {}),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as child:
        output = child.stdout.read()
        _, status, usage = os.wait4(child.pid, 0)  # the peak of the child and of the kernel it waited for
        child.returncode = os.waitstatus_to_exitcode(status)
    megabytes = usage.ru_maxrss / (1024 if sys.platform == "linux" else 1024**2)
    seconds = min(time.perf_counter() - start, usage.ru_utime + usage.ru_stime)
    return child.returncode, output, seconds, megabytes


def compare(only, another_cpu=False, passed=None):
    """Compare every chapter, two at a time, and hold each to its share of memory and time.

    With a file of digests, those that passed as they are now are skipped, and others that pass are noted there.

    The share of time is half as much again as on a quiet machine. On another CPU there is none: how much longer older
    kernels take depends on the machine that plays them.
    """
    failures, total, slack = [], 0.0, math.inf if another_cpu else BUSY
    paths, workers = notebooks(only), min(2, os.cpu_count() or 1)
    digests = {path.stem: digest(path) for path in paths} if passed else {}
    known = json.loads(passed.read_text()) if passed and passed.is_file() else {}
    if skipped := [path for path in paths if passed and known.get(path.stem) == digests[path.stem]]:
        print(f"Skipped, as nothing that they run has changed: {', '.join(path.stem for path in skipped)}.")
        paths = [path for path in paths if path not in skipped]
    one = functools.partial(compare_one, environment=ANOTHER_CPU if another_cpu else {})
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        for path, (status, output, seconds, megabytes) in zip(paths, pool.map(one, paths), strict=True):
            wrong = []
            if status:
                wrong.append("its outputs are not the committed ones")
                print(output)
            if seconds > slack * SECONDS_EACH:
                wrong.append(f"it took more than {slack * SECONDS_EACH:.0f} s")
            if megabytes > MEGABYTES_EACH:
                wrong.append(f"it needed more than {MEGABYTES_EACH} MB")
            print(
                f"{path.stem:<28} {seconds:5.1f} s {megabytes:6.0f} MB  {'; '.join(wrong) or 'ok'}",
                flush=True,
            )
            failures += wrong
            if passed and not wrong:
                known[path.stem] = digests[path.stem]
                passed.parent.mkdir(exist_ok=True)
                passed.write_text(json.dumps(known, indent=1))
            total += seconds / workers
    allowed = "there is no limit here" if another_cpu else f"here {slack:g} times as much"
    print(
        f"{len(paths)} chapters, {total:.0f} s together (on a quiet machine at most {SECONDS_EACH} s each, "
        f"{SECONDS_ALL} s together; {allowed})"
    )
    sys.exit(bool(failures) or total > slack * SECONDS_ALL)


def merged(outputs):
    """Outputs with neighbouring pieces of one stream joined: where a stream is cut depends on timing."""
    joined = []
    for output in outputs:
        if joined and output.output_type == "stream" and joined[-1].get("name") == output.name:
            joined[-1].text += output.text
        else:
            joined.append(output)
    return joined


def execute(only):
    """Re-execute chapters and write them back whole, only once every cell has run."""
    from nbclient import NotebookClient

    for path in notebooks(only):
        print(f"{path.stem} ...", flush=True)
        notebook = nbformat.read(path, as_version=4)
        NotebookClient(
            notebook, timeout=600, record_timing=False, resources={"metadata": {"path": path.parent}}
        ).execute()
        for cell in notebook.cells:
            cell.get("outputs", [])[:] = merged(cell.get("outputs", []))
        notebook.metadata = {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        }
        partial = path.with_suffix(".partial")
        nbformat.write(notebook, partial)
        partial.replace(path)


def main():
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=["compare", "execute"])
    parser.add_argument("only", nargs="*", help="names of chapters, or their beginnings (default: all)")
    parser.add_argument(
        "--all", action="store_true", help="compare chapters too that have passed as they are now"
    )
    parser.add_argument(
        "--another-cpu",
        action="store_true",
        help="compare on an older processor's kernels and with two threads, as CI does",
    )
    arguments = parser.parse_intermixed_args()
    if arguments.action == "compare":
        every = arguments.all or arguments.only or arguments.another_cpu
        compare(arguments.only, arguments.another_cpu, None if every else PASSED)
    else:
        execute(arguments.only)


if __name__ == "__main__":
    main()
