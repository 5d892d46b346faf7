"""Speed of solvers, compiling and evaluations: ``python benchmarks/speed.py SUBJECT``.

openspiel   iterations/s over OpenSpiel's C++ solvers, evaluations/s over its exploitability
revisions   iterations/s of this checkout over another one, for games x estimators x minimizers
setup       CPU seconds of `compile_game` and of the tables of `full` for Goofspiel 7, over another checkout's
start       CPU seconds of new processes: with an empty kernel cache, for a further combination, with all kernels cached
components  nodes/s of every estimator over external sampling's, iterations/s of minimizers over rm's with sampling
minimizers  CPU seconds of an iteration of `full` with every minimizer over rm+'s
public      CPU time of an iteration of `full` + `rm+` on public trees, and over that on stored trees
threads     nodes/s of several threads over one, in both modes, and of independent solvers
calls       overhead of a call of `Solver.iteration()` over an iteration inside `Solver.run()`
tree        histories/s of `compile_game` over bare traversals of pyspiel's states; bytes per history
abstraction iterations per CPU second of `external` on phantom_ttt by rules with boards as buckets over those without
buckets     nodes per CPU second in hold'em with 50 buckets of hands, over those with buckets that need no table
evaluation  cost of an exact evaluation, in visits of a run per history and player
liteefg     iterations/s over LiteEFG's (pip install LiteEFG)

Both sides of a ratio take turns, and the median of the ratios is reported: the speed of a shared machine varies.
"""

import contextlib
import io
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent import futures
from pathlib import Path
from typing import NamedTuple

import numba
import pyspiel
from absl import flags
from measuring import FLAGS, rate, run, spread, timed
from tqdm import tqdm

import mccfr_plus
from mccfr_plus.games import HandBuckets
from mccfr_plus.solver import config

MINIMIZERS = ("rm", "rm+", "dcfr", "prm+")
PUBLIC_GAMES = (
    "leduc_poker", "liars_dice", "nl_holdem_buckets(stack=8)", "leduc_ranks(ranks=13)", "one_card_poker(deck_size=500)",
    "liars_dice(numdice=2,dice_sides=5)",
)  # fmt: skip
GOOFSPIEL = "goofspiel(num_cards=5,imp_info=True,points_order=descending,returns_type=win_loss)"
LARGE_GOOFSPIEL = GOOFSPIEL.replace("num_cards=5", "num_cards=7")

flags.DEFINE_string("games", f"kuhn_poker;leduc_poker;liars_dice;{GOOFSPIEL}", "Games, with ; between them")
flags.DEFINE_integer("rounds", 5, "Measurements of each side", lower_bound=1)
flags.DEFINE_float("seconds", 0.5, "Approximate length of a measurement", lower_bound=0.01)
flags.DEFINE_string("before", None, "revisions, setup, start: the other revision, or the folder of a checkout")
flags.DEFINE_list("estimators", ["external", "outcome", "full"], "revisions, threads: estimators")
flags.DEFINE_list("minimizers", None, "revisions, minimizers: minimizers. Default: four, or all")
flags.DEFINE_list("batches", ["1", "16", "256", "2048"], "threads: traversals per gradient and thread")
flags.DEFINE_integer("threads", 2, "threads: number of threads")

ROOT = Path(__file__).resolve().parent.parent


def games():
    return FLAGS.games.split(";")


def trees():
    return {game: mccfr_plus.compile_game(game) for game in games()}


# --- beside OpenSpiel ---


def repeated(step):
    """Returns a function that calls `step` a number of times."""

    def run_steps(count):
        for _ in range(count):
            step()

    return run_steps


def speedups(ours, theirs):
    """Returns the ratios of iterations/s of two functions that run a number of iterations; they take turns."""
    counts = []
    for side in (ours, theirs):
        count, spent = 1, 0.0
        while spent < FLAGS.seconds / 4:
            count, spent = 4 * count, timed(lambda side=side, count=4 * count: side(count))
        counts.append(max(1, round(count * FLAGS.seconds / spent)))
    ratios = []
    for _ in range(FLAGS.rounds):
        here, there = (n / timed(lambda s=s, n=n: s(n)) for s, n in zip((ours, theirs), counts, strict=True))
        ratios.append(here / there)
    return ratios


