"""``python -m edgelaw_app``: the command line."""

import sys

from edgelaw_app.cli import main

if __name__ == "__main__":
    sys.exit(main())
