"""Runs MCCFR with the drop-ins for OpenSpiel's solvers. Only the imports differ from a program for OpenSpiel.

python examples/mccfr_example.py --sampling=external --game=leduc_poker --iterations=100000 --print_freq=10000
"""

import pyspiel
from absl import app, flags
from open_spiel.python.algorithms import exploitability

from mccfr_plus.drop_in import external_sampling_mccfr, outcome_sampling_mccfr

_SAMPLING = flags.DEFINE_enum("sampling", "outcome", ["external", "outcome"], "The sampling scheme.")
_ITERATIONS = flags.DEFINE_integer("iterations", 10000, "How many iterations to run.", lower_bound=1)
_GAME = flags.DEFINE_string("game", "kuhn_poker", "OpenSpiel's name of the game.")
_PLAYERS = flags.DEFINE_integer("players", 2, "How many players the game has.")
_PRINT_FREQ = flags.DEFINE_integer("print_freq", 1000, "Number of iterations between reports.", lower_bound=1)


def main(_):
    game = pyspiel.load_game(_GAME.value, {"players": _PLAYERS.value})
    if _SAMPLING.value == "external":
        average_type = external_sampling_mccfr.AverageType.SIMPLE
        solver = external_sampling_mccfr.ExternalSamplingSolver(game, average_type)
    else:
        solver = outcome_sampling_mccfr.OutcomeSamplingSolver(game)
    for iteration in range(_ITERATIONS.value):
        solver.iteration()
        if iteration % _PRINT_FREQ.value == 0:
            print(f"iteration {iteration}: NashConv {exploitability.nash_conv(game, solver.average_policy())}")


if __name__ == "__main__":
    app.run(main)
