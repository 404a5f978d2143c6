"""Build data/moby_dick.txt: the first chapters of Melville's novel, from a package that gives them to the public."""

import argparse
import time
from pathlib import Path

import card
from fetch import MOBY_DICK, default_cache, fetch, read_members

from edgelaw_app import atomic

DATA = Path(__file__).resolve().parent.parent
CHAPTERS = 10
PROSE = """
# The first chapters of Moby-Dick

Written by hand once the file is built.
"""


def main(arguments=None):
    """Parse the command line, fetch, write the text and its card."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cache", type=Path, default=default_cache())
    parser.add_argument("--out", type=Path, default=DATA / "moby_dick.txt")
    options = parser.parse_args(arguments)
    began = time.perf_counter()
    names = [f"package/data/chapter_{number}.txt" for number in range(1, CHAPTERS + 1)]
    chapters = read_members(fetch(MOBY_DICK, options.cache), names)
    atomic.write(options.out, b"".join(chapters[name].strip() + b"\n\n" for name in names))
    text = options.out.read_text(encoding="utf-8")
    facts = {
        "title": f"Moby-Dick; or, The Whale: chapters 1 to {CHAPTERS}",
        "characters": len(text),
        "alphabet": len(set(text.lower())),
        "encoding": "utf-8",
        "built_by": "data/build/moby_dick.py",
        "source": f"Herman Melville, 1851, as in {MOBY_DICK.name} {MOBY_DICK.version}",
        "licence": "public domain; the package gives it under CC0 1.0 (contents) and PDDL 1.0 (database)",
        "attribution": "Herman Melville; digital text from the stdlib project",
        "preprocessing": [
            f"the files chapter_1.txt to chapter_{CHAPTERS}.txt in their order",
            "white space around a chapter removed, an empty line put after it; nothing else changed",
        ],
        "run_time_seconds": round(time.perf_counter() - began, 1),
        "input": card.inputs([MOBY_DICK]),
    }
    card.write(options.out, facts, PROSE)
    print(f"Wrote {options.out.name}, {len(text)} characters.")


if __name__ == "__main__":
    main()
