"""OpenSpiel's names on games that do not fit memory: Python's classes answer as OpenSpiel's do."""

import pyspiel
import pytest

from mccfr_plus import KeyedPolicy, PolicyError, Solver, drop_in
from mccfr_plus.drop_in import pyspiel as our_pyspiel

GAME = pyspiel.load_game("phantom_ttt")
DICE = pyspiel.load_game("liars_dice(numdice=2)")  # traversals of external sampling are short there


@pytest.mark.usefixtures("interpreted_loops")
@pytest.mark.parametrize(
    ("make", "game", "iterations"),
    [(drop_in.ExternalSamplingSolver, DICE, 2), (drop_in.OutcomeSamplingSolver, GAME, 50)],
)
def test_python_classes(make, game, iterations):
    solver = make(game, seed=1)
    for _ in range(iterations):
        solver.iteration()
    assert solver.tree.kind != "compiled"
    policy = solver.average_policy()
    assert isinstance(policy, KeyedPolicy)
    first = game.new_initial_state()
    while first.is_chance_node():
        first.apply_action(first.legal_actions()[0])
    later = first.child(first.legal_actions()[0])
    for state in (first, later):
        row = policy.action_probabilities(state)
        assert list(row) == state.legal_actions()
        assert sum(row.values()) == pytest.approx(1)
    before = policy.table.probabilities.copy()
    assert before.max() > 0.5  # something was learned
    for _ in range(iterations):
        solver.iteration()
    assert policy.table.probabilities.tobytes() == before.tobytes()  # a snapshot
    assert solver.average_policy().table.probabilities.tobytes() != before.tobytes()


@pytest.mark.usefixtures("interpreted_loops")
@pytest.mark.parametrize("name", ["ExternalSamplingMCCFRSolver", "OutcomeSamplingMCCFRSolver"])
def test_cpp_classes(name):
    solver = getattr(our_pyspiel, name)(DICE, seed=1)
    solver.run_iteration()
    with pytest.raises(PolicyError, match=r"C\+\+ policies are tables indexed by.*Solver\.average_policy\(solver\)"):
        solver.average_policy()
    assert Solver.average_policy(solver).num_infosets == solver.tree.num_infosets > 0
