"""Certified constants: enclosures by ball arithmetic of the closed-form numbers that verdicts rest on.

A certificate is a ball [mid ± radius], computed by python-flint (Arb) so that it is proved to contain a number, beside
the paper's value, read from the claim's check, and the library's, obtained by calling it. Where a claim holds the ball
contains both; where it fails the ball excludes the paper's. What is certified is the arithmetic, from a generating
function or a finite sum to a number, not the derivation of the generating function.

python-flint belongs to the test environment, not to the library: it is imported when :func:`certificates` is called.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from edgelaw_ledger.certificates.entries import Certificate

__all__ = ["PARTS", "certificates"]

PARTS = ("constants", "edge", "expansions", "sums")


def certificates() -> "tuple[Certificate, ...]":
    """All certificates, computed once per process (half a minute)."""
    try:
        catalogue = importlib.import_module("edgelaw_ledger.certificates.catalogue")
    except ModuleNotFoundError as problem:
        if problem.name != "flint":
            raise
        raise ModuleNotFoundError(
            "Certificates need ball arithmetic: install python-flint (it is pinned in requirements.txt).",
            name="flint",
        ) from problem
    return catalogue.everything()
