"""``edgelaw verify``: run the checks of the ledger and compare them with what is recorded.

The command line finds :func:`add` through the entry point ``edgelaw.commands``, so nothing heavy is imported before the
command runs. ``--json`` prints one object: ``schema`` ("edgelaw.verify/1"), ``version``, ``claims`` (one record per
claim, see :func:`_record`) and ``missing`` (ids without an entry in the ledger).
"""

import argparse
import os

VERIFY_EXAMPLES = """\
examples:
  edgelaw verify                  check all claims of the paper, on every core
  edgelaw verify D15 E12          check these two
  edgelaw verify --group F        check all of Appendix F (groups: A to H)
  edgelaw verify --failing        what does not hold, and what is true instead
  edgelaw verify --json -j 2      for machines, on two cores

The verdict of each check is computed; it is compared with the one recorded in the ledger. The exit status is 0 when
all agree, 1 when a check contradicts its record or breaks down, 2 when the question makes no sense. JSON has schema
"edgelaw.verify/1" with claims, each with id, verdict, recorded, confirmed, checked, measured, claimed, tolerance, error
and seconds, and missing."""

STYLES = {"holds": "green", "fails": "red", "imprecise": "yellow", "open": "blue"}


def add(commands: "argparse._SubParsersAction") -> None:
    """Add the command ``verify`` to argparse's subparsers."""
    from edgelaw.cli.terminal import add_json, command, whole

    parser = command(
        commands,
        "verify",
        run,
        "check the paper's claims",
        "Check the paper's claims, each by computing evidence that could contradict its verdict.",
        VERIFY_EXAMPLES,
    )
    parser.add_argument("claims", nargs="*", metavar="CLAIM", help="ids such as D15; all claims if none")
    parser.add_argument(
        "--group", action="append", default=[], metavar="LETTER", help="a whole group, A to H"
    )
    parser.add_argument("--failing", action="store_true", help="only what does not hold, with corrections")
    add_json(parser)
    parser.add_argument(
        "-j",
        "--jobs",
        type=whole(1),
        default=os.cpu_count() or 1,
        metavar="N",
        help="processes (default: all cores)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the checks, show their outcomes, and return the exit status."""
    import edgelaw_ledger as claims
    from edgelaw.cli.terminal import Bar, Refusal, console, machine

    try:
        ledger = claims.load()
    except claims.LedgerError as error:
        raise Refusal(str(error)) from None
    chosen = _selected(arguments, ledger)
    everything = not (arguments.claims or arguments.group)
    absent = claims.missing(ledger) if everything else []
    with Bar() as bar:
        done = []

        def advance(outcome):
            done.append(outcome)
            bar(len(done), len(chosen), f"checked {outcome.claim.id:<4}")

        outcomes = claims.run(chosen, arguments.jobs, advance)
    if arguments.json:
        machine(_records(outcomes, absent))
    else:
        shown = console(width=160)
        if outcomes:
            shown.print(_table(outcomes, arguments.failing))
            shown.print()
        shown.print(_summary(outcomes, absent))
    return int(bool(absent) or not all(outcome.confirmed for outcome in outcomes))


def _selected(arguments, ledger):
    """The claims asked for: by id, by group, or all; with --failing only those that are not recorded to hold."""
    from edgelaw.cli.terminal import Refusal
    from edgelaw_ledger.ledger import GROUPS, IDS

    names = [name.upper() for name in arguments.claims]
    for name in names:
        if name not in IDS:
            raise Refusal(f"There is no claim {name}: ids run from A1 to H24, without F19 to F21.")
        if name not in ledger:
            raise Refusal(f"Claim {name} has no entry in the ledger yet.")
    for group in arguments.group:
        if group.upper() not in GROUPS:
            raise Refusal(f"There is no group {group}: groups are the letters A to H.")
        names += [name for name in ledger if name[0] == group.upper()]
    everything = not (arguments.claims or arguments.group)
    chosen = [claim for claim in ledger.values() if everything or claim.id in names]
    return [claim for claim in chosen if not (arguments.failing and claim.holds)]


# for machines -----------------------------------------------------------------------------------------------


def _records(outcomes, absent):
    """The whole answer."""
    from edgelaw import __version__

    return {
        "schema": "edgelaw.verify/1",
        "version": __version__,
        "claims": [_record(outcome) for outcome in outcomes],
        "missing": absent,
    }


def _record(outcome):
    """One outcome; its verdict is None where the check broke down, and as recorded where there is no check."""
    evidence = outcome.evidence
    return {
        "id": outcome.claim.id,
        "verdict": evidence.verdict if evidence else None if outcome.error else outcome.claim.verdict,
        "recorded": outcome.claim.verdict,
        "confirmed": outcome.confirmed,
        "checked": evidence is not None,
        "measured": evidence.measured if evidence else "",
        "claimed": evidence.claimed if evidence else "",
        "tolerance": evidence.tolerance if evidence else "",
        "error": outcome.error,
        "seconds": round(outcome.seconds, 2),
    }


# for readers ------------------------------------------------------------------------------------------------


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
    from rich.markup import escape
    from rich.table import Table

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


def _summary(outcomes, absent):
    """The last lines: how many of each verdict, and what went wrong."""
    from edgelaw_ledger.ledger import counts

    tally = counts(outcome.claim for outcome in outcomes)
    shown = ", ".join(f"{count} {verdict}" for verdict, count in tally.items() if count)
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
