"""Nodes/s of this version over an earlier one, for games whose trees fit: has anything become slower?

    python benchmarks/revisions.py --before=abd170a            # about 12 minutes, of which 6 compile kernels
    python benchmarks/revisions.py --before=HEAD~1 --rounds=9 --cases="kuhn_poker external,leduc_poker full"

The earlier version is cloned from this repository. Each round starts a process of either, in turn; a process runs every
case in slices of 20 ms of CPU time and reports the fastest, because on a shared machine noise only makes slower. Of the
rounds the median counts.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from absl import app, flags
from tqdm import tqdm

FLAGS = flags.FLAGS

flags.DEFINE_string("before", None, "Revision to compare with", required=True)
flags.DEFINE_integer("rounds", 5, "How often either is run", lower_bound=1)
flags.DEFINE_integer("slices", 100, "Slices of 20 ms per case and process", lower_bound=1)
flags.DEFINE_list(
    "cases",
    [
        f"{game} {estimator}"
        for estimator in ("external", "outcome", "chance", "full")
        for game in ("kuhn_poker", "leduc_poker", "liars_dice")
        if (estimator, game) != ("chance", "liars_dice")  # an iteration takes longer than a slice
    ],
    "Game and estimator, each",
)

_ROOT = Path(__file__).resolve().parent.parent

# Runs in a process of its own, on either version: it may use what both have and nothing else.
_CHILD = """
import json, sys, time
import mccfr_plus
rates, slices = [], int(sys.argv[1])
for case in sys.argv[2:]:
    game, estimator = case.split()
    solver, best = mccfr_plus.Solver(game, estimator, seed=1), 0.0
    solver.run(20)
    for _ in range(slices):
        before, begin = solver.nodes_touched, time.process_time()
        solver.run(seconds=0.02)
        best = max(best, (solver.nodes_touched - before) / (time.process_time() - begin))
    rates.append(best)
print(json.dumps(rates))
"""


def measure(code: Path, cache: Path, slices: int) -> list[float]:
    """Returns the nodes/s of each case, from a process that imports the package from `code`."""
    environment = {**os.environ, "PYTHONPATH": str(code), "NUMBA_CACHE_DIR": str(cache)}
    command = [sys.executable, "-c", _CHILD, str(slices), *FLAGS.cases]
    found = subprocess.run(command, env=environment, cwd=cache, capture_output=True, text=True, check=False)
    if found.returncode:
        sys.exit(f"{code} failed:\n{found.stderr}")
    return json.loads(found.stdout)


def main(_):
    with tempfile.TemporaryDirectory() as folder:
        before = Path(folder, "before")
        for command in (["clone", "-q", str(_ROOT), str(before)], ["-C", str(before), "checkout", "-q", FLAGS.before]):
            if subprocess.run(["git", *command], check=False).returncode:
                sys.exit(f"git could not bring the revision {FLAGS.before}")
        sides = [(before, Path(folder, "cache_before")), (_ROOT, Path(folder, "cache_now"))]
        for code, cache in sides:
            cache.mkdir()
            measure(code, cache, 1)  # compiles the kernels
        rounds = [
            [measure(code, cache, FLAGS.slices) for code, cache in sides]
            for _ in tqdm(range(FLAGS.rounds), unit="round", leave=False, disable=None)
        ]
    load = os.getloadavg()[0]
    print(f"M nodes/s, {FLAGS.before} and now, medians of {FLAGS.rounds}; load average at the end {load:.2f}")
    print(f"{'game':<14}{'estimator':<12}{'before':>9}{'now':>9}{'ratio':>8}{'least..most':>14}")
    for number, case in enumerate(FLAGS.cases):
        pairs = [(old[number], new[number]) for old, new in rounds]
        ratios = [new / old for old, new in pairs]
        old, new = (statistics.median(side) / 1e6 for side in zip(*pairs, strict=True))
        spread = f"{min(ratios):.2f}..{max(ratios):.2f}"
        print(
            f"{case.split()[0]:<14}{case.split()[1]:<12}{old:>9.1f}{new:>9.1f}{statistics.median(ratios):>8.2f}{spread:>14}"
        )


if __name__ == "__main__":
    app.run(main)
