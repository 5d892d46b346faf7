"""A user-defined neural algorithm: outcome-sampled Deep CFR, on a compiled tree and on batches of histories.

python examples/neural_algorithm.py --representation=batched

An algorithm is defined by its sampled regrets, their weights and its exploration; `AdvantageSolver` does the rest.
The program needs torch: pip install 'mccfr_plus[neural]'.
"""

import numpy as np
from absl import app, flags

import mccfr_plus
from mccfr_plus.neural import AdvantageConfig, AdvantageSolver, TrainingConfig

_GAME = flags.DEFINE_string("game", "kuhn_poker", "An OpenSpiel game string.")
_ITERATIONS = flags.DEFINE_integer("iterations", 5, "How many iterations to run.", lower_bound=1)
_REPRESENTATION = flags.DEFINE_enum("representation", None, ["tree", "batched"], "How the algorithm sees the game.")


class OutcomeDeepCFR(AdvantageSolver):
    """Deep CFR on trajectories: the value of a drawn action is the payoff, divided by the probabilities of own draws.

    `paths` holds the decisions of all trajectories, level by level: the first ones of all trajectories, then the second
    ones, and so on.
    """

    exploration = 0.6  # probability with which the player whose regrets are sampled draws uniformly

    def regrets(self, paths, player):
        """Returns sampled regrets, ``[num_decisions, num_actions]``; those of other players are not read."""
        regrets, value = np.zeros(paths.masks.shape), paths.returns[:, player].copy()
        for level in reversed(paths.levels()):  # the last decisions first
            trajectory, actions = paths.traversals[level], paths.actions[level]
            action_values, rows = np.zeros(paths.masks[level].shape), np.arange(len(trajectory))
            action_values[rows, actions] = value[trajectory] / paths.probabilities[level]
            mean = (paths.strategies[level] * action_values).sum(1)
            regrets[level] = (action_values - mean[:, None]) * paths.masks[level]
            value[trajectory] = mean
        return regrets

    def weights(self, paths, player):
        """Returns weights with which an information set counts the same whatever was drawn before it."""
        return paths.importance((player,))


def new_solver(game, representation, seed=1):
    """Returns a solver with small networks."""
    small = TrainingConfig(hidden_layers=(32,), train_steps=100)
    config = AdvantageConfig(traversals=200, hidden_layers=(32,), train_steps=40, policy_training=small)
    return OutcomeDeepCFR(game, config, representation=representation, seed=seed)


def main(_):
    solver = new_solver(_GAME.value, _REPRESENTATION.value).run(_ITERATIONS.value)
    print(f"{solver.iterations} iterations, {solver.nodes_touched:,} histories")
    print(f"exploitability {mccfr_plus.exploitability(_GAME.value, solver.average_policy()):.4f}")


if __name__ == "__main__":
    app.run(main)
