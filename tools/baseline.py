"""Compares this checkout with an earlier revision, in the same run on the same machine.

    python tools/baseline.py                                  # all subjects, about 75 minutes
    python tools/baseline.py digests start --cache=kernels    # two of them; keeps compiled kernels for the next run

digests  solvers with equal seeds have bitwise equal arrays, for every estimator, minimizer and average
speed    ratios of `benchmarks/speed.py revisions`: geometric mean at least 0.99, no cell clearly below 0.97
neural   exploitability of neural solvers in Leduc poker after equal CPU seconds
ray      `DistributedSolver` has bitwise equal arrays before and now, with one worker and with three
start    CPU seconds of the first `mccfr-plus solve kuhn_poker` with an empty kernel cache, and of the second

The exit code is 1 if a verdict is bad.
"""

import argparse
import json
import statistics
import sys
import tempfile
from concurrent import futures
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "benchmarks"))

import speed

LOWEST_MEAN, LOWEST_CELL = 0.99, 0.97  # speed now over speed before
HIGHEST_START = 1.05  # CPU seconds now over CPU seconds before
WORKERS = (1, 3)


def run_both(sides, script, *arguments):
    """Runs a script on both checkouts at once, with JSON arguments; returns the JSON values that they print."""
    given = [json.dumps(argument) for argument in arguments]
    with futures.ThreadPoolExecutor(len(sides)) as pool:
        outputs = pool.map(lambda side: speed.process(side, "-c", script, *given, side.name), sides)
        return [json.loads(output.splitlines()[-1]) for output, _ in outputs]


# --- digests ---

ESTIMATORS = ("full", "chance", "opponent", "external", "outcome", "balanced", "average_strategy")
STORED_ESTIMATORS = (
    *("escher", "escher(values='learned',sampling='balanced')", "best_response", "full(pruning=True)"),
    *("external(prune_below=-5.0)", "external(sample_per_infoset=True)"),
    *("average_strategy(beta=10.0)", "outcome(update_all_players=True)"),
)
SAMPLING_MINIMIZERS = (
    *("rm+", "linear", "linear+", "dcfr", "dcfr_pruning", "dcfr+", "hs_dcfr", "prm", "prm+", "pdcfr+"),
    *("sapcfr+", "apcfr+", "smooth_prm+", "hedge", "ftrl", "omd"),
)
FULL_MINIMIZERS = ("rtcfr+", "mmd", "reg_cfr")
AVERAGES = ("uniform", "linear", "power", "schedule", "lazy", "stochastic", "sampled", "optimistic", "last")
ITERATIONS = {"full": 30, "best_response": 30, "chance": 100, "opponent": 100}  # others: 500
THREE_PLAYERS = "kuhn_poker(players=3)"


def case(estimator, minimizer="rm", averaging=None, game="leduc_poker", tree="compiled", **options):
    """Returns the arguments of a `Solver`."""
    components = {"game": game, "estimator": estimator, "minimizer": minimizer, "averaging": averaging}
    return components | {"tree": tree, **options}


def iterations_of(arguments):
    return ITERATIONS.get(arguments["estimator"].partition("(")[0], 500)


CASES = [
    *(case(estimator, tree=tree) for estimator in ESTIMATORS for tree in ("compiled", "rules")),
    *(case(estimator) for estimator in STORED_ESTIMATORS),
    *(case("external", minimizer) for minimizer in SAMPLING_MINIMIZERS),
    *(case("full", minimizer) for minimizer in FULL_MINIMIZERS),
    *(case("full", minimizer, tree="rules") for minimizer in ("rm+", "pdcfr+", "hedge", *FULL_MINIMIZERS)),
    *(case("outcome", minimizer, tree="rules") for minimizer in ("dcfr", "prm+", "smooth_prm+", "ftrl", "omd")),
    *(case("external", averaging=average) for average in (*AVERAGES, "exact")),
    *(case("outcome", "rm+", average, tree="rules") for average in AVERAGES),
    case("external", threads=2),
    case("outcome", "pdcfr+", threads=2, batch=8),
    case("average_strategy", "ftrl", threads=2),
    case("external", tree="rules", threads=2),
    case("full", "rm+", tree="rules", threads=2),
    case("full", "prm+", alternating=False),
    case("external", "omd(decay=0.5)", batch=3),
    case("external", baseline=True),
    case("outcome", "dcfr", baseline="mean(rate=0.5,backup='sampled')"),
    case("external", game=THREE_PLAYERS),
    case("outcome", "rm+", game=THREE_PLAYERS, tree="rules"),
]

