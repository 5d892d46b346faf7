"""Speed beside OpenSpiel's C++ solvers; the same as `mccfr-plus benchmark`, and takes the same flags."""

import sys

from mccfr_plus.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["benchmark", *sys.argv[1:]]))
