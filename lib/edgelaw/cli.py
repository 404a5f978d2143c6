"""The command line: ``edgelaw verify`` runs the ledger's checks.

Each subcommand is a function that adds its parser and a function that runs it; :func:`main` never shows a traceback.
"""

import argparse
import json
import os
import re
import sys

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from edgelaw import claims

STYLES = {"holds": "green", "fails": "red", "imprecise": "yellow", "open": "blue"}
VERIFY_EXAMPLES = """\
examples:
  edgelaw verify                  check all claims of the paper, on every core
  edgelaw verify D15 E12          check these two
  edgelaw verify --group F        check all of Appendix F (groups: A to H)
  edgelaw verify --failing        what does not hold, and what is true instead
  edgelaw verify --json -j 2      for machines, on two cores

The verdict of each check is computed; it is compared with the one recorded in the ledger. The exit status is 0 when
all agree, 1 when a check contradicts its record or breaks down, 2 when the question makes no sense."""


class Refusal(Exception):
    """A question that makes no sense; the message is one sentence."""


class Sentences(argparse.ArgumentParser):
    """A parser that refuses in one sentence."""

    def error(self, message):
        """Say what was wrong and where help is, and leave with status 2."""
        raise Refusal(f"{message[:1].upper()}{message[1:].rstrip('.')}; {self.prog} --help shows examples.")


# verify ----------------------------------------------------------------------------------------------------


def _selected(arguments, ledger):
    """The claims asked for: by id, by group, or all; with --failing only those that are not recorded to hold."""
    names = [name.upper() for name in arguments.claims]
    for name in names:
        if name not in claims.IDS:
            raise Refusal(f"There is no claim {name}: ids run from A1 to H24, without F19 to F21.")
        if name not in ledger:
            raise Refusal(f"Claim {name} has no entry in the ledger yet.")
    for group in arguments.group:
        if group.upper() not in claims.GROUPS:
            raise Refusal(f"There is no group {group}: groups are the letters A to H.")
        names += [name for name in ledger if name[0] == group.upper()]
    wanted = set(names)
    chosen = [c for c in ledger.values() if not (arguments.claims or arguments.group) or c.id in wanted]
    return [claim for claim in chosen if not (arguments.failing and claim.holds)]


def _record(outcome):
    """One outcome, for machines."""
    found = outcome.evidence
    return {
        "id": outcome.claim.id,
        "verdict": found.verdict if found else None if outcome.error else outcome.claim.verdict,
        "recorded": outcome.claim.verdict,
        "confirmed": outcome.confirmed,
        "checked": found is not None,
        "measured": found.measured if found else "",
        "claimed": found.claimed if found else "",
        "tolerance": found.tolerance if found else "",
        "error": outcome.error,
        "seconds": round(outcome.seconds, 2),
    }


def _verdict(outcome):
    """A verdict in its colour; a contradiction and a breakdown loudly."""
    claim, found = outcome.claim, outcome.evidence
    if outcome.error:
        return "[bold red]breaks down[/]"
    if not outcome.confirmed:
        return f"[bold red]{found.verdict}, recorded: {claim.verdict}[/]"
    return f"[{STYLES[claim.verdict]}]{claim.verdict}[/]"


