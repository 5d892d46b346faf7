"""How much baselines reduce the variance of sampled gradients and regrets, at the strategy that a run has reached.

Runs a solver, then draws gradients with its strategy held fixed, with the baselines that it has learned (which go on
learning) and without any. The figure is the sum over slots of the variance of

* g: the gradient's entries;
* r: the sampled counterfactual regrets, r(I, a) = v(I, a) - sum_b x(I, b) v(I, b), which regret matching adds up.
  How rarely a traversal comes to an infoset at all is in it, which no baseline changes;
* v: the sampled values of the whole game under the strategy, <g, x>, one number per player.

    python benchmarks/variance.py --game=leduc_poker --iterations=1000000
"""

import numpy as np
from absl import app, flags

import mccfr_plus
from mccfr_plus.kernels.compile import compose, kernel
from mccfr_plus.kernels.loops.components import estimate
from mccfr_plus.kernels.loops.composed import estimate_with
from mccfr_plus.kernels.scratch import begin_gradient, begin_traversal

FLAGS = flags.FLAGS

flags.DEFINE_string("game", "leduc_poker", "Name of the game")
flags.DEFINE_list("estimators", ["outcome", "balanced", "external", "average_strategy"], "Estimators that sample")
flags.DEFINE_list("baselines", ["expected:1", "expected:0.5", "sampled:0.5", "sampled:0.1"], "Baselines, backup:rate")
flags.DEFINE_integer("iterations", 1_000_000, "Iterations before the variance is measured")
flags.DEFINE_integer("samples", 200_000, "Gradients per player")
flags.DEFINE_integer("seed", 1, "Seed")


@kernel
def _moments(samples, parameters, sampling_weights, tree, strategy, scratch, player, sums):
    """Adds up values and squares of gradients, regrets and game values; `sums` is ``[6, num_slots]``."""
    for _ in range(samples):
        begin_gradient(tree, scratch, player)
        begin_traversal(scratch)
        estimate(parameters, sampling_weights, tree, strategy, scratch, player)
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
    """Returns the total variances of gradients, regrets and game values over both players.

    Args:
        solver: Its strategy and its baselines are used.
        baseline: How the baselines are used and moved; None: they are not.
    """
    tree, engine, total = solver.tree, solver._engine, np.zeros((6, solver.tree.num_slots))
    moments = compose(_moments, estimate=estimate_with(solver.estimator, baseline))
    parameters = solver.estimator.parameters()
    if baseline is not None:
        parameters = np.append(parameters, baseline.rate)
    for player in range(tree.num_players):
        bundles = tree.arrays, solver.current_strategy(), engine.scratches[0]
        moments(FLAGS.samples, parameters, engine.sampling_weights(), *bundles, player, total)
    total /= FLAGS.samples
    return [(total[row + 1] - total[row] ** 2).sum() for row in (0, 2, 4)]


def main(_):
    tree = mccfr_plus.compile_game(FLAGS.game)
    print(f"{FLAGS.game}, {FLAGS.iterations:,} iterations, {FLAGS.samples:,} gradients per player, seed {FLAGS.seed}")
    print("variance without / with baselines, exploitability of the run with / without")
    print(f"{'estimator':>16} {'baseline':>12} {'g':>7} {'r':>7} {'v':>7} {'with':>9} {'without':>9}")
    for estimator in FLAGS.estimators:
        plain = mccfr_plus.Solver(tree, estimator, "rm", seed=FLAGS.seed).run(FLAGS.iterations).exploitability()
        for spec in FLAGS.baselines:
            backup, _, rate = spec.partition(":")
            baseline = mccfr_plus.Baseline(float(rate), backup)
            solver = mccfr_plus.Solver(tree, estimator, "rm", baseline=baseline, seed=FLAGS.seed).run(FLAGS.iterations)
            without, found = variances(solver, None), variances(solver, baseline)
            ratios = " ".join(f"{a / b:>7.1f}" for a, b in zip(without, found, strict=True))
            print(f"{estimator:>16} {spec:>12} {ratios} {solver.exploitability():>9.5f} {plain:>9.5f}", flush=True)


if __name__ == "__main__":
    app.run(main)
