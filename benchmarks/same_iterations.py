"""Exploitability after the same number of sampled iterations, here and in OpenSpiel's C++, over seeds.

Both sample the same thing, so that the two agree within the spread, except where the average strategies are formed in
different ways (outcome sampling; see docs/design.md).
"""

import numpy as np
import pyspiel
from absl import app, flags

import mccfr_plus

FLAGS = flags.FLAGS

flags.DEFINE_list("games", ["kuhn_poker", "leduc_poker"], "Games")
flags.DEFINE_list("iterations", ["1000", "10000", "100000"], "Numbers of iterations to look at")
flags.DEFINE_integer("seeds", 8, "How many runs")
flags.DEFINE_integer("first_seed", 0, "Seed of the first run; the others count on")

PEERS = {
    "external": lambda game, seed: pyspiel.ExternalSamplingMCCFRSolver(game, seed=seed),
    "outcome": lambda game, seed: pyspiel.OutcomeSamplingMCCFRSolver(game, seed=seed),
}


def curves(game, estimator, marks, seed):
    """Returns exploitability at each mark of ours and of OpenSpiel's, [2, len(marks)]."""
    tree = mccfr_plus.compile_game(game)
    ours, theirs = mccfr_plus.Solver(tree, estimator, "rm", seed=seed), PEERS[estimator](game, seed + 1)
    result, done = np.empty((2, len(marks))), 0
    for column, mark in enumerate(marks):
        ours.run(mark - done)
        for _ in range(mark - done):
            theirs.run_iteration()
        done = mark
        result[:, column] = ours.exploitability(), mccfr_plus.exploitability(tree, theirs.average_policy())
    return result


def main(_):
    seeds = range(FLAGS.first_seed, FLAGS.first_seed + FLAGS.seeds)
    marks = [int(n) for n in FLAGS.iterations]
    for name in FLAGS.games:
        game = pyspiel.load_game(name)
        for estimator in PEERS:
            runs = np.array([curves(game, estimator, marks, seed) for seed in seeds])
            print(f"{name}, {estimator} + rm, exploitability: mean and standard deviation of {FLAGS.seeds} runs")
            for column, mark in enumerate(marks):
                (ours, theirs), (our_sd, their_sd) = runs.mean(0)[:, column], runs.std(0, ddof=1)[:, column]
                peer = f"OpenSpiel {theirs:.4f} +- {their_sd:.4f}"
                print(f"  {mark:>9,} iterations: here {ours:.4f} +- {our_sd:.4f}, {peer}")


if __name__ == "__main__":
    app.run(main)
