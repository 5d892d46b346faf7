"""Runs the tests repeatedly while other processes keep the CPU busy.

    python tools/busy_tests.py                         # five times beside three processes
    python tools/busy_tests.py --times=1 tests/solver  # further arguments are pytest's

The exit code is 1 if a run fails.
"""

import argparse
import subprocess
import sys
import time


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=5, help="number of runs; default: 5")
    parser.add_argument("--processes", type=int, default=3, help="number of busy processes; default: 3")
    arguments, rest = parser.parse_known_args()
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(arguments.processes)]
    failed = 0
    try:
        for number in range(1, arguments.times + 1):
            begin = time.monotonic()
            code = subprocess.run([sys.executable, "-m", "pytest", "-q", *rest], check=False).returncode
            failed += code != 0
            print(f"run {number}: exit code {code} after {time.monotonic() - begin:.0f} s", flush=True)
    finally:
        for process in busy:
            process.kill()
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
