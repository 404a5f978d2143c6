"""``python -m edgelaw_ledger`` checks the claims: :mod:`edgelaw_ledger.verify`."""

import sys

from edgelaw_ledger.verify import main

if __name__ == "__main__":
    sys.exit(main())
