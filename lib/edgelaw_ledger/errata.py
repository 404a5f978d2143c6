"""The errata, ``data/errata.toml``: one entry per mistake of the paper, the gravest first, in the paper's own words."""

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path

from edgelaw.shipped import folder
from edgelaw_ledger.ledger import Claim, LedgerError, entries


@dataclass(frozen=True)
class Erratum:
    """One mistake of the paper."""

    claims: tuple[str, ...]  # the ids of the claims that are this mistake, the one that states it best first
    printed: tuple[str, ...]  # the paper word for word, LaTeX; a displayed formula stands between \\[ and \\]
    change: str = ""  # what to write instead; empty where the correction of the only claim says it
    proof: str = ""  # where the correction is proved, or the proof in one line
    data: str = ""  # what has to be said of the data beside the verdict

    def rank(self, ledger: Mapping[str, Claim]) -> int:
        """The gravest consequence of its claims: 1, 2 or 3."""
        return min(ledger[name].consequence for name in self.claims)

    def correction(self, ledger: Mapping[str, Claim]) -> str:
        """What to change, in words."""
        return self.change or ledger[self.claims[0]].correction


def _entry(raw: dict) -> Erratum:
    """One entry of the file, or what is wrong with it."""
    unknown = set(raw) - {field.name for field in fields(Erratum)}
    if unknown or not (raw.get("claims") and raw.get("printed")):
        raise LedgerError(
            f"An erratum has claims, printed, perhaps change, proof and data, not {sorted(raw)}."
        )
    entry = Erratum(**raw | {key: tuple(raw[key]) for key in ("claims", "printed")})
    if len(entry.claims) > 1 and not entry.change:
        raise LedgerError(f"{entry.claims[0]}: an erratum of several claims says what to change.")
    return entry


def _problem(errata: list[Erratum], ledger: Mapping[str, Claim]) -> str | None:
    """Why these are not the errata of a ledger, or None."""
    listed = [name for entry in errata for name in entry.claims]
    wrong = [claim.id for claim in ledger.values() if not claim.holds and claim.verdict != "open"]
    if twice := sorted({name for name in listed if listed.count(name) > 1}):
        return f"{', '.join(twice)} stand in two errata"
    if right := [name for name in listed if name not in wrong]:
        return f"{', '.join(right)} are not claims that fail or are imprecise"
    if absent := [name for name in wrong if name not in listed]:
        return f"{', '.join(absent)} have no erratum"
    ranks = [entry.rank(ledger) for entry in errata]
    if ranks != sorted(ranks):
        return "errata stand in order of consequence"
    for entry in errata:
        if any(ledger[name].known == "proved" for name in entry.claims) and not entry.proof:
            return f"{entry.claims[0]} is known by a proof, and no proof is named"
    return None


def load(ledger: Mapping[str, Claim], path: Path | str | None = None) -> list[Erratum]:
    """Read the errata, the gravest first: each claim that fails or is imprecise, and no other, is in one."""
    read = [_entry(raw) for raw in entries(path or folder() / "errata.toml", ("erratum",))["erratum"]]
    known = [replace(e, claims=tuple(name for name in e.claims if name in ledger)) for e in read]
    kept = [entry for entry in known if entry.claims]
    if problem := _problem(kept, ledger):
        raise LedgerError(f"The errata and the ledger disagree: {problem}.")
    return kept


_TEXT = (
    (r"\\emph\{([^}]*)\}", r"*\1*"),
    (r"\\(?:eq)?ref\{(?:\w+:)?([^}]*)\}", r"(\1)"),
    (r"``(.*?)''", r"“\1”"),
    (r"~|\\ ", " "),
)
_FORMULA = (
    (r"\\Tr(?![a-zA-Z])", r"\\operatorname{tr}"),
    (r"\\E(?![a-zA-Z])", r"\\mathbb{E}"),
    (r"\\notag(?![a-zA-Z])", ""),
)


def _replaced(text, rules):
    return functools.reduce(lambda changed, rule: re.sub(*rule, changed), rules, text)


def displayed(printed: str) -> str | None:
    r"""The formula of a passage that is one displayed formula, the paper's macros written out; None for a sentence."""
    inside = re.fullmatch(r"\\\[(.*)\\\]", printed, flags=re.S)
    return _replaced(inside[1].strip(), _FORMULA) if inside else None


def sentence(printed: str) -> str:
    r"""A passage with words as MyST: the paper's words, formulas between dollars, macros written out.

    >>> sentence(r"the \emph{trace} \(\Tr(H)\) of Theorem~\ref{thm:iid}")
    'the *trace* $\\operatorname{tr}(H)$ of Theorem (iid)'
    """
    parts = re.sub(r"\\\(|\\\)", "$", printed).split("$")
    parts[::2] = [_replaced(part, _TEXT) for part in parts[::2]]
    parts[1::2] = [_replaced(part, _FORMULA) for part in parts[1::2]]
    return "$".join(parts)
