"""``python -m edgelaw``: the command line."""

import sys

from edgelaw.cli import main

if __name__ == "__main__":
    sys.exit(main())