def _table(outcomes, failing):
    """Claim, verdict, measured, claimed; and what is true instead, where that was asked for."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name in ("claim", "verdict", "measured", "claimed", *(["what is true"] if failing else [])):
        table.add_column(name, overflow="fold")
    for outcome in outcomes:
        claim, found = outcome.claim, outcome.evidence
        if found:
            cells = [found.measured, found.claimed]
        else:
            cells = [outcome.error or f"read: {claim.reason}", claim.quote]
        cells += [claim.correction] if failing else []
        table.add_row(claim.id, _verdict(outcome), *map(escape, cells))
    return table


def _summary(outcomes, absent):
    """The last lines: how many of each verdict, and what went wrong."""
    shown = ", ".join(
        f"{count} {verdict}"
        for verdict, count in claims.counts(outcome.claim for outcome in outcomes).items()
        if count
    )
    lines = [f"{len(outcomes)} claims: {shown}." if outcomes else "No claim fits the question."]
    wrong = [outcome for outcome in outcomes if not outcome.confirmed]
    if wrong:
        names = ", ".join(outcome.claim.id for outcome in wrong)
        lines.append(f"[bold red]Not confirmed: {names}.[/]")
    elif outcomes:
        read = sum(outcome.evidence is None for outcome in outcomes)
        lines.append(
            "Every check agrees with the ledger" + (f"; {read} settled by reading." if read else ".")
        )
    if absent:
        lines.append(f"[bold red]No entry in the ledger yet: {', '.join(absent)}.[/]")
    return "\n".join(lines)


def verify(arguments):
    """Run the checks, show what came out, and return the exit status."""
    ledger = claims.load()
    chosen = _selected(arguments, ledger)
    everything = not (arguments.claims or arguments.group)
    absent = claims.missing(ledger) if everything else []
    errors = Console(stderr=True)
    columns = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()]
    with Progress(*columns, console=errors, transient=True, disable=not errors.is_terminal) as progress:
        bar = progress.add_task("checking", total=len(chosen))

        def advance(outcome):
            progress.update(bar, advance=1, description=f"checked {outcome.claim.id:<4}")

        outcomes = claims.run(chosen, arguments.jobs, advance)
    if arguments.json:
        machine = {"claims": [_record(outcome) for outcome in outcomes], "missing": absent}
        print(json.dumps(machine, indent=1, ensure_ascii=False))
    else:
        console = Console(highlight=False)
        if not console.is_terminal and "COLUMNS" not in os.environ:
            console = Console(highlight=False, width=160)
        if outcomes:
            console.print(_table(outcomes, arguments.failing))
            console.print()
        console.print(_summary(outcomes, absent))
    return int(bool(absent) or not all(outcome.confirmed for outcome in outcomes))


def _jobs(text):
    """A positive number of processes."""
    if not re.fullmatch(r"[0-9]+", text) or int(text) < 1:
        raise argparse.ArgumentTypeError(f"it must be a positive integer, not {text!r}")
    return int(text)


def _add_verify(commands):
    """The parser of ``edgelaw verify``."""
    parser = commands.add_parser(
        "verify",
        help="check the paper's claims",
        description="Check the paper's claims, each by computing evidence that could contradict its verdict.",
        epilog=VERIFY_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("claims", nargs="*", metavar="CLAIM", help="ids such as D15; all claims if none")
    parser.add_argument(
        "--group", action="append", default=[], metavar="LETTER", help="a whole group, A to H"
    )
    parser.add_argument("--failing", action="store_true", help="only what does not hold, with corrections")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument(
        "-j",
        "--jobs",
        type=_jobs,
        default=os.cpu_count() or 1,
        metavar="N",
        help="processes (default: all cores)",
    )
    parser.set_defaults(run=verify)


# all -------------------------------------------------------------------------------------------------------

COMMANDS = (_add_verify,)


def parser():
    """The whole command line."""
    top = Sentences(
        prog="edgelaw",
        description="Learning curves of SGD at the left edge of the data's spectrum.",
        epilog="examples:\n  edgelaw verify E12        check one claim of the paper\n  edgelaw verify --help     more",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = top.add_subparsers(metavar="COMMAND", required=True, parser_class=Sentences)
    for add in COMMANDS:
        add(commands)
    return top


def main(words=None):
    """Run the command line and return the exit status; what goes wrong is said in one sentence."""
    try:
        arguments = parser().parse_args(words)
        return arguments.run(arguments)
    except (Refusal, claims.LedgerError) as refusal:
        print(f"edgelaw: {refusal}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("edgelaw: stopped.", file=sys.stderr)
        return 130
    except BrokenPipeError:  # a reader such as `head` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


if __name__ == "__main__":
    sys.exit(main())
