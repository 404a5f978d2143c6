"""Certified constants: enclosures by ball arithmetic of the closed-form numbers that verdicts rest on.

A certificate is a ball [mid ± radius], computed by python-flint (Arb) so that it is proved to contain a number, beside
the paper's value, read from the claim's check, and the library's, obtained by calling it. Where a claim holds the ball
contains both; where it fails the ball excludes the paper's. What is certified is the arithmetic, from a generating
function or a finite sum to a number, not the derivation of the generating function.

python-flint belongs to the test environment, not to the library.
"""

from edgelaw_ledger.certificates.catalogue import PARTS
from edgelaw_ledger.certificates.catalogue import everything as certificates

__all__ = ["PARTS", "certificates"]
