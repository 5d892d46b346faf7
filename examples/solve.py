"""Solves a game and prints its exploitability at doubling numbers of iterations.

python examples/solve.py --game=leduc_poker --estimator=external --minimizer=rm --iterations=1000000
"""

from absl import app, flags

import mccfr_plus

_GAME = flags.DEFINE_string("game", "kuhn_poker", "An OpenSpiel game string.")
_ESTIMATOR = flags.DEFINE_string("estimator", "external", "full, chance, opponent, external or outcome.")
_MINIMIZER = flags.DEFINE_string("minimizer", "rm", "rm, rm+, linear, dcfr, prm or prm+.")
_ITERATIONS = flags.DEFINE_integer("iterations", 100_000, "Number of iterations.", lower_bound=1)
_SEED = flags.DEFINE_integer("seed", 1, "Makes the run repeatable.", lower_bound=0)


def main(_):
    solver = mccfr_plus.Solver(_GAME.value, _ESTIMATOR.value, _MINIMIZER.value, seed=_SEED.value)
    print("iterations   nodes touched   exploitability")
    step = 1
    while solver.iterations < _ITERATIONS.value:
        solver.run(min(step, _ITERATIONS.value - solver.iterations))
        print(f"{solver.iterations:10,}   {solver.nodes_touched:13,}   {solver.exploitability():14.6f}")
        step = solver.iterations

    # The average policy is an OpenSpiel policy: OpenSpiel's own functions take it.
    policy = solver.average_policy()
    state = solver.tree.game.new_initial_state()
    while state.is_chance_node():
        state.apply_action(state.legal_actions()[0])
    print(f"\nat the first decision after {str(state)!r}:")
    for action, probability in policy.action_probabilities(state).items():
        print(f"  {state.action_to_string(action):12} {probability:.4f}")


if __name__ == "__main__":
    app.run(main)
