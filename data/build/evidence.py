"""Run every check of both ledgers and write what it measured to data/evidence.json, which the book shows.

    python data/build/evidence.py [-j 2]

A verdict is not among what is written: it stands in data/claims.toml only, and the book's own sentences hold. A check
that contradicts it stops this script.
"""

import argparse
import json
import sys
from pathlib import Path

import edgelaw_ledger as claims

OUTPUT = Path(__file__).resolve().parents[1] / "evidence.json"


def main():
    """Write the file, or say which checks do not agree with the ledger."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-j", "--jobs", type=int, default=2, metavar="N", help="processes (default: 2)")
    entries = [*claims.load().values(), *claims.additions(), *claims.load_sentences().values()]
    outcomes = claims.run(entries, parser.parse_args().jobs)
    wrong = [outcome.claim.id for outcome in outcomes if not outcome.confirmed]
    if wrong:
        sys.exit(
            f"Nothing was written, because these checks do not agree with the ledger: {', '.join(wrong)}."
        )
    shown = {
        outcome.claim.id: {
            name: getattr(outcome.evidence, name) for name in ("measured", "claimed", "tolerance")
        }
        for outcome in outcomes
        if outcome.evidence
    }
    OUTPUT.write_text(json.dumps(shown, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{OUTPUT.name} holds the evidence of {len(shown)} checks.")


if __name__ == "__main__":
    main()
