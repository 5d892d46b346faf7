"""Large games: ``python benchmarks/large_games.py SUBJECT``.

judged     games that do not fit into memory, beside OpenSpiel's C++; the same estimator judges both policies
expansion  iterations/s of lazily expanded trees over OpenSpiel's C++, from a cold start and once most nodes exist
rules      iterations/s by compiled rules over OpenSpiel's C++, from a cold start
exact      exact exploitability by rules after CPU seconds of a run, and the cost of the evaluation
full       exact exploitability by rules after full iterations, and their CPU seconds
sizes      compiling from rules, and seconds per iteration, at the sizes of Lanctot et al. 2009, table 1 (5 GB)
"""

import contextlib
import gc
import mmap
import multiprocessing
import resource
import statistics
import time

import numpy as np
import pyspiel
from absl import flags
from measuring import FLAGS, run, run_to, spread, timed

import mccfr_plus
from mccfr_plus.evaluation import exploitability_lower_bound, head_to_head
from mccfr_plus.parameters import bytes_of

flags.DEFINE_string("games", None, "Games, with ; between them. Default: those of the subject")
flags.DEFINE_list("estimators", ["outcome", "external"], "judged, expansion: estimators of both sides")
flags.DEFINE_float("seconds", 60.0, "Length of a run: CPU seconds in expansion, about as many in judged and sizes")
flags.DEFINE_float("warm_seconds", 5.0, "expansion: CPU seconds of a run on an expanded tree")
flags.DEFINE_float("judge_seconds", 60.0, "judged: length of each judgement")
flags.DEFINE_bool("prepare", True, "expansion, rules: touch all memory first, on a virtual machine")
flags.DEFINE_integer("rounds", 5, "expansion, rules: runs of each side")
flags.DEFINE_list("marks", ["30", "120"], "exact: CPU seconds; full: iterations")
flags.DEFINE_list("minimizers", ["prm+"], "full: minimizers")
flags.DEFINE_integer("threads", 1, "full: threads")
flags.DEFINE_bool("symmetry", False, "exact, full: merge infosets that are equivalent under symmetries")
flags.DEFINE_list("averagings", ["linear", "stochastic(gamma=1.0)"], "exact: averages")
flags.DEFINE_string("memory", "8GB", "Memory limit of our solvers")

THEIRS = {"outcome": pyspiel.OutcomeSamplingMCCFRSolver, "external": pyspiel.ExternalSamplingMCCFRSolver}


def games(default):
    return (FLAGS.games or default).split(";")


def lazy_solver(game, estimator, tree="lazy"):
    return mccfr_plus.Solver(game, estimator, "rm", tree=tree, memory=FLAGS.memory, seed=1)


def run_theirs(solver, seconds, clock):
    """Runs OpenSpiel's solver; returns its iterations and seconds."""
    begin, done, step, spent = clock(), 0, 1, 0.0
    while spent < seconds:
        for _ in range(step):
            solver.run_iteration()
        done, spent = done + step, clock() - begin
        step = min(2 * step, max(1, int(0.02 * done / max(spent, 1e-9))))
    return done, spent


# --- judged ---


def judged():
    """Both run for the same wall-clock time; local best responses judge their average policies."""
    estimator = FLAGS.estimators[0]
    lazy_solver("kuhn_poker", estimator).run(100)  # loads the kernels
    for name in games("phantom_ttt;liars_dice(numdice=2);dark_hex(num_rows=3,num_cols=3)"):
        game = pyspiel.load_game(name)
        theirs = THEIRS[estimator](game)  # its policy reads its memory
        iterations, _ = run_theirs(theirs, FLAGS.seconds, time.perf_counter)
        solver = lazy_solver(game, estimator).run(seconds=FLAGS.seconds)
        policies = solver.average_policy(), theirs.average_policy()
        print(f"{name}, {estimator}, {FLAGS.seconds:g} seconds each")
        print(f"  ours       {solver.iterations:>12,} iterations, {solver.tree.num_infosets:,} information sets")
        print(f"  OpenSpiel  {iterations:>12,} iterations")
        limits = {"num_games": 10**7, "seconds": FLAGS.judge_seconds, "seed": 1}
        for who, policy in zip(("ours", "OpenSpiel"), policies, strict=True):
            found = exploitability_lower_bound(game, policy, **limits).estimate
            print(
                f"  exploitability of {who:9} at least {found.value:.4f} ({found.low:.4f} to {found.high:.4f})",
                flush=True,
            )
        won = head_to_head(game, *policies, **limits).estimate
        print(f"  ours wins per game {won.value:+.4f} ({won.low:+.4f} to {won.high:+.4f})", flush=True)


