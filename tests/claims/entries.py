"""One good entry of a ledger, and how to write some as a file."""

ENTRY = {
    "where": "Section 1",
    "quote": "as n grows",
    "statement": "$x = 1$",
    "verdict": "holds",
    "correction": "",
    "known": "derived",
    "check": "edgelaw.claims.pretended:a1",
    "chapter": "03_shuffling_constants",
}


def toml(*entries):
    """The text of a ledger."""
    text = ""
    for entry in entries:
        text += "[[claim]]\n"
        for key, value in entry.items():
            text += f"{key} = {value if isinstance(value, int) else repr(value)}\n"
    return text
