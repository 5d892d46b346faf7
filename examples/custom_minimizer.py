"""A user-defined minimizer: Hedge (multiplicative weights) at every information set.

The built-in minimizer `hedge(eta=0.1)` gives the same numbers.

Reference: Freund, Schapire 1997, "A decision-theoretic generalization of on-line learning", figure 2.
"""

import math

import numba
import numpy as np
from absl import app, flags

import mccfr_plus

FLAGS = flags.FLAGS

flags.DEFINE_string("game", "leduc_poker", "Name of the game")
flags.DEFINE_string("estimator", "external", "How gradients are sampled: full, chance, opponent, external, outcome")
flags.DEFINE_float("eta", 0.1, "Step size of Hedge")
flags.DEFINE_integer("iterations", 100_000, "Number of iterations")


@numba.njit
def hedge_update(values, strategy, tables, first, last, iteration, parameters):
    """One information set: regrets are added up, the next strategy is proportional to exp(eta * regret)."""
    value, best = 0.0, -math.inf
    for slot in range(first, last):
        value += strategy[slot] * values[slot]
    for slot in range(first, last):
        tables[0, slot] += values[slot] - value
        best = max(best, tables[0, slot])
    total = 0.0
    for slot in range(first, last):
        values[slot] = math.exp(parameters[0] * (tables[0, slot] - best))  # minus the best: no overflow
        total += values[slot]
    for slot in range(first, last):
        strategy[slot] = values[slot] / total  # probabilities only: other threads may be playing it
    return value


class Hedge(mccfr_plus.Minimizer):
    """Hedge with a constant step size eta."""

    short_name = "my hedge"
    kernel = staticmethod(hedge_update)

    def parameters(self):
        return np.array([FLAGS.eta])


def main(_):
    print(mccfr_plus.check_minimizer(Hedge()))
    solver = mccfr_plus.Solver(FLAGS.game, FLAGS.estimator, Hedge(), seed=0).run(FLAGS.iterations)
    print(f"exploitability {solver.exploitability():.5f} after {solver.iterations} iterations")


if __name__ == "__main__":
    app.run(main)