def openspiel():
    """Exploitability is that of the same policy on both sides."""
    sampled = {"external": pyspiel.ExternalSamplingMCCFRSolver, "outcome": pyspiel.OutcomeSamplingMCCFRSolver}
    full = {"rm": pyspiel.CFRSolver, "rm+": pyspiel.CFRPlusSolver}
    for game, tree in trees().items():
        sides = {}
        for estimator, peer in sampled.items():
            ours = mccfr_plus.Solver(tree, estimator, "rm", seed=1)
            sides[f"{estimator} + rm"] = ours.run, repeated(peer(tree.game, 1).run_iteration)
        for minimizer, peer in full.items():
            ours = mccfr_plus.Solver(tree, "full", minimizer)
            sides[f"full + {minimizer}"] = ours.run, repeated(peer(tree.game).evaluate_and_update_policy)
        solver = mccfr_plus.Solver(tree, "external", "rm", seed=1).run(1000)
        table = solver.average_policy().to_pyspiel()
        theirs = repeated(lambda game=tree.game, table=table: pyspiel.exploitability(game, table))
        sides["exploitability"] = repeated(solver.exploitability), theirs
        for name, (ours, theirs) in sides.items():
            ours(1)  # compiles the kernels
            print(f"{game[:15]:<16}{name:<16}{spread(speedups(ours, theirs), '.0f')} times as fast", flush=True)


# --- this checkout beside another one ---

# Runs in its own process on either checkout, so it uses public names only. The fastest of many short slices of CPU time
# counts, since other work on the machine can only slow a slice down.
_RATES = """
import json, sys, time
import mccfr_plus
rates, seconds = [], float(sys.argv[1])
for case in sys.argv[2:]:
    game, estimator, minimizer = case.split()
    solver, best, count = mccfr_plus.Solver(game, estimator, minimizer, seed=1).run(20), 0.0, 1
    end = time.process_time() + seconds
    while time.process_time() < end:
        begin = time.process_time()
        solver.run(count)
        spent = max(time.process_time() - begin, 1e-9)
        if spent > 0.01:
            best = max(best, count / spent)
        count = max(1, min(8 * count, int(0.02 * count / spent)))
    rates.append(best or count / spent)
print(json.dumps(rates))
"""

# The first game compiles the kernels.
_SETUP = """
import json, sys, time
import mccfr_plus
for game in sys.argv[1:]:
    begin = time.process_time()
    tree = mccfr_plus.compile_game(game)
    compiled = time.process_time()
    mccfr_plus.Solver(tree, "full", "rm+")
    end = time.process_time()
print(json.dumps([compiled - begin, end - compiled, end - begin]))
"""


class Side(NamedTuple):
    """A checkout that is measured, and the folder of its compiled kernels."""

    name: str
    code: Path
    kernels: Path


@contextlib.contextmanager
def checkouts(before, folder=None):
    """Yields the sides of a comparison: "before" (unless it is None) and "now", this checkout.

    Args:
        before: A revision, or the folder of another checkout.
        folder: Where a clone and the kernels are kept; None: in a temporary folder.
    """
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(folder or temporary).resolve()
        code = {} if before is None else {"before": Path(before).resolve()}
        if before is not None and not code["before"].is_dir():
            code["before"] = place / f"code_{before}"
            if not code["before"].exists():
                git("clone", "-q", ROOT, code["before"])
                git("-C", code["before"], "checkout", "-q", before)
        sides = [Side(name, path, place / f"kernels_{name}") for name, path in {**code, "now": ROOT}.items()]
        for side in sides:
            side.kernels.mkdir(parents=True, exist_ok=True)
        yield sides


def git(*arguments):
    subprocess.run(["git", *arguments], check=True)


def process(side, *arguments):
    """Runs Python on a checkout; returns its output, and CPU seconds including those of its children."""
    environment = {**os.environ, "PYTHONPATH": str(side.code), "NUMBA_CACHE_DIR": str(side.kernels)}
    before = os.times()
    found = subprocess.run(
        [sys.executable, *arguments], env=environment, cwd=side.code, capture_output=True, text=True, check=False
    )
    after = os.times()
    if found.returncode:
        sys.exit(f"{side.code} failed:\n{found.stderr}")
    return found.stdout, sum(after[2:4]) - sum(before[2:4])


def paired_rates(sides, cases, rounds, seconds):
    """Returns iterations per CPU second, ``[side][round][case]``; the sides take turns.

    Args:
        cases: Texts "game estimator minimizer".
        rounds: Number of measurements of each case.
        seconds: CPU seconds of a measurement.
    """
    for side in sides:
        process(side, "-c", _RATES, "0.001", *cases)  # compiles the kernels
    return in_turns(sides, rounds, _RATES, str(seconds), *cases)


