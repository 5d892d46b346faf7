"""CFR against best responses: OpenSpiel's numbers, and the linear program's value."""

import naive
import numpy as np
import pytest
from open_spiel.python.algorithms import cfr_br

from mccfr_plus import CFRBRSolver, Solver, best_response, solve_lp


# Without plus, regrets of Kuhn poker cancel but for rounding.
@pytest.mark.parametrize(
    ("game", "plus"), [("kuhn_poker", True), ("liars_dice(dice_sides=2)", True), ("liars_dice(dice_sides=2)", False)]
)
def test_equals_openspiels(game, plus):
    tree = naive.tree_of(game)
    theirs, ours = (solver(tree.game, linear_averaging=plus, regret_matching_plus=plus) for solver in SOLVERS)
    for _ in range(5):
        theirs.evaluate_and_update_policy()
        ours.evaluate_and_update_policy()
        for now in ("current_policy", "average_policy"):
            expected, found = (getattr(solver, now)() for solver in (theirs, ours))
            for text in tree.info_states:
                np.testing.assert_allclose(found.policy_for_key(text), expected.policy_for_key(text), atol=1e-12)


SOLVERS = (cfr_br.CFRBRSolver, CFRBRSolver)


def test_each_player_approaches_what_the_linear_program_guarantees():
    tree = naive.tree_of("kuhn_poker")
    solver, value = Solver(tree, "best_response", "rm"), solve_lp(tree).value
    losses = []
    for _ in range(3):
        solver.run(300)
        policy = solver.average_policy()
        # What each player gets less than its value, against a best response.
        losses.append([value + best_response(tree, policy, 1).value, best_response(tree, policy, 0).value - value])
    losses = np.array(losses)
    assert (losses >= -1e-12).all()
    assert (losses[-1] < losses[0]).all()
    assert losses[-1].max() < 0.02
