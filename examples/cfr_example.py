"""Runs CFR with the drop-in for OpenSpiel's `cfr` module. Only the import differs from a program for OpenSpiel.

python examples/cfr_example.py --game=leduc_poker --iterations=200
"""

import pyspiel
from absl import app, flags
from open_spiel.python.algorithms import exploitability

from mccfr_plus.drop_in import cfr

_ITERATIONS = flags.DEFINE_integer("iterations", 100, "How many iterations to run.", lower_bound=1)
_GAME = flags.DEFINE_string("game", "kuhn_poker", "OpenSpiel's name of the game.")
_PLAYERS = flags.DEFINE_integer("players", 2, "How many players the game has.")
_PRINT_FREQ = flags.DEFINE_integer("print_freq", 10, "Number of iterations between reports.", lower_bound=1)


def main(_):
    game = pyspiel.load_game(_GAME.value, {"players": _PLAYERS.value})
    solver = cfr.CFRSolver(game)
    for iteration in range(_ITERATIONS.value):
        solver.evaluate_and_update_policy()
        if iteration % _PRINT_FREQ.value == 0:
            print(
                f"iteration {iteration}: exploitability {exploitability.exploitability(game, solver.average_policy())}"
            )


if __name__ == "__main__":
    app.run(main)
