"""Everything `make test` runs, two stages side by side, then a summary: wall and processor seconds of each stage.

Stages that keep one core busy come first, then those with two workers of their own. These run in pairs too: when one
waits for a browser or a download, or has one long test left, the other has work for the core.
"""

import concurrent.futures
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTEST = [sys.executable, "-m", "pytest", "-q"]
TWO = ["-n", "2", "--dist", "worksteal"]  # no worker sits idle while the other has tests waiting
# A conftest.py is loaded as ever, but not searched for doctests: all have one name.
UNIT = ["tests", "lib", "--doctest-modules", "--ignore=tests/book", "--ignore-glob=*/conftest.py"]
COVERAGE = ["--cov", "--cov-report=term"] if os.environ.get("EDGELAW_COVERAGE") else []
NAMES = ("browser", "built_links", "explorer", "first_impression", "pdf", "report_browser")
BROWSER = [
    f"tests/book/test_{name}.py" for name in NAMES
]  # these look at the built book, so they come after it
COLAB = "tests/book/test_colab.py"
EVERY_CHAPTER = os.environ.get("EDGELAW_COLAB") == "all"  # else the first: work for one core
# The committed outputs come from an ordinary run. A run on another processor's kernels that gives them again shows at
# once that they are what the library computes today and that they travel; nothing would be learnt from both.
ANOTHER_CPU = ["--another-cpu"] if os.environ.get("EDGELAW_CHAPTERS") == "another-cpu" else []
STAGES = {  # of one core, the longest first; then those of two cores, the longest first
    **({} if EVERY_CHAPTER else {"Colab": [*PYTEST, COLAB]}),
    "book": [sys.executable, "tools/book.py"],
    "house rules": [*PYTEST, "tests/book", *[f"--ignore={file}" for file in [*BROWSER, COLAB]]],
    "types": [sys.executable, "-m", "mypy"],
    "lint": [sys.executable, "-m", "ruff", "check", "."],
    "format": [sys.executable, "-m", "ruff", "format", "--check", "."],
    "imports": [str(Path(sys.executable).with_name("lint-imports"))],  # who may import whom: pyproject.toml
    "unit tests": [*PYTEST, *TWO, *UNIT, *COVERAGE],
    **({"Colab": [*PYTEST, *TWO, COLAB]} if EVERY_CHAPTER else {}),
    "chapters": [sys.executable, "tools/chapters.py", "compare", *ANOTHER_CPU],
    "browser": [*PYTEST, "-n", "2", "--dist", "loadfile", *BROWSER],  # what a file makes is made once
}
ENVIRONMENT = {"OMP_NUM_THREADS": "1", **os.environ}
ENVIRONMENT.pop("PYTHONDONTWRITEBYTECODE", None)  # each process would compile the package's source again
START, BUILT, PRINTING = time.perf_counter(), threading.Event(), threading.Lock()


def run(name):
    """Run a stage and print whole what it printed: its name, wall and processor seconds, and verdict."""
    if name == "browser":
        BUILT.wait()
    start = time.perf_counter()
    print(f"... {name}: started after {start - START:.0f} s\n", end="", flush=True)
    try:
        with tempfile.TemporaryFile() as shown:
            child = subprocess.Popen(STAGES[name], cwd=ROOT, env=ENVIRONMENT, stdout=shown, stderr=shown)
            _, status, usage = os.wait4(child.pid, 0)  # processor time of the stage and of all it waited for
            child.returncode = os.waitstatus_to_exitcode(status)
            shown.seek(0)
            text = shown.read().decode(errors="replace").rstrip()
    finally:
        if name == "book":
            BUILT.set()
    wall, verdict = time.perf_counter() - start, "failed" if child.returncode else "ok"
    with PRINTING:
        print(f"\n=== {name} ===\n{text}\n... {name}: {verdict} in {wall:.0f} s\n", flush=True)
    return name, wall, usage.ru_utime + usage.ru_stime, verdict


def main():
    """Run all stages even if one fails, and fail if any did."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        rows = list(pool.map(run, STAGES))
    failed = any(verdict != "ok" for *_, verdict in rows)
    rows.append(
        ("all", time.perf_counter() - START, sum(row[2] for row in rows), "FAILED" if failed else "ok")
    )
    print(f"\n=== summary ===\n{'stage':<14} {'wall':>8}   {'processor':>9}")
    for name, wall, processor, verdict in rows:
        print(f"{name:<14} {wall:7.1f} s  {processor:8.1f} s  {verdict}")
    if not shutil.which(os.environ.get("CHROMIUM", "chromium")):
        print("\nNOTICE: no Chromium was found: the browser tests were skipped; install it or set CHROMIUM.")
    sys.exit(failed)


if __name__ == "__main__":
    main()
