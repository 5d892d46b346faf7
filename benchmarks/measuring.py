"""Helpers of the benchmarks: subjects on the command line, clocks, medians with their range."""

import ast
import os
import statistics
import sys
import time

from absl import app, flags

FLAGS = flags.FLAGS

_CHUNK = 0.05  # seconds between two readings of a clock


def run(description, subjects):
    """Runs the subject given on the command line: ``python SCRIPT.py SUBJECT [--flags]``.

    Args:
        description: The script's docstring.
        subjects: Functions without arguments, by name.
    """

    def main(arguments):
        if len(arguments) != 2 or arguments[1] not in subjects:
            print(f"{description}\nGive one subject: {', '.join(subjects)}.", file=sys.stderr)
            sys.exit(2)
        begin = os.getloadavg()[0]
        subjects[arguments[1]]()
        print(f"load average {begin:.1f} to {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores")

    app.run(main)


def timed(work, clock=time.perf_counter):
    """Returns the seconds that a function takes."""
    begin = clock()
    work()
    return clock() - begin


def rate(solver, seconds, unit="nodes_touched"):
    """Returns nodes, or iterations, per wall-clock second of a run."""
    before = getattr(solver, unit)
    spent = timed(lambda: solver.run(seconds=seconds))
    return (getattr(solver, unit) - before) / spent


def run_to(solver, spent, target):
    """Runs a solver until it has spent `target` CPU seconds; returns the CPU seconds spent."""
    while spent < target:
        begin = time.process_time()
        solver.run(seconds=min(_CHUNK, max(target - spent, 1e-3)))
        spent += time.process_time() - begin
    return spent


def spread(values, form=".2f"):
    """Returns ``median (least-most)``."""
    return f"{statistics.median(values):{form}} ({min(values):{form}}-{max(values):{form}})"


def settings(pairs):
    """Returns the fields given by --set."""
    return {name: ast.literal_eval(value) for name, value in (pair.split("=", 1) for pair in pairs)}