DIGESTS = """
import hashlib, json, sys
import numpy as np
import mccfr_plus
cases, folder, found = json.loads(sys.argv[1]), json.loads(sys.argv[2]), []
for number, (arguments, iterations) in enumerate(cases):
    try:
        solver = mccfr_plus.Solver(**arguments, seed=7).run(iterations)
    except Exception as error:
        found.append({"error": f"{type(error).__name__}: {error}"})
        continue
    arrays = {"average": solver.average_strategy(), "current": solver.current_strategy(), "tables": solver.tables()}
    if arguments["tree"] == "rules" and "threads" in arguments:  # slots are in the order in which threads meet infosets
        arrays = {name: np.sort(array) for name, array in arrays.items()}
    np.savez(f"{folder}/{number}_{sys.argv[3]}.npz", **arrays)
    digest = hashlib.sha256(b"".join(array.tobytes() for array in arrays.values()))
    found.append({"digest": digest.hexdigest(), "nodes": solver.nodes_touched})
print(json.dumps(found))
"""


def compare_digests(sides, arguments):
    figures, failures = [], []
    with tempfile.TemporaryDirectory() as folder:
        cases = [(each, iterations_of(each)) for each in CASES]
        for number, (each, before, now) in enumerate(zip(CASES, *run_both(sides, DIGESTS, cases, folder), strict=True)):
            error = before.get("error") or now.get("error")
            distance = 0.0 if before == now else float("inf") if error else difference(folder, number)
            tolerance = arguments.full_tolerance if each["estimator"].startswith("full") else 0.0
            verdict = error or ("equal" if distance == 0.0 else f"differs by {distance:.1e}")
            print(f"{label(each):<100}{before.get('digest', '')[:12]:<14}{verdict}", flush=True)
            figures.append({"case": each, "before": before, "now": now, "difference": distance})
            if error or distance > tolerance:
                failures.append(f"{label(each)}: {verdict}")
    print(f"{len(CASES) - len(failures)} of {len(CASES)} cases are equal")
    return figures, failures


def label(arguments):
    """Returns a case as text; arguments other than components are written out."""
    names = ("game", "estimator", "minimizer")
    options = {name: value for name, value in arguments.items() if name not in names and value is not None}
    return " ".join([*(arguments[name] for name in names), *(f"{name}={value}" for name, value in options.items())])


def difference(folder, number):
    """Returns the largest difference between the arrays of both sides, relative for numbers above 1."""
    before, now = (np.load(f"{folder}/{number}_{side}.npz") for side in ("before", "now"))
    if any(before[name].shape != now[name].shape for name in before):
        return float("inf")
    pairs = [(before[name], now[name]) for name in before]
    # Arrays may be equal where only the number of nodes differs, which is a difference too.
    return max(float((np.abs(a - b) / np.maximum(1.0, np.abs(a))).max()) for a, b in pairs) or float("inf")


# --- speed ---

SPEED_GAMES = ("kuhn_poker", "leduc_poker", "liars_dice", speed.GOOFSPIEL)


