"""Solves a game, then uses the policy in OpenSpiel: for evaluation, conversion and bots, and from a file."""

import os
import tempfile

import numpy as np
import pyspiel
from absl import app, flags
from open_spiel.python.algorithms import evaluate_bots, exploitability

import mccfr_plus

FLAGS = flags.FLAGS

flags.DEFINE_string("game", "kuhn_poker", "Name of the game")
flags.DEFINE_integer("episodes", 1000, "How many episodes the bots play")


def main(_):
    game = pyspiel.load_game(FLAGS.game)
    solver = mccfr_plus.Solver(game, estimator="full", minimizer="rm+")
    policy = solver.run(1000).average_policy()

    print("NashConv by OpenSpiel in Python: ", exploitability.nash_conv(game, policy))
    print("NashConv by OpenSpiel in C++:    ", pyspiel.nash_conv(game, policy.to_pyspiel()))
    print("NashConv by mccfr_plus:          ", mccfr_plus.nash_conv(game, policy))

    state = game.new_initial_state()
    while state.is_chance_node():
        state.apply_action(state.legal_actions()[0])
    print("at", repr(state.information_state_string()), "play", policy.action_probabilities(state))

    bot = pyspiel.make_policy_bot(game, 0, 1234, policy.to_pyspiel())
    opponent = pyspiel.make_uniform_random_bot(1, 4321)
    rng = np.random.RandomState(0)
    returns = [
        evaluate_bots.evaluate_bots(game.new_initial_state(), [bot, opponent], rng) for _ in range(FLAGS.episodes)
    ]
    print("against a random player, per episode:", np.mean(returns, axis=0))

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "policy.npz")
        mccfr_plus.save_policy(policy, path)
        print("the same from its file:", mccfr_plus.nash_conv(game, mccfr_plus.load_policy(path)))


if __name__ == "__main__":
    app.run(main)
