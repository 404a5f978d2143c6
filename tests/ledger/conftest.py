"""A ledger of two claims with checks of their own, small enough to see through."""

import sys
import types

import pytest
from entries import ENTRY

import edgelaw_ledger as claims


@pytest.fixture
def pretended(monkeypatch):
    """A module of checks: a1 holds, a2 is contradicted, a3 breaks down, a4 returns no evidence."""
    module = types.ModuleType("edgelaw_ledger.checks.pretended")

    def a1(*, stated=1.0, size=3):
        """One against one."""
        return claims.number(1.0, stated, 1e-3)

    def a2():
        """Two against one."""
        return claims.number(2.0, 1.0, 1e-3)

    def a3():
        """Divides by zero."""
        return 1 / 0

    def a4():
        """Says yes."""
        return True

    for check in (a1, a2, a3, a4):
        setattr(module, check.__name__, check)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return module


@pytest.fixture
def small(pretended):
    """Claims A1 to A4 with those checks, all recorded to hold, and A5 settled by reading."""
    made = {}
    for i in range(1, 5):
        entry = ENTRY | {"id": f"A{i}", "check": f"edgelaw_ledger.checks.pretended:a{i}"}
        made[f"A{i}"] = claims.Claim(**entry)
    made["A5"] = claims.Claim(
        **ENTRY | {"id": "A5", "check": "", "known": "read", "reason": "It is a matter of taste."}
    )
    return made
