"""Everything `make test` runs, two stages side by side, then a summary: wall and processor seconds of each stage.

Stages that keep one core busy come first, then those with two workers of their own. These run in pairs too: when one
waits for a browser or a download, or has one long test left, the other has work for the core; and beside other
programs four processes get a larger share of the machine than two. What a stage prints is shown whole when it ends.
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
UNIT = [
    "tests",
    "lib",
    "--doctest-modules",
    "--ignore=tests/book",
    "--ignore-glob=*/conftest.py",  # loaded as ever, but not searched for doctests: all have one name
    "--cov",
    "--cov-report=term",
]
BROWSER = [  # these look at the built book, so they come after it
    f"tests/book/{name}.py"
    for name in (
        "test_browser",
        "test_built_links",
        "test_explorer",
        "test_first_impression",
        "test_pdf",
        "test_report_browser",
    )
]
COLAB = "tests/book/test_colab.py"
EVERY_CHAPTER = os.environ.get("EDGELAW_COLAB") == "all"  # else the first: work for one core
# The committed outputs come from an ordinary run. A run on another processor's kernels that gives them again shows at
# once that they are what the library computes today and that they travel; nothing would be learnt from both.
ANOTHER_CPU = ["--another-cpu"] if os.environ.get("EDGELAW_CHAPTERS") == "another-cpu" else []
ONE_CORE = {  # the longest first
    **({} if EVERY_CHAPTER else {"Colab": [*PYTEST, COLAB]}),
    "book": [sys.executable, "tools/book.py"],
    "house rules": [*PYTEST, "tests/book", *[f"--ignore={file}" for file in [*BROWSER, COLAB]]],
    "types": [sys.executable, "-m", "mypy"],
    "lint": [sys.executable, "-m", "ruff", "check", "."],
    "format": [sys.executable, "-m", "ruff", "format", "--check", "."],
    "imports": [str(Path(sys.executable).with_name("lint-imports"))],  # who may import whom: pyproject.toml
}
TWO_CORES = {  # the longest first
    "unit tests": [*PYTEST, *TWO, *UNIT],
    **({"Colab": [*PYTEST, *TWO, COLAB]} if EVERY_CHAPTER else {}),
    "chapters": [sys.executable, "tools/chapters.py", "compare", *ANOTHER_CPU],
    "browser": [*PYTEST, "-n", "2", "--dist", "loadfile", *BROWSER],  # what a file makes is made once
}
AFTER = {"browser": "book"}
# Hundreds of tests start the command in a process of its own: each would compile the package's source again if the
# bytecode were not kept.
ENVIRONMENT = {"OMP_NUM_THREADS": "1", **os.environ}
ENVIRONMENT.pop("PYTHONDONTWRITEBYTECODE", None)
STAGES = {**ONE_CORE, **TWO_CORES}


class Runner:
    """Runs stages, each in a process of its own, and keeps a row of the summary for each."""

    def __init__(self):
        self.rows, self.start = [], time.perf_counter()
        self.printing = threading.Lock()
        self.ended = {name: threading.Event() for name in STAGES}

    def say(self, text):
        """Print without cutting into what another stage prints."""
        with self.printing:
            print(text, flush=True)

    def run(self, name):
        """Run a stage when its turn has come; its row says how it went."""
        try:
            if name in AFTER:
                self.ended[AFTER[name]].wait()
            self.rows.append(self.measured(name))
        finally:
            self.ended[name].set()

    def measured(self, name):
        """Run a stage now: its name, wall and processor seconds, and verdict."""
        self.say(f"... {name}: started after {time.perf_counter() - self.start:.0f} s")
        start = time.perf_counter()
        with tempfile.TemporaryFile() as shown:
            child = subprocess.Popen(
                STAGES[name],
                cwd=ROOT,
                env=ENVIRONMENT,
                stdout=shown,
                stderr=subprocess.STDOUT,
            )
            _, status, usage = os.wait4(child.pid, 0)  # processor time of the stage and of all it waited for
            child.returncode = os.waitstatus_to_exitcode(status)
            shown.seek(0)
            text = shown.read().decode(errors="replace")
        verdict = "failed" if child.returncode else "ok"
        wall = time.perf_counter() - start
        self.say(f"\n=== {name} ===\n{text.rstrip()}\n... {name}: {verdict} in {wall:.0f} s\n")
        return name, wall, usage.ru_utime + usage.ru_stime, verdict


def main():
    """Run all stages even if one fails, and fail if any did."""
    runner = Runner()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        try:
            for stage in [pool.submit(runner.run, name) for name in STAGES]:
                stage.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    wall = time.perf_counter() - runner.start
    failed = any(row[3] != "ok" for row in runner.rows)
    print("\n=== summary ===")
    print(f"{'stage':<14} {'wall':>8}   {'processor':>9}")
    processor = sum(row[2] for row in runner.rows)
    for name, *seconds, verdict in [*runner.rows, ("all", wall, processor, "FAILED" if failed else "ok")]:
        print(f"{name:<14} {seconds[0]:7.1f} s  {seconds[1]:8.1f} s  {verdict}")
    if not shutil.which(os.environ.get("CHROMIUM", "chromium")):
        print(
            "\nNOTICE: no Chromium was found, so the browser tests were skipped; install it or set CHROMIUM."
        )
    sys.exit(failed)


if __name__ == "__main__":
    main()
