"""One good entry of a ledger, and how to write some as a file."""

import os

ENTRY = {
    "where": "Section 1",
    "quote": "as n grows",
    "statement": "$x = 1$",
    "verdict": "holds",
    "correction": "",
    "known": "derived",
    "check": "edgelaw_ledger.checks.pretended:a1",
    "chapter": "03_shuffling_constants",
}


def die(claim):
    """What a check does that takes its process down."""
    os._exit(3)


def toml(*entries):
    """The text of a ledger."""
    text = ""
    for entry in entries:
        text += "[[claim]]\n"
        for key, value in entry.items():
            text += f"{key} = {value if isinstance(value, int) else repr(value)}\n"
    return text
