"""A long run that is killed at random times. Its result must be bitwise that of an uninterrupted run.

Starts `mccfr-plus solve --checkpoint`, kills it (SIGKILL) after a random time and resumes it, again and again. A last
process resumes it up to a number of iterations, and an uninterrupted run must reach the same policy. The peak memory of
the killed processes, measured by the system (`ru_maxrss`), must not grow. POSIX systems only.

    python benchmarks/soak.py --minutes=2
    python benchmarks/soak.py --game=liars_dice --tree=rules
"""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from absl import app, flags
from tqdm import tqdm

from mccfr_plus import Solver

FLAGS = flags.FLAGS

flags.DEFINE_float("minutes", 60.0, "Minutes of killing and resuming", lower_bound=0.1)
flags.DEFINE_string("game", "leduc_poker", "The game")
flags.DEFINE_string("estimator", "external", "See mccfr-plus solve")
flags.DEFINE_string("minimizer", "rm", "See mccfr-plus solve")
flags.DEFINE_string("tree", "auto", "See mccfr-plus solve")
flags.DEFINE_string("memory", None, "See mccfr-plus solve")
flags.DEFINE_float("checkpoint_interval", 1.0, "Seconds between two checkpoints", lower_bound=0.01)
flags.DEFINE_float(
    "longest", 30.0, "Maximum lifetime of a process after its first checkpoint, in seconds", lower_bound=0.1
)
flags.DEFINE_integer("seed", 1, "Seed of the run and of the kills")

_HIGHEST_GROWTH = 1.1  # peak memory of the last third of the processes over that of the first third


def start(arguments):
    return subprocess.Popen(
        [sys.executable, "-m", "mccfr_plus", "solve", FLAGS.game, *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def reap(process):
    """Waits for a process; returns its exit code and its peak memory in MiB."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    unit = 1 if sys.platform == "darwin" else 1024
    return process.returncode, usage.ru_maxrss * unit / (1 << 20)


def version_of(path):
    """Returns a number that changes with each checkpoint."""
    return path.stat().st_mtime_ns if path.exists() else 0


def kill_and_resume(path, common, rng):
    """Yields the peak memory of each killed process."""
    end = time.monotonic() + 60 * FLAGS.minutes
    with tqdm(total=round(60 * FLAGS.minutes), unit="s", leave=False, disable=None) as bar:
        while time.monotonic() < end:
            begin, before = time.monotonic(), version_of(path)
            process = start([*common, "--iterations=1e15", *(["--resume"] if path.exists() else [])])
            # Kills some processes while they start, most after they have written a checkpoint.
            while rng.random() < 0.999 and version_of(path) == before and process.poll() is None:
                time.sleep(0.02)
            time.sleep(FLAGS.longest * rng.random() ** 2)
            if process.poll() is not None:
                sys.exit(f"a process ended by itself: {process.stderr.read()}")
            process.send_signal(signal.SIGKILL)
            _, memory = reap(process)
            process.stderr.close()
            yield memory
            bar.update(min(round(time.monotonic() - begin), bar.total - bar.n))


def finish(arguments, name):
    """Runs a process to its end; ends this process with an error if it fails."""
    process = start(arguments)
    said = process.stderr.read()
    process.stderr.close()
    code, _ = reap(process)
    if code:
        sys.exit(f"the {name} failed: {said}")


def contents(path):
    """Returns the arrays of a policy file."""
    with np.load(path, allow_pickle=False) as archive:
        return {name: archive[name].tobytes() for name in archive.files}


def main(argv):
    del argv
    rng = random.Random(FLAGS.seed)
    with tempfile.TemporaryDirectory() as folder:
        path, policy = Path(folder, "soak.checkpoint"), Path(folder, "policy.npz")
        components = [f"--estimator={FLAGS.estimator}", f"--minimizer={FLAGS.minimizer}", f"--seed={FLAGS.seed}"]
        components.append(f"--tree={FLAGS.tree}")
        if FLAGS.memory:
            components.append(f"--memory={FLAGS.memory}")
        common = [*components, f"--checkpoint={path}", f"--checkpoint_interval={FLAGS.checkpoint_interval}", "--quiet"]
        memories = list(kill_and_resume(path, common, rng))
        total = Solver.from_checkpoint(path).iterations + 1000
        finish([*common, f"--iterations={total}", "--resume", f"--policy_out={policy}"], "last process")
        left = sorted(entry.name for entry in Path(folder).iterdir())
        other = Path(folder, "whole.npz")
        finish([*components, f"--iterations={total}", f"--policy_out={other}", "--quiet"], "uninterrupted run")
        same = contents(policy) == contents(other)
    third = max(len(memories) // 3, 1)
    first, last = max(memories[:third]), max(memories[-third:])
    checks = {
        "same policy as an uninterrupted run": same,
        "memory does not grow": last <= _HIGHEST_GROWTH * first,
        "no locks and temporary files left": left == ["policy.npz", "soak.checkpoint"],
    }
    rows = {
        "game": FLAGS.game,
        "processes killed": len(memories),
        "iterations": f"{total:,}",
        "peak memory, first third": f"{first:.0f} MiB",
        "peak memory, last third": f"{last:.0f} MiB",
        **{name: "yes" if good else "NO" for name, good in checks.items()},
    }
    for name, value in rows.items():
        print(f"{name:36}  {value}")
    sys.exit(0 if all(checks.values()) else 1)


if __name__ == "__main__":
    app.run(main)