# --- expansion ---

MOST_NEW = 1e-3  # share of new nodes on an expanded tree


def expansion():
    """Both take turns and get the same CPU time. "New" is the share of touched nodes that were new."""
    for estimator in FLAGS.estimators:  # loads the kernels
        lazy_solver("kuhn_poker", estimator).run(100)
    heading = (
        f"{'game':<32}{'estimator':<10}{'ours, it/s':>12}{'C++, it/s':>12}  {'ratio':<20}{'new':>7}{'infosets':>13}"
    )
    print(f"cold: the first {FLAGS.seconds:g} CPU seconds, medians of {FLAGS.rounds}\n{heading}")
    for game in games("phantom_ttt;liars_dice(numdice=2)"):
        for estimator in FLAGS.estimators:
            cold(game, estimator)
    print(f"\nwarm: once less than {MOST_NEW:.1%} is new, medians of {FLAGS.rounds}\n{heading}")
    for game in ("dark_hex(num_rows=2,num_cols=3)", "liars_dice"):
        for estimator in FLAGS.estimators:
            with contextlib.suppress(mccfr_plus.GameError):  # external sampling with imperfect recall
                warm(game, estimator)


def our_rate(solver, seconds):
    """Returns iterations per CPU second, and the share of new nodes."""
    before = solver.iterations, getattr(solver.tree, "num_expanded", 0), solver.nodes_touched
    begin = time.process_time()
    while time.process_time() - begin < seconds and not solver.stopped:
        solver.run(seconds=min(1.0, seconds))
    new = (getattr(solver.tree, "num_expanded", 0) - before[1]) / (solver.nodes_touched - before[2])
    return (solver.iterations - before[0]) / (time.process_time() - begin), new


def their_rate(solver, seconds):
    done, spent = run_theirs(solver, seconds, time.process_time)
    return done / spent


def print_row(game, estimator, rows, infosets):
    ours, theirs, new = zip(*rows, strict=True)
    ratios = spread([a / b for a, b in zip(ours, theirs, strict=True)])
    rates = "".join(f"{statistics.median(side):>12,.4g}" for side in (ours, theirs))
    print(f"{game:<32}{estimator:<10}{rates}  {ratios:<20}{statistics.median(new):>7.2%}{infosets:>13,}", flush=True)


def prepare_memory():
    """Makes the host of a virtual machine provide its memory before a solver is timed, at up to 3 s per GB.

    A separate process touches the memory, so that the solver starts as cold as on a physical machine.
    """
    if FLAGS.prepare:
        process = multiprocessing.get_context("spawn").Process(target=touch, args=(int(bytes_of(FLAGS.memory)),))
        process.start()
        process.join()


def touch(size):
    np.zeros(size, np.uint8)[:: mmap.PAGESIZE] = 1


def cold(game, estimator, tree="lazy"):
    loaded, rows, infosets = pyspiel.load_game(game), [], 0
    for _ in range(FLAGS.rounds):
        prepare_memory()
        theirs = their_rate(THEIRS[estimator](loaded), FLAGS.seconds)
        gc.collect()
        prepare_memory()
        solver = lazy_solver(loaded, estimator, tree)
        ours, new = our_rate(solver, FLAGS.seconds)
        rows.append((ours, theirs, new))
        infosets = solver.tree.num_infosets
        if solver.stopped:
            print(f"memory of {FLAGS.memory} is full: our rate is the rate until then")
        del solver
        gc.collect()
    print_row(game, estimator, rows, infosets)


def warm(game, estimator):
    loaded = pyspiel.load_game(game)
    solver, other = lazy_solver(loaded, estimator).run(1), THEIRS[estimator](loaded)
    while our_rate(solver, FLAGS.warm_seconds)[1] > MOST_NEW:
        pass
    rows = []
    for _ in range(FLAGS.rounds):
        theirs = their_rate(other, FLAGS.warm_seconds)
        ours, new = our_rate(solver, FLAGS.warm_seconds)
        rows.append((ours, theirs, new))
    print_row(game, estimator, rows, solver.tree.num_infosets)


# --- by rules ---


def rules():
    """Both take turns and get the same CPU time."""
    print(f"{'game':<32}{'estimator':<10}{'ours, it/s':>12}{'C++, it/s':>12}  {'ratio':<20}{'':>7}{'infosets':>13}")
    for game in games("phantom_ttt;liars_dice(numdice=2)"):
        for estimator in FLAGS.estimators:
            lazy_solver(game, estimator, "rules").run(1)  # loads the kernels
            cold(game, estimator, "rules")


