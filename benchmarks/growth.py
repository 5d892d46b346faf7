"""Iterations/s of trees that expand, beside OpenSpiel's C++ solvers: from a cold start, and once the tree is there.

    python benchmarks/expansion.py                     # about 45 minutes
    python benchmarks/expansion.py --seconds=10 --rounds=3 --games=phantom_ttt --schemes=outcome

Both programs take turns in this process, each with a new solver per round, and are given the same CPU time; compiling
the kernels does not count. A run whose memory is full ends early, and says so. "New" is the share of the nodes touched
that pyspiel was asked for. The second table takes games whose trees fit: once less than a thousandth of the nodes
touched is new, both run on.
"""

import gc
import statistics
import time

import pyspiel
from absl import app, flags

import mccfr_plus

FLAGS = flags.FLAGS

MOST_NEW = 1e-3  # share of new nodes on a tree that has lazy
THEIRS = {"outcome": pyspiel.OutcomeSamplingMCCFRSolver, "external": pyspiel.ExternalSamplingMCCFRSolver}

flags.DEFINE_multi_string("games", ["phantom_ttt", "liars_dice(numdice=2)"], "Games that do not fit; none: empty")
flags.DEFINE_list("schemes", list(THEIRS), "Schemes")
flags.DEFINE_multi_string(
    "grown_games", ["dark_hex(num_rows=2,num_cols=3)", "liars_dice"], "Games whose trees expand to the end"
)
flags.DEFINE_float("seconds", 60.0, "CPU seconds of a cold run")
flags.DEFINE_float("warm_seconds", 5.0, "CPU seconds of a run on a lazy tree")
flags.DEFINE_integer("rounds", 5, "How often both are run")
flags.DEFINE_string("memory", "8GB", "Memory limit of ours")


def their_rate(solver, seconds):
    """Returns the iterations per CPU second of OpenSpiel's solver."""
    begin, done, step = time.process_time(), 0, 1
    while time.process_time() - begin < seconds:
        for _ in range(step):
            solver.run_iteration()
        done += step
        step = min(2 * step, max(1, int(0.02 * done / max(time.process_time() - begin, 1e-9))))
    return done / (time.process_time() - begin)


def our_rate(solver, seconds):
    """Returns the iterations per CPU second of ours, after what it has run."""
    before, begin = solver.iterations, time.process_time()
    while time.process_time() - begin < seconds and not solver.stopped:
        solver.run(seconds=min(1.0, seconds))
    return (solver.iterations - before) / (time.process_time() - begin)


def lazy_solver(game, scheme):
    return mccfr_plus.Solver(game, scheme, "rm", tree="lazy", memory=FLAGS.memory)


def row(cells):
    print(f"{cells[0]:<34}{cells[1]:<10}" + "".join(f"{cell:>13}" for cell in cells[2:]), flush=True)


def cold(game, scheme):
    """Prints the medians of cold starts."""
    loaded, ratios, ours, theirs, new = pyspiel.load_game(game), [], [], [], []
    for _ in range(FLAGS.rounds):
        theirs.append(their_rate(THEIRS[scheme](loaded), FLAGS.seconds))
        gc.collect()
        solver = lazy_solver(loaded, scheme)
        ours.append(our_rate(solver, FLAGS.seconds))
        new.append(solver.tree.num_expanded / solver.nodes_touched)
        ratios.append(ours[-1] / theirs[-1])
        found = solver.tree.num_infosets
        if solver.stopped:
            print(f"the memory was full after {FLAGS.memory}: the rate of ours is that until then")
        del solver
        gc.collect()
    texts = [f"{statistics.median(x):,.4g}" for x in (ours, theirs)]
    spread = f"{min(ratios):.2f}..{max(ratios):.2f}"
    row(
        [
            game,
            scheme,
            *texts,
            f"{statistics.median(ratios):.2f}",
            spread,
            f"{statistics.median(new):.0%}",
            f"{found:,}",
        ]
    )


def warm(game, scheme):
    """Prints the medians once the tree has lazy."""
    loaded = pyspiel.load_game(game)
    solver, share = lazy_solver(loaded, scheme).run(1), 1.0
    while share > MOST_NEW:
        share = new_share(solver, lambda: solver.run(seconds=FLAGS.warm_seconds))
    other, ratios, ours, theirs, new = THEIRS[scheme](loaded), [], [], [], []
    for _ in range(FLAGS.rounds):
        theirs.append(their_rate(other, FLAGS.warm_seconds))
        new.append(new_share(solver, lambda: ours.append(our_rate(solver, FLAGS.warm_seconds))))
        ratios.append(ours[-1] / theirs[-1])
    texts = [f"{statistics.median(x):,.4g}" for x in (ours, theirs)]
    spread, share = f"{min(ratios):.2f}..{max(ratios):.2f}", f"{statistics.median(new):.3%}"
    row([game, scheme, *texts, f"{statistics.median(ratios):.1f}", spread, share, f"{solver.tree.num_infosets:,}"])


def new_share(solver, run):
    """Returns the share of the nodes touched meanwhile that pyspiel was asked for."""
    asked, touched = solver.tree.num_expanded, solver.nodes_touched
    run()
    return (solver.tree.num_expanded - asked) / (solver.nodes_touched - touched)


def main(_):
    for scheme in FLAGS.schemes:  # loads the kernels
        lazy_solver("kuhn_poker", scheme).run(100)
    heading = ["game", "scheme", "ours, it/s", "C++, it/s", "ratio", "least..most", "new", "infosets"]
    print(f"cold: the first {FLAGS.seconds:g} CPU seconds, medians of {FLAGS.rounds}")
    row(heading)
    for game in filter(None, FLAGS.games):
        for scheme in FLAGS.schemes:
            cold(game, scheme)
    print(f"\ngrown: once less than {MOST_NEW:.1%} is new, medians of {FLAGS.rounds}")
    row(heading)
    for game in filter(None, FLAGS.grown_games):
        for scheme in FLAGS.schemes:
            try:
                warm(game, scheme)
            except mccfr_plus.GameError as error:  # external sampling where players forget
                print(f"{game} {scheme}: {str(error).split(',')[0]}")


if __name__ == "__main__":
    app.run(main)