def in_turns(sides, rounds, script, *arguments):
    """Runs a script on each side, in turns; returns the JSON values that it prints, ``[side][round]``."""
    measured = {side.name: [] for side in sides}
    for number in tqdm(range(rounds), unit="round", leave=False, disable=None):
        for side in sides if number % 2 else reversed(sides):
            output, _ = process(side, "-c", script, *arguments)
            measured[side.name].append(json.loads(output))
    return list(measured.values())


def required_before():
    return FLAGS.before or sys.exit("give --before=REVISION or --before=FOLDER.")


def setup():
    with checkouts(required_before()) as sides:
        measured = in_turns(sides, FLAGS.rounds, _SETUP, GOOFSPIEL, LARGE_GOOFSPIEL)
    print(f"{'CPU seconds':<14}{'before':>22}{'now':>22}{'now / before':>22}")
    for name, *pair in zip(
        ("compile_game", "tables", "both"), *(zip(*side, strict=True) for side in measured), strict=True
    ):
        ratios = [now / before for before, now in zip(*pair, strict=True)]
        print(f"{name:<14}" + "".join(f"{spread(each):>22}" for each in (*pair, ratios)))


def revisions():
    required_before()
    cases = [f"{game} {e} {m}" for game in games() for e in FLAGS.estimators for m in FLAGS.minimizers or MINIMIZERS]
    with checkouts(FLAGS.before) as sides:
        measured = paired_rates(sides, cases, FLAGS.rounds, FLAGS.seconds)
    print(f"iterations per CPU second, {FLAGS.before} and now, medians of {FLAGS.rounds}")
    print_rates(cases, measured)


def print_rates(cases, measured):
    """Prints what `paired_rates` has measured; returns the ratios now / before, ``[case][round]``."""
    print(f"{'game':<16}{'estimator':<11}{'minimizer':<11}{'before':>13}{'now':>13}  now / before")
    found = []
    for case, before, now in zip(cases, *(zip(*side, strict=True) for side in measured), strict=True):
        game, estimator, minimizer = case.split()
        found.append([b / a for a, b in zip(before, now, strict=True)])
        medians = "".join(f"{statistics.median(side):>13,.0f}" for side in (before, now))
        print(f"{game[:15]:<16}{estimator:<11}{minimizer:<11}{medians}  {spread(found[-1])}", flush=True)
    return found


SOLVE = ("-m", "mccfr_plus", "solve", "kuhn_poker", "--quiet", "--iterations=1000")
STARTS = {
    "the command, empty cache": SOLVE,
    "the same again": SOLVE,
    "a further combination": (*SOLVE, "--estimator=outcome", "--minimizer=dcfr"),
    "examples/custom_minimizer.py": ("examples/custom_minimizer.py", "--iterations=1000"),
    "the same example again": ("examples/custom_minimizer.py", "--iterations=1000"),
}


def start():
    with checkouts(FLAGS.before) as sides:
        print(f"{'CPU seconds of a process':<34}" + "".join(f"{side.name:>9}" for side in sides))
        for name, arguments in STARTS.items():
            print(f"{name:<34}" + "".join(f"{process(side, *arguments)[1]:>9.1f}" for side in sides))


# --- components ---

ESTIMATORS = {
    "external": {},
    "full(traversal=True)": {},
    "full(pruning=True)": {},
    "chance": {},
    "opponent": {},
    "external(sample_per_infoset=True)": {},
    "external(prune_below=-100.0)": {},
    "average_strategy": {},
    "outcome": {},
    "outcome(update_all_players=True)": {},
    "balanced": {},
    "balanced, no average": {"estimator": "balanced", "averaging": "last"},
    "external, batch=100": {"estimator": "external", "batch": 100},
    "external, baseline": {"estimator": "external", "baseline": True},
    "outcome, baseline": {"estimator": "outcome", "baseline": True},
    "external, stochastic average": {"estimator": "external", "averaging": "stochastic"},
}
OTHER_MINIMIZERS = ("rm+", "linear", "dcfr", "prm", "prm+", "hedge", "ftrl", "omd", "ftrl(optimistic=True)")


