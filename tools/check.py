"""Everything `make test` runs, one stage after the other, then a summary with the seconds of each."""

import os
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
    "unit tests": [*PYTEST, *UNIT],
    "house rules": [
        *PYTEST,
        "tests/book",
        *[f"--ignore={file}" for file in BROWSER],
        "--ignore=tests/book/test_colab.py",
    ],
    "ledger": [sys.executable, "-m", "edgelaw.cli", "verify", "-j", "2"],
    "chapters": [sys.executable, "tools/chapters.py", "check"],
    "book": [sys.executable, "tools/book.py"],
    "browser": [*PYTEST, "-n", "2", *BROWSER],
    "Colab": [*PYTEST, "tests/book/test_colab.py"],
}


def main():
    """Run all stages even if one fails, and fail if any did."""
    environment = {"OMP_NUM_THREADS": "1", **os.environ}
    rows, failed = [], False
    for name, command in STAGES.items():
        print(f"\n=== {name} ===", flush=True)
        start = time.perf_counter()
        status = subprocess.run(command, cwd=ROOT, env=environment).returncode
        rows.append((name, time.perf_counter() - start, "failed" if status else "ok"))
        failed = failed or bool(status)
    print("\n=== summary ===")
    for name, seconds, verdict in rows:
        print(f"{name:<14} {seconds:7.1f} s  {verdict}")
    print(f"{'all':<14} {sum(seconds for _, seconds, _ in rows):7.1f} s  {'FAILED' if failed else 'ok'}")
    if not shutil.which(os.environ.get("CHROMIUM", "chromium")):
        print(
            "\nNOTICE: no Chromium was found, so the browser tests were skipped; install it or set CHROMIUM."
        )
    sys.exit(failed)


if __name__ == "__main__":
    main()