def compare_speed(sides, arguments):
    cases = [
        f"{game} {estimator} {minimizer}"
        for game in SPEED_GAMES
        for estimator in ("external", "outcome", "full")
        for minimizer in speed.MINIMIZERS
    ]
    ratios = speed.print_rates(cases, speed.paired_rates(sides, cases, arguments.rounds, seconds=0.5))
    mean = statistics.geometric_mean(map(statistics.median, ratios))
    print(f"geometric mean of {len(cases)} medians: {mean:.3f}")
    failures = [] if mean >= LOWEST_MEAN else [f"geometric mean {mean:.3f}, below {LOWEST_MEAN}"]
    figures = {"ratios": dict(zip(cases, ratios, strict=True)), "mean": mean, "again": {}}
    slow = [each for each, measured in zip(cases, ratios, strict=True) if max(measured) < LOWEST_CELL]
    if slow:
        print(f"wholly below {LOWEST_CELL}, once more by themselves:")
        ratios = speed.print_rates(slow, speed.paired_rates(sides, slow, arguments.rounds, seconds=1.0))
        figures["again"] = dict(zip(slow, ratios, strict=True))
        failures += [
            f"{each}: {spread} again" for each, spread in figures["again"].items() if max(spread) < LOWEST_CELL
        ]
    return figures, failures


# --- neural ---

# By name: the class, settings that are not defaults, whether it runs batched.
NEURAL = {
    "Deep CFR": ("DeepCFR", {}, False),
    "DREAM": ("DREAM", {}, False),
    "VR-DeepPDCFR+": ("DREAM", {"minimizer": "pdcfr+"}, True),
    "ESCHER": ("ESCHER", {}, False),
    "NFSP": ("NFSP", {}, False),
}

TRAINING = """
import json, sys, time
from mccfr_plus import neural
(kind, settings, is_batched), seed, seconds = map(json.loads, sys.argv[1:4])

def new(seed):
    if hasattr(neural, "BatchedDREAM"):  # until version 0.2
        name = "Batched" * is_batched + kind
        return getattr(neural, name)("leduc_poker", getattr(neural, f"{name}Config")(**settings), seed=seed)
    config, representation = getattr(neural, f"{kind}Config")(**settings), "batched" if is_batched else "tree"
    return getattr(neural, kind)("leduc_poker", config, representation=representation, seed=seed)

new(0).run(1)  # compiles the kernels
solver, begin = new(seed), time.process_time()
while time.process_time() - begin < seconds:
    solver.run(1)
print(json.dumps([solver.evaluate().exploitability, solver.iterations]))
"""


def compare_neural(sides, arguments):
    """The rule: the mean now is at most the worst seed before plus the range of the seeds before."""
    print(f"{'exploitability, Leduc poker':<30}{'before':>24}{'now':>24}{'iterations':>18}")
    figures, failures = {}, []
    for name, algorithm in NEURAL.items():
        runs = [run_both(sides, TRAINING, algorithm, seed, arguments.seconds) for seed in range(arguments.seeds)]
        (before, now), (iterations, later) = np.array(runs).transpose(2, 1, 0).tolist()
        figures[name] = {"before": before, "now": now, "iterations": [iterations, later]}
        counts = f"{statistics.mean(iterations):,.0f}, {statistics.mean(later):,.0f}"
        print(f"{name:<30}{speed.spread(before, '.4f'):>24}{speed.spread(now, '.4f'):>24}{counts:>18}", flush=True)
        limit = 2 * max(before) - min(before)
        if len(before) == 1:
            print("  one seed has no spread, so there is no verdict")
        elif statistics.mean(now) > limit:
            failures.append(f"{name}: mean {statistics.mean(now):.4f}, above {limit:.4f}")
    return figures, failures


# --- ray ---

DISTRIBUTED = """
import hashlib, json, sys
from mccfr_plus.cluster import Cluster, DistributedSolver
workers, found = json.loads(sys.argv[1]), {}
with Cluster(cpus=max(workers)) as cluster:
    for components in (("external", "rm"), ("outcome", "rm+"), ("external", "dcfr", "stochastic")):
        for count in workers:
            options = {"num_batches": 6, "traversals": 50, "seed": 7, "workers": count, "cluster": cluster}
            with DistributedSolver("leduc_poker", *components, **options) as solver:
                solver.run(20)
                arrays = solver.average_strategy(), solver.current_strategy(), solver.tables()
            digest = hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest()
            found.setdefault(" + ".join(components), []).append(digest)
print(json.dumps(found))
"""


