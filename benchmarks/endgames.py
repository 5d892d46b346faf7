"""Published endgames of Libratus: ``python benchmarks/endgames.py solve --folder=FOLDER``.

solve  time of an iteration, memory as said before the run and as measured, and exploitability in % of the pot
suits  slots and time of an iteration with merged suits, over those of all hands, on boards with symmetries

The folder has files of https://github.com/Sandholm-Lab/LibratusEndgames, subgame1.txt and so on.
"""

import resource
import time
from pathlib import Path

import pyspiel
from absl import flags
from measuring import FLAGS, run

import mccfr_plus
from mccfr_plus.games import compiled_rules, load_libratus_endgame
from mccfr_plus.solver.choice import public_bytes
from mccfr_plus.solver.config import SolverConfig
from mccfr_plus.trees.public.dealt import predicted_sizes

flags.DEFINE_string("folder", None, "The folder of the endgames, for solve")
flags.DEFINE_string("minimizer", "rm+", "Minimizer")
flags.DEFINE_integer("threads", 1, "Threads")
flags.DEFINE_float("percent", 0.05, "Stop below this exploitability, in % of the pot")
flags.DEFINE_float("seconds", 300, "or after so many CPU seconds")


def options():
    return {"estimator": "full", "minimizer": FLAGS.minimizer, "tree": "public", "threads": FLAGS.threads}


def resident():
    """Returns the resident memory in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def peak():
    """Returns the peak resident memory in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def solve():
    small = pyspiel.load_game("holdem_subgame(board=4s3h2s2h4d,pot=20,stack=20,ranks=3)")
    mccfr_plus.Solver(small, **options()).run(1).exploitability()
    for path in sorted(Path(FLAGS.folder).glob("subgame*.txt"), reverse=True):
        is_river = "-round 4" in path.read_text()
        game = load_libratus_endgame(path, "0.5 1;0.5 1;1" if is_river else "100%")
        rules, before = compiled_rules(game), resident()
        said, pot = (
            public_bytes(SolverConfig.from_specs(**options()), rules, predicted_sizes(rules.deal)),
            rules.given["pot"],
        )
        begin, at = time.process_time(), time.perf_counter()
        solver = mccfr_plus.Solver(game, **options())
        tree, built, spent, share = solver.tree, time.process_time() - begin, 0.0, 100.0
        print(f"{path.name}: {tree.num_nodes:,} public nodes, {tree.num_slots:,} slots, built in {built:.1f} CPU s")
        while share > FLAGS.percent and spent < FLAGS.seconds:
            begin = time.process_time()
            solver.run(max(solver.iterations, 100))
            spent += time.process_time() - begin
            share = 100 * solver.exploitability() / pot
            each = 1e3 * spent / solver.iterations
            print(f"  {solver.iterations:6} iterations {spent:7.2f} CPU s, {each:.2f} ms each: {share:.4f}% of the pot")
        print(f"  memory: {said / 1e6:.0f} MB said, {peak() - before:.0f} MB more at the peak")
        print(f"  {time.perf_counter() - at:.0f} seconds in all, with evaluations", flush=True)


def suits():
    for board in ("Ks7h4d2c9s", "Ks7h4h2s9s", "Ks7h4d2s", "Ks7h4h2s", "KsKh4d4c", "Ks7s4s2s"):
        game = pyspiel.load_game(f"holdem_subgame(board={board},pot=200,stack=900,bets=100%)")
        solvers = [mccfr_plus.Solver(game, **options(), symmetry=merged).run(1) for merged in (False, True)]
        iterations, times = 200 if len(board) == 10 else 10, [[], []]
        for _ in range(4):
            for solver, seconds in zip(solvers, times, strict=True):
                begin = time.process_time()
                solver.run(iterations)
                seconds.append(time.process_time() - begin)
        slots = [solver.tree.num_slots for solver in solvers]
        each = 1e3 * min(times[0]) / iterations
        print(f"{board}: {slots[0]:,} slots, {each:.2f} ms; merged {slots[1] / slots[0]:.2f} of the slots, ", end="")
        print(f"{min(times[1]) / min(times[0]):.2f} of the time", flush=True)


if __name__ == "__main__":
    run(__doc__, {"solve": solve, "suits": suits})
