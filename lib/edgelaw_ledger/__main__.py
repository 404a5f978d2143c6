"""``python -m edgelaw_ledger`` is ``edgelaw verify``, with the same options."""

import sys

from edgelaw_app import cli

if __name__ == "__main__":
    sys.exit(cli.main(["verify", *sys.argv[1:]]))