def components():
    found = trees()
    header = " ".join(f"{name[:12]:>12}" for name in found)

    def solver_of(tree, estimator, minimizer="rm", averaging="uniform", **options):
        return mccfr_plus.Solver(tree, estimator, minimizer, averaging, seed=1, **options).run(seconds=0.1)

    def ratio(solver, reference, unit="nodes_touched"):
        pairs = [[rate(side, FLAGS.seconds, unit) for side in (solver, reference)] for _ in range(FLAGS.rounds)]
        return statistics.median(a / b for a, b in pairs)

    def row(name, value_of):
        print(f"{name:<36} " + " ".join(f"{value_of(tree):>12.2f}" for tree in found.values()), flush=True)

    print(f"{'nodes/s over external + rm':<36} {header}")
    for name, options in ESTIMATORS.items():
        options = {"estimator": name, **options}
        row(name, lambda tree, options=options: ratio(solver_of(tree, **options), solver_of(tree, "external")))
    print(f"\n{'iterations/s over external + rm':<36} {header}")
    for name in OTHER_MINIMIZERS:
        row(
            name,
            lambda tree, name=name: ratio(solver_of(tree, "external", name), solver_of(tree, "external"), "iterations"),
        )
    print(f"\n{'iterations/s of full over':<36} {header}")
    for name in ("full(traversal=True)", "full(pruning=True)"):
        row(name, lambda tree, name=name: 1 / ratio(solver_of(tree, name), solver_of(tree, "full"), "iterations"))


def minimizers():
    """Without averages, which all minimizers share. The row of rm+ itself shows the noise."""
    found = trees()
    print(f"{'CPU seconds over those of full + rm+':<36} " + " ".join(f"{name[:12]:>19}" for name in found))

    def ratio(tree, name):
        solvers = [mccfr_plus.Solver(tree, "full", m, "last", seed=1).run(100) for m in (name, "rm+")]
        spent = timed(lambda: solvers[1].run(200), time.process_time)
        count = max(1, round(200 * FLAGS.seconds / spent))
        pairs = [[timed(lambda s=s: s.run(count), time.process_time) for s in solvers] for _ in range(FLAGS.rounds)]
        return spread([a / b for a, b in pairs])

    for name in FLAGS.minimizers or config.MINIMIZERS:
        print(f"{name:<36} " + " ".join(f"{ratio(tree, name):>19}" for tree in found.values()), flush=True)


def public():
    print(f"{'full + rm+':<40}{'public nodes':>14}{'infosets':>12}{'public tree':>14}  stored over public")
    for game in FLAGS.games.split(";") if FLAGS["games"].present else PUBLIC_GAMES:
        tree = mccfr_plus.Solver(game, "full", "rm+", tree="public").tree
        is_stored = tree.num_leaves < 10_000_000
        kinds = ["public", "compiled"] if is_stored else ["public"]
        solvers = [mccfr_plus.Solver(game, "full", "rm+", tree=kind, seed=1).run(2) for kind in kinds]
        count = max(1, round(FLAGS.seconds / timed(lambda s=solvers[0]: s.run(1), time.process_time)))
        rows = [[timed(lambda s=s, n=count: s.run(n), time.process_time) for s in solvers] for _ in range(FLAGS.rounds)]
        each = statistics.median(row[0] for row in rows) / count
        ratio = spread([row[1] / row[0] for row in rows]) if is_stored else "too large"
        counts = f"{tree.num_nodes:>14,}{tree.num_infosets:>12,}"
        print(f"{game:<40}{counts}{1e6 * each:>11,.0f} us  {ratio}", flush=True)


def threads():
    for game, tree in trees().items():
        if "full" in FLAGS.estimators:
            solvers = [mccfr_plus.Solver(tree, "full", "rm+", threads=n).run(10) for n in (1, FLAGS.threads)]
            rounds = [[rate_together([solver]) for solver in solvers] for _ in range(FLAGS.rounds)]
            print(f"{game}: full, {FLAGS.threads} threads over one: {spread([b / a for a, b in rounds])}", flush=True)
        if FLAGS.estimators == ["full"]:
            continue
        print(f"{game}: nodes/s of {FLAGS.threads} threads over one, median (least-most)")
        print(f"{'estimator':<10}{'batch':>6}{'one, M nodes/s':>16}{'apart':>19}{'fast':>19}{'deterministic':>19}")
        for estimator in [name for name in FLAGS.estimators if name != "full"]:
            for batch in map(int, FLAGS.batches):
                options = [{"seed": seed} for seed in range(FLAGS.threads)]
                options += [{"seed": 1, "threads": FLAGS.threads, "thread_mode": m} for m in ("fast", "deterministic")]
                solvers = [mccfr_plus.Solver(tree, estimator, "rm", batch=batch, **o).run(10) for o in options]
                apart, fast, deterministic = solvers[: FLAGS.threads], solvers[-2], solvers[-1]
                sides = (apart[:1], apart, [fast], [deterministic])
                rounds = [[rate_together(side) for side in sides] for _ in range(FLAGS.rounds)]
                ratios = [spread([row[column] / row[0] for row in rounds]) for column in (1, 2, 3)]
                one = statistics.median(row[0] for row in rounds) / 1e6
                print(f"{estimator:<10}{batch:>6}{one:>16.1f}" + "".join(f"{text:>19}" for text in ratios), flush=True)


