"""``python -m edgelaw.cli``."""

import sys

from edgelaw.cli import main

if __name__ == "__main__":
    sys.exit(main())
