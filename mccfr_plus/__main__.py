"""Lets `python -m mccfr_plus` do what the `mccfr-plus` command does."""

import sys

from mccfr_plus.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
