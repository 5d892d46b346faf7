"""How close to an equilibrium solvers come, and how noisy samples are: ``python benchmarks/accuracy.py SUBJECT``.

algorithms  exploitability of twenty algorithms after CPU seconds on six games (docs/benchmarks/which-algorithm.md)
escher      the same for tabular ESCHER beside outcome and external sampling
nodes       exploitability per node touched of the estimators that sample (Gibson et al. 2012, figure 3a)
iterations  exploitability after as many sampled iterations, here and in OpenSpiel's C++, over seeds
variance    how much baselines reduce the variance of sampled gradients and regrets
"""

import gc
import statistics

import numpy as np
import pyspiel
from absl import flags
from measuring import FLAGS, run, run_to, spread

import mccfr_plus
from mccfr_plus.experiments.algorithm import algorithm_of
from mccfr_plus.kernels.compile import kernel
from mccfr_plus.kernels.loops.components import ESTIMATE, estimate_with
from mccfr_plus.kernels.scratch import begin_gradient, begin_traversal
from mccfr_plus.kernels.slots import bind

flags.DEFINE_string("games", None, "Games, with ; between them. Default: those of the subject")
flags.DEFINE_list("marks", None, "CPU seconds, nodes or iterations after which to evaluate. Default: the subject's")
flags.DEFINE_integer("seeds", None, "How many runs of what is random. Default: the subject's")
flags.DEFINE_bool("large", False, "algorithms: the shorter list, for large trees")
flags.DEFINE_integer("samples", 200_000, "variance: gradients per player")

SMALL = (
    "kuhn_poker;leduc_poker;liars_dice;bid_goofspiel(num_cards=5);princess_and_monster(horizon=9);"
    "nl_holdem_buckets(stack=12)"
)
FULL = ("cfr", "cfr+", "dcfr", "pcfr+", "full(pruning=True)")
AVERAGE_STRATEGY = "average_strategy(tau=100.0,beta=1e3)"
ALGORITHMS = (
    *FULL,
    "chance",
    *("external", "external/rm+", "external/linear", "external/dcfr"),
    *("external/ftrl(eta=10.0)", "external/ftrl(eta=100.0)"),
    *("average_strategy", AVERAGE_STRATEGY, f"{AVERAGE_STRATEGY}/linear"),
    *("outcome", "outcome[baseline=True]", "balanced", "escher", "escher(values='learned')"),
)
# For trees of tens of millions of histories: without what takes memory for each of them.
LARGE = ("cfr", "cfr+", "pcfr+", "external", "external/linear", AVERAGE_STRATEGY, "outcome")
_CLOSE = 1.1  # times the best of a column: in bold


def wanted(games, marks, seeds):
    """Returns games, marks and the number of seeds of the flags, or the subject's."""
    return (
        (FLAGS.games or games).split(";"),
        [float(mark) for mark in FLAGS.marks or marks],
        FLAGS.seeds or seeds,
    )


def solver_of(tree, text, seed):
    return mccfr_plus.Solver.from_config(tree, algorithm_of(text).config, seed=seed)


def at_seconds(tree, text, seed, marks):
    """Returns an algorithm's exploitability after each number of CPU seconds, and its nodes per second."""
    solver = solver_of(tree, text, seed).run(1)
    spent, found, nodes = 0.0, [], solver.nodes_touched
    for mark in marks:
        spent = run_to(solver, spent, mark)
        found.append(solver.exploitability())
    return found, (solver.nodes_touched - nodes) / spent


def algorithms():
    games, marks, num_seeds = wanted(SMALL, ["1", "3"], 3)
    names = LARGE if FLAGS.large else ALGORITHMS
    for game in games:
        tree = mccfr_plus.compile_game(game)
        print(f"{game}: {tree.num_nodes:,} histories, {tree.num_infosets:,} information sets", flush=True)
        found, rates = {}, {}
        for name in names:
            seeds = range(1, 1 + (num_seeds if algorithm_of(name).is_random else 1))
            runs = [at_seconds(tree, name, seed, marks) for seed in seeds]
            found[name] = np.median([run[0] for run in runs], axis=0)
            rates[name] = statistics.median(run[1] for run in runs)
        best = np.min(list(found.values()), axis=0)
        print("| exploitability | " + " | ".join(f"after {mark:g} s" for mark in marks) + " |")
        print("|---" * (1 + len(marks)) + "|")
        for name, values in found.items():
            cells = (f"**{v:.2g}**" if v <= _CLOSE * b else f"{v:.2g}" for v, b in zip(values, best, strict=True))
            print(f"| `{name}` | " + " | ".join(cells) + " |")
        print("\nmillion histories/s: " + ", ".join(f"{name} {rate / 1e6:.0f}" for name, rate in rates.items()))
        print(flush=True)
        del tree
        gc.collect()


