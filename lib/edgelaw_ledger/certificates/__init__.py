"""Certified constants: balls, proved by python-flint (Arb) to contain the numbers that verdicts rest on.

What is certified is the arithmetic, from a generating function or a finite sum to a number, not the derivation of the
generating function. python-flint belongs to the test environment, not to the library.
"""

from edgelaw_ledger.certificates.catalogue import PARTS
from edgelaw_ledger.certificates.catalogue import everything as certificates

__all__ = ["PARTS", "certificates"]
