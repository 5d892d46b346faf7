"""Makes wrong changes in a copy of this checkout, one at a time, and runs the tests that should fail.

    python tools/mutations.py                  # all of them, about 40 minutes on two cores
    python tools/mutations.py "rm+ keeps"      # those whose names contain the text
    python tools/mutations.py --sample=5       # some, drawn by today's date
    python tools/mutations.py --list           # only looks whether each still finds its place

The exit code is 1 if a change is caught by no test.
"""

import argparse
import datetime
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
COPIED = ("mccfr_plus", "tests", "docs", "examples", "papers", "benchmarks", "tools", "pyproject.toml", "README.md")


class Change(NamedTuple):
    """A wrong change: `old`, which stands once in the file, becomes `new`, and a test of `tests` should fail."""

    name: str
    file: str
    old: str
    new: str
    tests: str


def changes(folder: str, tests: str, *rows: tuple[str, str, str, str]) -> list[Change]:
    """Returns changes in a folder of the package; rows are (name, file, old, new)."""
    return [Change(name, f"mccfr_plus/{folder}/{file}", old, new, tests) for name, file, old, new in rows]


CHANGES = [
    *changes(
        "estimators",
        "tests/estimators",
        (
            "outcome sampling divides by the strategy instead of xi",
            "outcome.py",
            "weight /= exploring_probability(strategy, exploration, slot, count, epsilon)\n        elif",
            "weight /= strategy[at(slot)]\n        elif",
        ),
        ("own reach counts among the others'", "outcome.py", "if other != player:", "if True:"),
        (
            "inclusion without its inverse",
            "traversal.py",
            "child_weight = weight / probability",
            "child_weight = weight",
        ),
        (
            "chance outcomes weigh the same",
            "traversal.py",
            "child_weight = weight * OUTCOME_PROBABILITY(tree, scratch, payload, index)",
            "child_weight = weight / count",
        ),
        (
            "pruning of rare actions, too",
            "traversal.py",
            "if PRUNE() and child_weight == 0.0:",
            "if PRUNE() and child_weight < 0.05:",
        ),
        (
            "the alias table takes the wrong side",
            "draws.py",
            'if scaled - column >= outcome["accept"]:',
            'if scaled - column < outcome["accept"]:',
        ),
        (
            "one draw per infoset is kept for the next traversal",
            "draws.py",
            'if drawn[at(first)]["traversal"] != traversal:',
            'if drawn[at(first)]["traversal"] == 0:',
        ),
        (
            "average strategy sampling without tau",
            "average_strategy.py",
            "(beta + tau * average[at(slot)]) / (beta + total)",
            "(beta + average[at(slot)]) / (beta + total)",
        ),
        (
            "pruning of large regrets",
            "external.py",
            "parameters[0] if regrets[at(slot)] < parameters[1] else 1.0",
            "parameters[0] if regrets[at(slot)] > parameters[1] else 1.0",
        ),
        (
            "exploration by the strategy",
            "draws.py",
            "return np.int64(draw / epsilon * count)",
            "return draw_action(strategy, first, count, rng)",
        ),
    ),
    *changes(
        "minimizers",
        "tests/minimizers",
        (
            "regret matching plays negative regrets",
            "regret_matching.py",
            "values[at(slot)] = max(regret, 0.0)",
            "values[at(slot)] = regret",
        ),
        (
            "rm+ keeps negative regrets",
            "regret_matching_plus.py",
            ", 0.0)\n        tables",
            ", -1e300)\n        tables",
        ),
        (
            "DCFR without missed discounts",
            "discounted.py",
            "missed_positive = math.exp(parameters[BEFORE_POSITIVE] - seen_positive)",
            "missed_positive = 1.0",
        ),
        ("PRM+ without its prediction", "predictive_regret_matching_plus.py", "+ weight * instant, 0.0)", ", 0.0)"),
        (
            "values are not passed up",
            "base.py",
            'gradient[at(infoset["parent_slot"])] += value',
            'gradient[at(infoset["parent_slot"])] += 0.0',
        ),
        (
            "dilated entropy not relative to uniform play",
            "dilated.py",
            "total / (last - first) if RELATIVE()",
            "total if RELATIVE()",
        ),
        (
            "an old guess stays in the gradient",
            "dilated.py",
            "(guess - tables[PREDICTION, slot]) / parameters[ETA_NOW]",
            "guess / parameters[ETA_NOW]",
        ),
    ),
    *changes(
        "averages",
        "tests/averages",
        ("the lazy average counts a gain twice", "methods.py", "        seen[at(first)] = above\n", ""),
        ("visits without weights", "methods.py", 'weight * entry["weight"]', "weight"),
        (
            "the second traversal draws others by their strategies",
            "own_traversal.py",
            "draw_uniform(count, rng))",
            "draw_action(strategy, payload, count, rng))",
        ),
    ),
    *changes(
        "solver",
        "tests/solver",
        (
            "iteration t weighs t - 1",
            "loop.py",
            "return 1.0 if gamma == 0.0 else float(iteration) ** gamma",
            "return float(iteration - 1) ** gamma",
        ),
        (
            "the mean of a batch is its sum",
            "loop.py",
            "                if total > 1:\n",
            "                if total > 1 and TEAM():\n",
        ),
        (
            "a thread's gradient is left out",
            "team.py",
            "for thread in range(1, team[0, SIZE]):",
            "for thread in range(2, team[0, SIZE]):",
        ),
        (
            "fast threads begin with the same number",
            "loop.py",
            'first = 1 if counts["stride"] == 1 else counts["thread"] + 1',
            "first = 1",
        ),
        (
            "a gradient that is thrown away counts in the average",
            "loop.py",
            '    if place < counts["added"]:\n        return 0.0\n',
            "",
        ),
        (
            "a checkpoint of another run is accepted",
            "saved_state.py",
            "if header[name] != own[name]:",
            "if name == '' and header[name] != own[name]:",
        ),
        (
            "the target is compared with NashConv",
            "history.py",
            "self._target is not None and found <= self._target",
            "self._target is not None and progress.evaluation.nash_conv <= self._target",
        ),
        (
            "needs: the baseline asks for nothing",
            "config.py",
            "of_baseline = {DRAWS, NO_VALUES, ONE_PLAYER, BASELINES, NODES} if",
            "of_baseline = set[str]() if",
        ),
    ),
    *changes(
        "trees",
        "tests/trees",
        (
            "a thrown-away gradient keeps its random numbers",
            "scratch.py",
            '    scratch.rng[0] = np.uint64(counts["rng_before"])\n',
            "",
        ),
        (
            "lazy trees: infosets by their texts alone",
            "expansion.py",
            ' and infosets[infoset]["parent_slot"] == slot:',
            ":",
        ),
        (
            "lazy trees: a full memory is not noticed",
            "expansion.py",
            "    if fits and cost <= expansion[MAX_COST]:\n",
            "    if fits:\n",
        ),
    ),
    *changes(
        "kernels",
        "tests/kernels",
        ("slots: an unknown slot is accepted", "slots.py", "        if unused:\n", "        if not binder.used:\n"),
        ("slots: a constant keeps its default", "slots.py", "return value.with_value(new)", "return value"),
        ("digests without closures", "digest.py", "texts += [_described(cells), _described", "texts += [_described"),
        (
            "digests without modules",
            "digest.py",
            'texts += [f"{name}.{each}={_described(vars(value)[each])}" for each',
            'texts += ["" for each',
        ),
    ),
    *changes(
        "evaluation",
        "tests/evaluation",
        (
            "a best response takes the worst action",
            "kernels.py",
            "if gradient[slot] > gradient[chosen]:",
            "if gradient[slot] < gradient[chosen]:",
        ),
        (
            "threads' gradients are dropped by rules",
            "by_rules.py",
            "            roots += other.gradient[tree.slot_capacity :]\n",
            "",
        ),
    ),
    *changes(
        "files",
        "tests/files",
        ("what stands beside the arrays is ignored", "file.py", "set(archive.namelist()) != members or ", ""),
        ("damaged arrays are accepted", "file.py", " or archive.testzip() is not None", ""),
    ),
]