def escher():
    games, marks, num_seeds = wanted("leduc_poker", ["1", "3", "8", "12"], 3)
    names = [f"escher{options}" for options in ("", "(sampling='balanced')", "(values='learned')")]
    names += ["escher(values='learned',sampling='balanced')", "outcome", "external"]
    for game in games:
        tree = mccfr_plus.compile_game(game)
        found = {name: [[] for _ in marks] for name in names}
        for seed in range(1, num_seeds + 1):  # the solvers of a seed take turns
            solvers = {name: solver_of(tree, name, seed).run(10) for name in names}
            spent = dict.fromkeys(names, 0.0)
            for index, mark in enumerate(marks):
                for name, solver in solvers.items():
                    spent[name] = run_to(solver, spent[name], mark)
                    found[name][index].append(solver.exploitability())
        print(f"{game}, {num_seeds} seeds, exploitability after CPU seconds: median (least-most)")
        print(f"{'':<46}" + "".join(f"{mark:>24g}" for mark in marks))
        for name, columns in found.items():
            print(f"{name:<46}" + "".join(f"{spread(column, '.4f'):>24}" for column in columns))


def nodes():
    games, marks, num_seeds = wanted("liars_dice", ["1e6", "1e7", "3e7", "1e8", "3e8"], 3)
    names = ["external", "outcome", "outcome[baseline=True]", "average_strategy"]
    names += [f"average_strategy({options})" for options in ("beta=1e4", "beta=1e3,tau=100.0", "beta=1e3,tau=10.0")]
    for game in games:
        tree = mccfr_plus.compile_game(game)
        print(f"{game}: exploitability (mean of {num_seeds} runs, largest standard deviation) at nodes touched")
        print(f"{'':<40} " + " ".join(f"{mark:>8.0e}" for mark in marks))
        for name in names:
            runs = np.array([at_nodes(tree, name, seed, marks) for seed in range(num_seeds)])
            row = " ".join(f"{value:>8.4f}" for value in runs.mean(0))
            print(f"{name:<40} {row}  (+- {runs.std(0, ddof=1).max():.4f})", flush=True)


def at_nodes(tree, text, seed, marks):
    """Returns an algorithm's exploitability at each number of nodes touched."""
    solver, found = solver_of(tree, text, seed).run(1), []
    for mark in marks:
        while solver.nodes_touched < mark:
            each = solver.nodes_touched / solver.iterations
            solver.run(max(1, int(min(mark - solver.nodes_touched, mark / 20) / each)))
        found.append(solver.exploitability())
    return found


def iterations():
    """Both sample the same, so that they agree within the spread, where their averages are formed alike."""
    games, marks, num_seeds = wanted("kuhn_poker;leduc_poker", ["1000", "10000", "100000"], 8)
    for game in games:
        tree = mccfr_plus.compile_game(game)
        for name, peer in (
            ("external", pyspiel.ExternalSamplingMCCFRSolver),
            ("outcome", pyspiel.OutcomeSamplingMCCFRSolver),
        ):
            found = np.empty((num_seeds, 2, len(marks)))
            for seed in range(num_seeds):
                ours, theirs, done = solver_of(tree, name, seed), peer(tree.game, seed=seed + 1), 0
                for column, mark in enumerate(map(int, marks)):
                    ours.run(mark - done)
                    for _ in range(mark - done):
                        theirs.run_iteration()
                    done = mark
                    peers = mccfr_plus.exploitability(tree, theirs.average_policy())
                    found[seed, :, column] = ours.exploitability(), peers
            print(f"{game}, {name} + rm, exploitability: mean and standard deviation of {num_seeds} runs")
            means, deviations = found.mean(0), found.std(0, ddof=1)
            for column, mark in enumerate(marks):
                cells = [f"{means[side, column]:.4f} +- {deviations[side, column]:.4f}" for side in (0, 1)]
                print(f"  {mark:>9,.0f} iterations: here {cells[0]}, OpenSpiel {cells[1]}")