def compare_ray(sides, arguments):
    del arguments
    before, now = (run_both([side], DISTRIBUTED, WORKERS)[0] for side in sides)
    print(
        f"{'components':<32}" + "".join(f"{f'{side}, {n} workers':<20}" for side in ("before", "now") for n in WORKERS)
    )
    for name in before:
        print(f"{name:<32}" + "".join(f"{digest[:12]:<20}" for digest in before[name] + now[name]))
    failures = [f"{name}: digests differ" for name in before if len({*before[name], *now[name]}) > 1]
    return {"before": before, "now": now}, failures


# --- start ---


def compare_start(sides, arguments):
    names = list(speed.STARTS)[:2]
    measured = {name: [] for name in names}
    for number in range(arguments.rounds):
        seconds = {}
        for side in sides if number % 2 else reversed(sides):
            with tempfile.TemporaryDirectory() as kernels:
                fresh = side._replace(kernels=Path(kernels))
                seconds[side.name] = [speed.process(fresh, *speed.STARTS[name])[1] for name in names]
        for name, before, now in zip(names, seconds["before"], seconds["now"], strict=True):
            measured[name].append((before, now))
    print(f"{'CPU seconds of a process':<30}{'before':>22}{'now':>22}{'now / before':>22}")
    failures = []
    for name, pairs in measured.items():
        ratios = [now / before for before, now in pairs]
        print(f"{name:<30}" + "".join(f"{speed.spread(each):>22}" for each in (*zip(*pairs, strict=True), ratios)))
        if statistics.median(ratios) > HIGHEST_START:
            failures.append(f"{name}: {statistics.median(ratios):.2f} times as long, above {HIGHEST_START}")
    return measured, failures


# --- the command ---

SUBJECTS = {
    "digests": compare_digests,
    "speed": compare_speed,
    "neural": compare_neural,
    "ray": compare_ray,
    "start": compare_start,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("subjects", nargs="*", metavar="SUBJECT", help=f"{', '.join(SUBJECTS)}; default: all")
    parser.add_argument("--before", default="65b2166", help="a revision, or the folder of a checkout (%(default)s)")
    parser.add_argument("--cache", metavar="DIR", help="keep the old checkout and compiled kernels in this folder")
    parser.add_argument("--json", metavar="FILE", help="write all figures to this file")
    parser.add_argument("--rounds", type=int, default=5, help="speed, start: measurements of each side (%(default)s)")
    parser.add_argument("--seconds", type=float, default=60.0, help="neural: CPU seconds of a run (%(default)s)")
    parser.add_argument("--seeds", type=int, default=3, help="neural: runs of each algorithm (%(default)s)")
    parser.add_argument(
        "--full_tolerance",
        type=float,
        default=0.0,
        help="digests: allowed difference with estimator full (%(default)s)",
    )
    arguments = parser.parse_args()
    subjects = arguments.subjects or list(SUBJECTS)
    if unknown := set(subjects) - set(SUBJECTS):
        parser.error(f"unknown subject {', '.join(sorted(unknown))}: give some of {', '.join(SUBJECTS)}")
    results, verdicts = {}, {}
    with speed.checkouts(arguments.before, arguments.cache) as sides:
        for subject in subjects:
            print(f"== {subject}: {arguments.before} and now", flush=True)
            results[subject], verdicts[subject] = SUBJECTS[subject](sides, arguments)
            print(flush=True)
    if arguments.json:
        Path(arguments.json).write_text(json.dumps({"figures": results, "failures": verdicts}, indent=1))
    for subject, failures in verdicts.items():
        print("\n  ".join([f"{subject}: {'FAILED' if failures else 'good'}", *failures]))
    sys.exit(1 if any(verdicts.values()) else 0)


if __name__ == "__main__":
    main()
