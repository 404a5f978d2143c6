"""``python -m edgelaw_ledger``: run the checks of both ledgers and compare them with what is recorded."""

import argparse
import os
from collections.abc import Sequence

from rich.markup import escape
from rich.table import Table

import edgelaw_ledger as claims
from edgelaw_app.cli.parser import answered
from edgelaw_app.cli.terminal import Bar, Refusal, SentenceParser, console, whole

EXAMPLES = """\
examples, in a clone of the repository:
  python -m edgelaw_ledger               check all claims of the paper and the
                                         book's own results
  python -m edgelaw_ledger D15 E12       check these two
  python -m edgelaw_ledger 03-1          check the first sentence of chapter 3's
                                         summary
  python -m edgelaw_ledger --own         check the book's own results
  python -m edgelaw_ledger --group F     check all of Appendix F (A to H)
  python -m edgelaw_ledger --failing     what does not hold, and what is true
                                         instead
  python -m edgelaw_ledger -j 2          all, on two cores

The verdict of each check is computed; it is compared with the one recorded in
the ledger. The exit status is 0 when all agree, 1 when a check contradicts its
record or breaks down, 2 when an id or an option is unknown, 130 when stopped
by Ctrl-C."""

STYLES = {"holds": "green", "fails": "red", "imprecise": "yellow", "open": "blue"}


def main(words: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status; ``words`` are those after its name, ``sys.argv`` by default."""
    return answered(lambda: parser().parse_args(words), words is None)


def parser() -> SentenceParser:
    """What can be asked for."""
    made = SentenceParser(
        prog="python -m edgelaw_ledger",
        description="Check the paper's claims and the book's own, each by evidence that could\ncontradict it.",
        epilog=EXAMPLES,
    )
    made.add_argument("claims", nargs="*", metavar="CLAIM", help="ids such as D15 or 03-1 (default: all)")
    made.add_argument("--group", action="append", default=[], metavar="LETTER", help="a whole group, A to H")
    made.add_argument("--own", action="store_true", help="the book's own results")
    made.add_argument("--failing", action="store_true", help="only what does not hold, with corrections")
    cores = os.cpu_count() or 1
    made.add_argument(
        "-j", "--jobs", type=whole(1), default=cores, metavar="N", help="processes (default: all cores)"
    )
    made.set_defaults(run=run)
    return made


def run(arguments: argparse.Namespace) -> int:
    """Run the checks, show their outcomes, and return the exit status."""
    try:
        ledger = claims.load()
        own = {entry.id: entry for entry in claims.additions()} | claims.load_sentences()
    except claims.LedgerError as error:
        raise Refusal(str(error)) from None
    chosen = _selected(arguments, ledger, own)
    with Bar() as bar:
        done = []

        def advance(outcome):
            done.append(outcome)
            bar(len(done), len(chosen), f"checked {outcome.claim.id:<4}")

        outcomes = claims.run(chosen, arguments.jobs, advance)
    papers = [outcome for outcome in outcomes if outcome.claim.id in claims.IDS]
    others = [outcome for outcome in outcomes if outcome.claim.id not in claims.IDS]
    shown = console(width=160)
    if outcomes:
        shown.print(_table(outcomes, arguments.failing))
        shown.print()
    shown.print("\n".join(_summary(papers, others)))
    return int(not all(outcome.confirmed for outcome in outcomes))


def _selected(arguments, ledger, own):
    """What was asked for, by id, group or ledger, or all; with --failing only what is not recorded to hold."""
    entries = {**ledger, **own}
    names = [name.lower() if name.lower() in own else name.upper() for name in arguments.claims]
    for name in names:
        if name not in entries:
            raise Refusal(
                f"There is no claim {name}: the paper's run from A1 to {claims.IDS[-1]}, without F19 to F21; the "
                "book's own have ids such as 03-1."
            )
    for group in arguments.group:
        if group.upper() not in claims.GROUPS:
            raise Refusal(f"There is no group {group}: groups are the letters A to H.")
        names += [name for name in ledger if name[0] == group.upper()]
    names += own if arguments.own else []
    everything = not (arguments.claims or arguments.group or arguments.own)
    chosen = [entry for name, entry in entries.items() if everything or name in names]
    return [entry for entry in chosen if not (arguments.failing and entry.verdict == "holds")]


def _verdict(outcome):
    """A verdict in its colour; a contradiction and a breakdown in bold red."""
    if outcome.error:
        return "[bold red]breaks down[/]"
    recorded = outcome.claim.verdict
    if not outcome.confirmed:
        return f"[bold red]{outcome.evidence.verdict}, recorded: {recorded}[/]"
    return f"[{STYLES[recorded]}]{recorded}[/]"


def _table(outcomes, failing):
    """Claim, verdict, measured, claimed; and what is true instead, where that was asked for."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name in ("claim", "verdict", "measured", "claimed", *(["what is true"] if failing else [])):
        table.add_column(name, overflow="fold")
    for outcome in outcomes:
        claim, evidence = outcome.claim, outcome.evidence
        if evidence:
            cells = [evidence.measured, evidence.claimed]
        else:
            cells = [outcome.error or f"read: {claim.reason}", claim.quote]
        cells += [claim.correction] if failing else []
        table.add_row(claim.id, _verdict(outcome), *map(escape, cells))
    return table


def _counted(count, thing):
    """So many of a thing."""
    return f"{count} {thing}{'s' * (count != 1)}"


def _summary(papers, others):
    """The last lines: how many of each verdict, and what went wrong."""
    if not papers + others:
        yield "No claim fits the question."
        return
    if papers:
        tally = claims.counts(outcome.claim for outcome in papers)
        shown = ", ".join(f"{count} {verdict}" for verdict, count in tally.items() if count)
        yield f"{_counted(len(papers), 'claim')}: {shown}."
    if others:
        yield f"{_counted(len(others), 'result')} of the book."
    if wrong := [outcome.claim.id for outcome in papers + others if not outcome.confirmed]:
        yield f"[bold red]Not confirmed: {', '.join(wrong)}.[/]"
        return
    read = sum(outcome.evidence is None for outcome in papers + others)
    yield "Every check agrees with the ledger" + (f"; {read} settled by reading." if read else ".")
