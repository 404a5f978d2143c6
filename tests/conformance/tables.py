"""The record of the cells as the tables that the book shows.

python tests/conformance/tables.py     write RESULTS.md from RESULTS.json again, with nothing run
"""

import json
from pathlib import Path

from sizes import RANKS, ROWS, WORKERS

from edgelaw.orders import ORDERS

HERE = Path(__file__).resolve().parent
RECORD, TABLES = HERE / "RESULTS.json", HERE / "RESULTS.md"
LIBRARIES = {
    "plain": "torch",
    "stateful": "torchdata",
    "accelerate": "accelerate",
    "lightning": "Lightning",
}
MISTAKES = {
    ("plain", 2): "torch: a sampler made without `num_replicas`",
    ("accelerate", 2): "accelerate: `prepare`, and `num_replicas` as well",
    ("lightning", 1): 'Lightning\'s defaults, `strategy="ddp"`',
    ("lightning", 2): 'Lightning\'s defaults, `strategy="ddp"`',
}


def passes(verdict):
    """Whether a cell of ours keeps its promises: epochs in order, no warning, and the exact rest after a stop."""
    return verdict["order"] and not verdict["warned"], verdict["resumed"]


def mark(*answers):
    """A mark for each answer, all on one line."""
    return "\N{NO-BREAK SPACE}".join("✓" if answer else "✗" for answer in answers)


def main_table(cells):
    """Our orders in every library, and the library's own sampler beside them."""
    words = [order.replace("_", " ") for order in ORDERS]
    lines = ["| library | processes / workers | " + " | ".join(words) + " | its own sampler |"]
    lines.append("|---|:---:|" + ":---:|" * (len(ORDERS) + 1))
    for library, title in LIBRARIES.items():
        for ranks in RANKS:
            for workers in WORKERS:
                ours = [mark(*passes(cells[f"{library} {ranks} ours {order} {workers}"])) for order in ORDERS]
                stock = cells[f"{library} {ranks} stock - {workers}"]
                once = not (stock["left_out"] or stock["repeated"])
                row = [title, f"{ranks} / {workers}", *ours, mark(once, stock["resumed"])]
                lines.append(f"| {' | '.join(row)} |")
    return lines


def spoken(verdicts, key, most):
    """One cell of a table for several verdicts, which should agree; where they do not, both numbers."""
    values = sorted({one[key] for one in verdicts})
    return " or ".join(f"{value} of {most}" if value else "none" for value in values)


def stock_table(cells):
    """What the libraries' own samplers do."""
    lines = ["| library | processes | rows seen twice | resumed in an epoch | its own sampler |"]
    lines.append("|---|:---:|---|---|---|")
    stocks = [(library, "-", title) for library, title in LIBRARIES.items()]
    stocks.append(("lightning", "stateful", "Lightning with torchdata"))
    for library, kind, title in stocks:
        for ranks in RANKS:
            both = [cells[f"{library} {ranks} stock {kind} {workers}"] for workers in WORKERS]
            exact = {one["resumed"] for one in both}
            answer = {(True,): "exactly", (False,): "not exactly"}.get(tuple(exact), "depends on the workers")
            twice, sampler = spoken(both, "repeated", ROWS), both[0]["sampler"]
            lines.append(f"| {title} | {ranks} | {twice} | {answer} | {sampler} |")
    return lines


def mistake_table(cells):
    """What becomes of the orders where a library is left to itself, and whether the sampler warned."""
    lines = [
        "| what was done | processes | order kept | rows never seen | rows seen twice or more | warned |"
    ]
    lines.append("|---|:---:|---|---|---|---|")
    for (library, ranks), title in MISTAKES.items():
        all_ = [cells[f"{library} {ranks} mistake {order} {w}"] for order in ORDERS[1:] for w in WORKERS]
        kept = "yes" if all(one["order"] for one in all_) else "no"
        warned = "yes" if all(one["warned"] for one in all_) else "NO"
        left, twice = spoken(all_, "left_out", ROWS), spoken(all_, "repeated", ROWS)
        lines.append(f"| {title} | {ranks} | {kept} | {left} | {twice} | {warned} |")
    return lines


def text(record):
    """RESULTS.md: three tables, each under a comment that says where it begins."""
    cells = record["cells"]
    versions = ", ".join(f"{name} {version}" for name, version in sorted(record["versions"].items()))
    parts = [
        ["<!-- cells -->", *main_table(cells), "", f"Measured with {versions}."],
        ["<!-- stock -->", *stock_table(cells)],
        ["<!-- mistakes -->", *mistake_table(cells), "", "<!-- end -->"],
    ]
    return "\n\n".join("\n".join([part[0], "", *part[1:]]) for part in parts) + "\n"


def write(record):
    """Write the record and its tables."""
    RECORD.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    TABLES.write_text(text(record), encoding="utf-8")


if __name__ == "__main__":
    write(json.loads(RECORD.read_text(encoding="utf-8")))