def exact():
    """Interrupts each run at each mark for an exact evaluation, whose time is not counted."""
    for game in games("phantom_ttt"):
        for estimator in FLAGS.estimators:
            for averaging in FLAGS.averagings:
                solver = mccfr_plus.Solver(
                    game,
                    estimator,
                    "rm",
                    averaging,
                    tree="rules",
                    memory=FLAGS.memory,
                    seed=1,
                    symmetry=FLAGS.symmetry,
                ).run(1)
                spent = 0.0
                for point in map(float, FLAGS.marks):
                    spent = run_to(solver, spent, point)
                    print_evaluated(solver, f"{game} {estimator} {averaging}: {spent:.0f} CPU s")


def full():
    """Interrupts each run at each mark for an exact evaluation, whose time is not counted."""
    options = {"threads": FLAGS.threads, "symmetry": FLAGS.symmetry, "memory": FLAGS.memory}
    for game in games("phantom_ttt"):
        for minimizer in FLAGS.minimizers:
            solver = mccfr_plus.Solver(game, FLAGS.estimators[0], minimizer, tree="rules", **options)
            # Numbers the infosets, and lists leaves if they fit into memory.
            spent = timed(solver.tables, time.process_time)
            print(f"{game} {minimizer}: {spent:.0f} CPU s before the first iteration", flush=True)
            for point in map(int, FLAGS.marks):
                spent += timed(lambda s=solver, p=point: s.run(p - s.iterations), time.process_time)
                print_evaluated(solver, f"{game} {minimizer}: {spent:.0f} CPU s")


def print_evaluated(solver, run):
    """Prints the evaluation of a run, and its cost."""
    begin, clock = time.process_time(), time.perf_counter()
    found = solver.evaluate()
    print(
        f"{run}, {solver.iterations:,} iterations, {solver.nodes_touched:,} histories: "
        f"exploitability {found.exploitability:.3g}, value of player 0 from {-found.best_response_values[1]:.6f} to "
        f"{found.best_response_values[0]:.6f} (evaluated in {time.perf_counter() - clock:.0f} s, "
        f"{time.process_time() - begin:.0f} CPU s; {solver.tree.num_infosets:,} infosets, "
        f"{peak_bytes() / 1e9:.1f} GB)",
        flush=True,
    )


# --- sizes ---


def sizes():
    """CPU seconds; peak memory of compiling. `papers/lanctot2009.py table1` times the paper's forms."""
    columns = f"{'game':<21}{'histories':>10}{'infosets':>10}{'compiled':>10}{'nodes/s':>9}{'B/node':>7}"
    print(f"{columns}  {'estimator':<10}{'seconds':>9}", flush=True)
    for game in games(
        "one_card_poker;bid_goofspiel;latent_tic_tac_toe;princess_and_monster"
    ):  # each in its own process, to measure its peak memory
        process = multiprocessing.get_context("spawn").Process(target=size, args=(game, min(FLAGS.seconds, 10.0)))
        process.start()
        process.join()


def size(game, seconds):
    """Prints the rows of a game."""
    with contextlib.suppress(mccfr_plus.BudgetError):
        mccfr_plus.compile_game(game, max_nodes=1)  # loads the kernels
    trees, before = [], peak_bytes()
    spent = timed(lambda: trees.append(mccfr_plus.compile_game(game)), time.process_time)
    (tree,), used = trees, peak_bytes() - before
    found = f"{tree.num_nodes / 1e6:>8.1f} M{tree.num_infosets / 1e3:>8,.0f} K"
    found += f"{spent:>8.1f} s{tree.num_nodes / spent / 1e6:>7.1f} M{used / tree.num_nodes:>7.0f}"
    print(f"{game:<21}{found}", flush=True)
    for estimator in ("full", "external", "outcome"):
        gc.collect()
        solver, count = mccfr_plus.Solver(tree, estimator, "rm", seed=1).run(1), 1 if estimator == "full" else 100
        before, begin = solver.iterations, time.process_time()
        while solver.iterations < before + 3 or time.process_time() - begin < seconds:
            solver.run(count)
        here = (time.process_time() - begin) / (solver.iterations - before)
        print(f"{'':<67}  {estimator:<10}{here:>9.3g}", flush=True)


def peak_bytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    run(__doc__, {function.__name__: function for function in (judged, expansion, rules, exact, full, sizes)})
