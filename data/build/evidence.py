"""Run the checks of both ledgers and write what they measured to data/evidence.json, which the book shows.

    python data/build/evidence.py [-j 2] [ID ...]

With ids only these are run, and the rest of the file stays, except for what the ledgers no longer have. A verdict is
not among what is written: it stands in data/claims.toml only, and the book's own sentences hold. A check that
contradicts it stops this script.
"""

import argparse
import json
import sys
from pathlib import Path

import edgelaw_ledger as claims

OUTPUT = Path(__file__).resolve().parents[1] / "evidence.json"


def shown(entries, outcomes, before):
    """What the book shows of all entries, in their order: fresh where there is an outcome, else as it was before."""
    fresh = {
        outcome.claim.id: {
            name: getattr(outcome.evidence, name) for name in ("measured", "claimed", "tolerance")
        }
        for outcome in outcomes
        if outcome.evidence
    }
    known = before | fresh
    return {name: known[name] for name in entries if name in known}


def main(words=None):
    """Write the file, or say which checks do not agree with the ledger."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("ids", nargs="*", metavar="ID", help="such as D15 or 03-1 (default: all)")
    parser.add_argument("-j", "--jobs", type=int, default=2, metavar="N", help="processes (default: 2)")
    arguments = parser.parse_args(words)
    everything = (*claims.load().values(), *claims.additions(), *claims.load_sentences().values())
    entries = {entry.id: entry for entry in everything}
    if unknown := [name for name in arguments.ids if name not in entries]:
        sys.exit(f"The ledgers have no entry {', '.join(unknown)}: ids are such as D15 or 03-1.")
    chosen = [entries[name] for name in dict.fromkeys(arguments.ids or entries)]
    outcomes = claims.run(chosen, arguments.jobs)
    wrong = [outcome.claim.id for outcome in outcomes if not outcome.confirmed]
    if wrong:
        sys.exit(
            f"Nothing was written, because these checks do not agree with the ledger: {', '.join(wrong)}. "
            f"python -m edgelaw_ledger {' '.join(wrong)} says what they measure."
        )
    before = json.loads(OUTPUT.read_text(encoding="utf-8")) if arguments.ids else {}
    record = shown(entries, outcomes, before)
    OUTPUT.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{OUTPUT.name} holds the evidence of {len(record)} checks; {len(chosen)} ran.")


if __name__ == "__main__":
    main()