def rate_together(solvers):
    """Returns the sum of the solvers' nodes per second, with each in its own thread."""
    with futures.ThreadPoolExecutor(len(solvers)) as pool:
        return sum(pool.map(lambda solver: rate(solver, FLAGS.seconds), solvers))


def calls():
    count = 100_000
    print("kuhn_poker, microseconds per iteration")
    for estimator in ("full", "external", "outcome"):
        solver, pairs = mccfr_plus.Solver("kuhn_poker", estimator, "rm", seed=1).run(1000), []
        for _ in range(FLAGS.rounds):
            single = timed(lambda solver=solver: [solver.iteration() for _ in range(count)])
            pairs.append((single / count * 1e6, timed(lambda solver=solver: solver.run(count)) / count * 1e6))
        single, inside = (statistics.median(side) for side in zip(*pairs, strict=True))
        overhead = statistics.median(a - b for a, b in pairs)
        print(f"{estimator:9} overhead {overhead:5.2f}   iteration() {single:5.2f}   inside run() {inside:5.2f}")


# --- trees and evaluations ---


def bare(state):
    """Returns the number of histories from a state on."""
    return 1 + (0 if state.is_terminal() else sum(bare(state.child(action)) for action in state.legal_actions()))


def reading(root):
    """Returns the number of histories; reads from each all that `compile_game` reads."""
    states, nodes = [root], 0
    while states:
        state = states.pop()
        nodes += 1
        if state.is_terminal():
            state.returns()
        elif state.is_chance_node():
            states += [state.child(action) for action, _ in state.chance_outcomes()]
        else:
            state.current_player()
            state.information_state_string()
            states += [state.child(action) for action in state.legal_actions()]
    return nodes


def tree():
    game = mccfr_plus.load_game("liars_dice")
    compiled = mccfr_plus.compile_game(game)  # compiles the kernels that lay the arrays out
    sides = {
        "compile_game": lambda: mccfr_plus.compile_game(game, progress=False),
        "bare traversal": lambda: bare(game.new_initial_state()),
        "traversal with the same reads": lambda: reading(game.new_initial_state()),
    }
    rounds = [[compiled.num_nodes / timed(work) for work in sides.values()] for _ in range(FLAGS.rounds)]
    print(f"liars_dice: {compiled.num_nodes:,} histories")
    for column, name in enumerate(sides):
        rates = [row[column] for row in rounds]
        ratios = [row[0] / row[column] for row in rounds]
        print(f"{name:<42} {statistics.median(rates):>9,.0f} histories/s, compile_game over it {spread(ratios)}")
    sizes = compiled.statistics()
    both = sizes.tree_bytes + sizes.infoset_bytes
    print(
        f"bytes per history: {sizes.tree_bytes / compiled.num_nodes:.1f}, with infosets {both / compiled.num_nodes:.1f}"
    )


def evaluation():
    print(f"{'game':34} {'estimator':20} {'ns a visit':>10} {'s an evaluation':>16} {'visits':>7}")
    for game, compiled in trees().items():
        for estimator in ("full", "full(pruning=True)", "external", "outcome"):
            solver = mccfr_plus.Solver(compiled, estimator, seed=1).run(1)
            solver.exploitability()  # builds the leaf tables
            before, count, spent = solver.nodes_touched, 1, 0.0
            while spent < FLAGS.seconds:
                spent += timed(lambda solver=solver, count=count: solver.run(count), time.process_time)
                count *= 2
            visit = spent / (solver.nodes_touched - before)
            seconds = statistics.median(timed(solver.exploitability, time.process_time) for _ in range(5))
            cost = seconds / (visit * compiled.num_nodes * compiled.num_players)
            print(f"{game:34.34} {estimator:20} {1e9 * visit:10.1f} {seconds:16.3g} {cost:7.3f}", flush=True)