def run(change: Change, copy: Path) -> str | None:
    """Makes a change, runs its tests, and undoes it; returns the test that failed, or None."""
    path = copy / change.file
    source = path.read_text(encoding="utf-8")
    path.write_text(source.replace(change.old, change.new), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider", change.tests]
    try:
        done = subprocess.run(
            command, cwd=copy, env=os.environ | {"PYTHONPATH": str(copy)}, capture_output=True, text=True
        )
    finally:
        path.write_text(source, encoding="utf-8")
    found = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    if done.returncode == 1 and found:
        return found[1]
    if done.returncode == 0:
        return None
    raise SystemExit(f"{change.name}: the tests did not run:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="TEXT", help="part of a change's name; default: all")
    parser.add_argument("--sample", type=int, metavar="N", help="only N changes, drawn by today's date")
    parser.add_argument("--list", action="store_true", help="run no tests")
    arguments = parser.parse_args()
    chosen = [each for each in CHANGES if not arguments.names or any(name in each.name for name in arguments.names)]
    for change in chosen:
        count = (ROOT / change.file).read_text(encoding="utf-8").count(change.old)
        if count != 1:
            parser.error(f"{change.name}: {change.old!r} stands {count} times in {change.file}: mend the table")
    if arguments.sample is not None:
        rng = random.Random(datetime.date.today().toordinal())
        chosen = rng.sample(chosen, min(arguments.sample, len(chosen)))
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        copy.mkdir()
        for name in COPIED:
            (shutil.copytree if (ROOT / name).is_dir() else shutil.copy2)(ROOT / name, copy / name)
        for change in chosen:
            begin = time.monotonic()
            caught = "" if arguments.list else run(change, copy)
            missed += caught is None
            verdict = "NOT CAUGHT" if caught is None else caught
            print(f"{change.name:<56} {time.monotonic() - begin:5.0f} s  {verdict}", flush=True)
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
