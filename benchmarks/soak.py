"""A long run under random kills: its result must be bitwise that of an uninterrupted one, and its memory constant.

`mccfr-plus solve --checkpoint` is started, killed (SIGKILL) after a random time, and resumed, until it has run for the
minutes wanted. Then a last process resumes it to a total number of iterations, and an uninterrupted run of as many must
give a bitwise identical policy. Peak memory is the system's (`ru_maxrss`) for each process that was killed. POSIX
systems only; the uninterrupted run takes about as long again.

    python benchmarks/soak.py --minutes=2
    python benchmarks/soak.py --game="goofspiel(num_cards=6,imp_info=True,points_order=descending)" --tree=lazy \
        --memory=330MB    # so little that nodes are evicted all the time
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

from mccfr_plus.solver.saved_state import read_header

FLAGS = flags.FLAGS

flags.DEFINE_float("minutes", 60.0, "How long to kill and resume, in minutes", lower_bound=0.1)
flags.DEFINE_string("game", "leduc_poker", "The game")
flags.DEFINE_string("estimator", "external", "As for mccfr-plus solve")
flags.DEFINE_string("minimizer", "rm", "As for mccfr-plus solve")
flags.DEFINE_string("tree", "auto", "As for mccfr-plus solve")
flags.DEFINE_string("memory", None, "As for mccfr-plus solve")
flags.DEFINE_float("checkpoint_interval", 1.0, "Seconds between two checkpoints", lower_bound=0.01)
flags.DEFINE_float("longest", 30.0, "Seconds that a process lives at the most once it runs", lower_bound=0.1)
flags.DEFINE_integer("seed", 1, "Of the run and of the kills")

_MOST_MEMORY = 1.1  # peak of the last third of the processes over that of the first third


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


def iteration_of(path):
    return read_header(path)["iterations"] if path.exists() else 0


def kill_and_resume(path, common, rng):
    """Yields the peak memory of each process, once it is killed."""
    end = time.monotonic() + 60 * FLAGS.minutes
    with tqdm(total=round(60 * FLAGS.minutes), unit="s", leave=False, disable=None) as bar:
        while time.monotonic() < end:
            begin, before = time.monotonic(), iteration_of(path)
            process = start([*common, "--iterations=1e15", *(["--resume"] if path.exists() else [])])
            # Some are killed while they start; the others once they have written a later checkpoint.
            while rng.random() < 0.999 and iteration_of(path) == before and process.poll() is None:
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
    """Runs a process to its end; ends this one, and says which it was, if it fails."""
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
        components += [f"--tree={FLAGS.tree}", "--bound_seconds=0"]
        if FLAGS.memory:
            components.append(f"--memory={FLAGS.memory}")
        common = [*components, f"--checkpoint={path}", f"--checkpoint_interval={FLAGS.checkpoint_interval}", "--quiet"]
        memories = list(kill_and_resume(path, common, rng))
        total = iteration_of(path) + 1000
        finish([*common, f"--iterations={total}", "--resume", f"--policy_out={policy}"], "last process")
        left = sorted(entry.name for entry in Path(folder).iterdir())
        other = Path(folder, "whole.npz")
        finish([*components, f"--iterations={total}", f"--policy_out={other}", "--quiet"], "uninterrupted run")
        same = contents(policy) == contents(other)
    third = max(len(memories) // 3, 1)
    first, last = max(memories[:third]), max(memories[-third:])
    checks = {
        "same policy as an uninterrupted run": same,
        "memory does not grow": last <= _MOST_MEMORY * first,
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
