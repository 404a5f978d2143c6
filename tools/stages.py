"""Everything `make test` runs, one stage after the other, then a summary: wall and processor seconds of each stage."""

import os
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTEST = [sys.executable, "-m", "pytest", "-q"]
UNIT = [
    "tests",
    "lib",
    "--doctest-modules",
    "--ignore=tests/book",
    "--ignore-glob=*/conftest.py",  # loaded as ever, but not searched for doctests: all have one name
    "-n",
    "2",
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
STAGES = {
    "lint": [sys.executable, "-m", "ruff", "check", "."],
    "format": [sys.executable, "-m", "ruff", "format", "--check", "."],
    "imports": [str(Path(sys.executable).with_name("lint-imports"))],  # who may import whom: pyproject.toml
    "types": [sys.executable, "-m", "mypy"],
    "unit tests": [*PYTEST, *UNIT],
    "house rules": [
        *PYTEST,
        "tests/book",
        *[f"--ignore={file}" for file in BROWSER],
        "--ignore=tests/book/test_colab.py",
    ],
    "chapters": [sys.executable, "tools/chapters.py", "compare"],
    "book": [sys.executable, "tools/book.py"],
    "browser": [*PYTEST, "-n", "2", *BROWSER],
    "Colab": [*PYTEST, "tests/book/test_colab.py"],
}


def processor_seconds():
    """Processor time of all child processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main():
    """Run all stages even if one fails, and fail if any did."""
    environment = {"OMP_NUM_THREADS": "1", **os.environ}
    rows, failed = [], False
    for name, command in STAGES.items():
        print(f"\n=== {name} ===", flush=True)
        start, before = time.perf_counter(), processor_seconds()
        status = subprocess.run(command, cwd=ROOT, env=environment).returncode
        spent = time.perf_counter() - start, processor_seconds() - before
        rows.append((name, *spent, "failed" if status else "ok"))
        failed = failed or bool(status)
    print("\n=== summary ===")
    print(f"{'stage':<14} {'wall':>8}   {'processor':>9}")
    rows.append(("all", *(sum(row[k] for row in rows) for k in (1, 2)), "FAILED" if failed else "ok"))
    for name, wall, processor, verdict in rows:
        print(f"{name:<14} {wall:7.1f} s  {processor:8.1f} s  {verdict}")
    if not shutil.which(os.environ.get("CHROMIUM", "chromium")):
        print(
            "\nNOTICE: no Chromium was found, so the browser tests were skipped; install it or set CHROMIUM."
        )
    sys.exit(failed)


if __name__ == "__main__":
    main()