# --- variance ---


@kernel
def add_moments(samples, parameters, sampling_weights, tree, strategy, scratch, player, sums):
    """Adds up values and squares of gradients, regrets and game values; `sums` is ``[6, num_slots]``."""
    for _ in range(samples):
        begin_gradient(tree, scratch, player)
        begin_traversal(scratch)
        ESTIMATE(parameters, sampling_weights, tree, strategy, scratch, player)
        gradient, begin = scratch.gradient, tree.infoset_range[player]
        for position in range(begin, begin + scratch.num_touched[player]):
            first = scratch.touched[position]["first_slot"]
            for slot in range(first, first + scratch.touched[position]["num_actions"]):
                sums[0, slot] += gradient[slot]
                sums[1, slot] += gradient[slot] ** 2
        for position in range(begin + scratch.num_touched[player] - 1, begin - 1, -1):
            infoset = scratch.touched[position]
            first = infoset["first_slot"]
            last = first + infoset["num_actions"]
            value = 0.0
            for slot in range(first, last):
                value += strategy[slot] * gradient[slot]
            gradient[infoset["parent_slot"]] += value
            for slot in range(first, last):
                sums[2, slot] += gradient[slot] - value
                sums[3, slot] += (gradient[slot] - value) ** 2
        value = gradient[tree.slot_range[-1] + player]
        sums[4, player] += value
        sums[5, player] += value**2


def variances(solver, baseline):
    """Returns the total variances of gradients, regrets and game values over all players, strategies held fixed."""
    config, engine, tree = solver.config, solver._engine, solver.tree
    add = bind(add_moments, {ESTIMATE: estimate_with(config.estimator, baseline)})
    parameters = config.estimator.parameters()
    parameters = parameters if baseline is None else np.append(parameters, float(baseline.rate))
    sums = np.zeros((6, tree.num_slots))
    for player in range(tree.num_players):
        add(
            *(FLAGS.samples, parameters, engine.sampling_weights(), tree.arrays, solver.current_strategy()),
            *(engine.scratches[0], player, sums),
        )
    sums /= FLAGS.samples
    return [(sums[row + 1] - sums[row] ** 2).sum() for row in (0, 2, 4)]


def variance():
    """The sum over slots of the variance of

    * g: the gradient's entries;
    * r: the sampled counterfactual regrets r(I, a) = v(I, a) - sum_b x(I, b) v(I, b), in which is, too, how rarely a
      traversal reaches an infoset, which no baseline changes;
    * v: the sampled values of the whole game under the strategy, <g, x>, one number per player.
    """
    games, marks, _ = wanted("leduc_poker", ["1e6"], 1)
    for game in games:
        tree = mccfr_plus.compile_game(game)
        print(f"{game}, {marks[0]:,.0f} iterations, {FLAGS.samples:,} gradients per player")
        print("variance without / with baselines, exploitability of the run with / without")
        print(f"{'estimator':>16} {'baseline':>12} {'g':>7} {'r':>7} {'v':>9} {'with':>9} {'without':>9}")
        for estimator in ("outcome", "balanced", "external", "average_strategy"):
            plain = mccfr_plus.Solver(tree, estimator, "rm", seed=1).run(int(marks[0])).exploitability()
            for backup, rate in (("expected", 1.0), ("expected", 0.5), ("sampled", 0.5), ("sampled", 0.1)):
                baseline = mccfr_plus.Baseline(rate, backup)
                solver = mccfr_plus.Solver(tree, estimator, "rm", baseline=baseline, seed=1).run(int(marks[0]))
                sides = zip(variances(solver, None), variances(solver, baseline), strict=True)
                g, r, v = (a / b for a, b in sides)
                cells = f"{g:>7.1f} {r:>7.1f} {v:>9.1f} {solver.exploitability():>9.5f} {plain:>9.5f}"
                print(f"{estimator:>16} {f'{backup}:{rate:g}':>12} {cells}", flush=True)


if __name__ == "__main__":
    subjects = (algorithms, escher, nodes, iterations, variance)
    run(__doc__, {function.__name__: function for function in subjects})
