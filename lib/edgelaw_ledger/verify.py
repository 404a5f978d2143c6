"""``edgelaw verify``: run the checks of the ledger and compare."""

import json

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

import edgelaw_ledger as claims
from edgelaw.cli.terminal import Refusal, console

STYLES = {"holds": "green", "fails": "red", "imprecise": "yellow", "open": "blue"}


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
    names = set(names)
    chosen = [c for c in ledger.values() if not (arguments.claims or arguments.group) or c.id in names]
    return [claim for claim in chosen if not (arguments.failing and claim.holds)]


def _record(outcome):
    """One outcome, for machines."""
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


def _verdict(outcome):
    """A verdict in its colour; a contradiction and a breakdown loudly."""
    claim, evidence = outcome.claim, outcome.evidence
    if outcome.error:
        return "[bold red]breaks down[/]"
    if not outcome.confirmed:
        return f"[bold red]{evidence.verdict}, recorded: {claim.verdict}[/]"
    return f"[{STYLES[claim.verdict]}]{claim.verdict}[/]"


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


def run(arguments):
    """Run the checks, show what came out, and return the exit status."""
    try:
        ledger = claims.load()
    except claims.LedgerError as error:
        raise Refusal(str(error)) from None
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
        shown = console(width=160)
        if outcomes:
            shown.print(_table(outcomes, arguments.failing))
            shown.print()
        shown.print(_summary(outcomes, absent))
    return int(bool(absent) or not all(outcome.confirmed for outcome in outcomes))