@numba.njit
def board(parameters, table, view, player):
    """Returns the marks that a player of phantom tic-tac-toe knows, without the order of its choices, 1 + 2 * cell."""
    found = 0
    for entry in view:
        if entry:
            found |= (1 + (entry - 1 & 1)) << (entry - 1 & ~1)
    return found


def abstraction():
    name = "phantom_ttt"
    options = {"averaging": "stochastic(gamma=1.0)", "tree": "rules", "seed": 1, "memory": "4GB"}
    games = mccfr_plus.abstract(name, board), name
    solvers = [mccfr_plus.Solver(game, "external", **options).run(200) for game in games]
    count = max(1, round(FLAGS.seconds * 50 / timed(lambda: solvers[1].run(50), time.process_time)))
    solvers[0].run(50)
    rows = [[timed(lambda s=s: s.run(count), time.process_time) for s in solvers] for _ in range(FLAGS.rounds)]
    print(f"{count} iterations a round: {spread([row[1] / row[0] for row in rows])} times as fast with buckets")
    for solver in solvers:
        tree, plan = solver.tree, solver.tree.plan
        size = plan.infoset_cost * tree.num_infosets + plan.slot_cost * tree.num_slots
        print(
            f"{solver.iterations} iterations: {tree.num_infosets:,} information sets, {size / 1e6:,.1f} MB", flush=True
        )
    for solver in solvers:
        found = mccfr_plus.evaluate_by_rules(name, solver.average_policy(), memory="4GB")
        print(f"exploitability in {name}: {found.exploitability:.5f} ({solver.tree.game})", flush=True)


class SumOfCards:
    """Buckets of hole cards without a table, to tell what a lookup costs."""

    hidden = ("board",)

    @staticmethod
    @numba.njit
    def kernel(parameters, table, view, player):
        return (view[0] + view[1]) % 50

    def __call__(self, state, player):
        """Buckets are functions; `abstract` takes the kernel."""


def buckets():
    name = (
        "universal_poker(betting=nolimit,bettingAbstraction=fcpa,numRounds=4,blind=100 50,firstPlayer=2 1 1 1,"
        "stack=2000 2000,numRanks=13,numHoleCards=2,numBoardCards=0 3 1 1)"
    )
    for estimator in ("external", "average_strategy"):
        games = [mccfr_plus.abstract(name, each) for each in (HandBuckets(name, 50), SumOfCards())]
        solvers = [mccfr_plus.Solver(game, estimator, tree="rules", seed=1).run(20_000) for game in games]
        rows = []
        for _ in range(FLAGS.rounds):
            before = [each.nodes_touched for each in solvers]
            spent = [timed(lambda s=each: s.run(seconds=FLAGS.seconds), time.process_time) for each in solvers]
            rows.append([(s.nodes_touched - b) / t for s, b, t in zip(solvers, before, spent, strict=True)])
        print(f"{estimator:<17} {statistics.median(row[0] for row in rows) / 1e6:.2f} M nodes per CPU second,", end=" ")
        print(f"{spread([row[0] / row[1] for row in rows])} times those without a table", flush=True)


def liteefg():
    """An iteration is one of LiteEFG's training loop: both players at once, then the average."""
    import LiteEFG
    from LiteEFG.baselines.CFR import graph as CfrGraph

    LiteEFG.set_threads(1)
    for game, estimator, traversal in (
        ("leduc_poker", "external", "External"),
        ("leduc_poker", "full", "Enumerate"),
        ("liars_dice", "full", "Enumerate"),
    ):
        with contextlib.redirect_stdout(io.StringIO()):
            graph = CfrGraph()
            environment = LiteEFG.OpenSpielEnv(pyspiel.load_game(game), traverse_type=traversal)
            environment.set_graph(graph)
        strategy = graph.current_strategy()

        def theirs(iterations, graph=graph, environment=environment, strategy=strategy):
            for _ in range(iterations):
                graph.update_graph(environment)
                environment.update_strategy(strategy)

        ours = mccfr_plus.Solver(game, estimator, "rm", alternating=False, seed=1).run(3).run
        print(f"{game:12} {estimator:9} {spread(speedups(ours, theirs), '.0f')} times as fast", flush=True)


if __name__ == "__main__":
    subjects = (openspiel, revisions, setup, start, components, minimizers, public, threads, calls, tree)
    subjects = (*subjects, abstraction, buckets, evaluation, liteefg)
    run(__doc__, {function.__name__: function for function in subjects})
