"""The same checks with other numbers: which of them a check would not notice."""

import os

import edgelaw_ledger as claims

#: Claims that do not hold as printed, with numbers that would give another verdict.
ELSEWHERE = {
    "A20": [({"ratio": 1.02 * 2**0.5}, "fails")],
    "G7": [({"beta": 0.486}, "holds"), ({"beta": 0.55}, "fails")],
    "G9": [({"ratio": 488.0}, "holds"), ({"ratio": 300.0}, "fails")],
    "G11": [({"text": 0.46}, "holds"), ({"text": 0.35}, "fails")],
    "G15": [({"orders": 3.0}, "holds")],
}


def mutants(claim):
    """The same check with one number moved up, and in CI also down: (name of the number, what to pass)."""
    factors = (0.98, 1.02) if os.environ.get("EDGELAW_MUTANTS") == "both" else (1.02,)
    for name, value in claim.stated().items():
        for factor in factors:
            # A stated zero cannot be moved by a factor; 2 % of one is moved instead.
            yield name, {name: factor * value if value else factor - 1}


def survivors(claim):
    """Which moved numbers the check does not notice; refusing to compute with them counts as noticing."""
    unnoticed = []
    for name, stated in mutants(claim):
        try:
            verdict = claims.check(claim, **stated).verdict
        except ArithmeticError as refusal:
            verdict = f"refused: {refusal}"
        if verdict == "holds":
            unnoticed.append((name, stated[name]))
    return unnoticed
