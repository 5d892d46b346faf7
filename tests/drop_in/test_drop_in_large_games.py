"""OpenSpiel's names on a game that does not fit memory: on lazy trees, all answer as OpenSpiel's do."""

import pyspiel
import pytest

from mccfr_plus import KeyedPolicy, drop_in
from mccfr_plus.drop_in import pyspiel as our_pyspiel

GAME = pyspiel.load_game("phantom_ttt")
DICE = pyspiel.load_game("liars_dice(numdice=2)")  # traversals of external sampling are short there


@pytest.mark.parametrize(
    ("make", "game", "iterations"),
    [(drop_in.ExternalSamplingSolver, DICE, 20), (drop_in.OutcomeSamplingSolver, GAME, 300)],
)
def test_python_classes(make, game, iterations):
    solver = make(game, seed=1)
    for _ in range(iterations):
        solver.iteration()
    assert solver.tree.is_lazy
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
    text = max(policy.items(), key=lambda item: max(item[1].values()))
    assert max(text[1].values()) > 0.5  # something was learned
    before = policy.items()
    for _ in range(iterations):
        solver.iteration()
    assert policy.items() == before  # a snapshot
    assert solver.average_policy().items() != before


@pytest.mark.parametrize("name", ["ExternalSamplingMCCFRSolver", "OutcomeSamplingMCCFRSolver"])
def test_cpp_classes(name):
    solver = getattr(our_pyspiel, name)(DICE, seed=1)
    solver.run_iteration()
    policy = solver.average_policy()
    state = DICE.new_initial_state()
    while not state.is_terminal():  # also where no traversal was
        actions = dict(state.chance_outcomes() if state.is_chance_node() else policy.get_state_policy(state))
        assert sum(actions.values()) == pytest.approx(1)
        state.apply_action(min(actions))
    table = policy.policy_table()
    assert len(table) == solver.tree.num_infosets > 0
    assert all(sum(p for _, p in pairs) == pytest.approx(1) for pairs in table.values())
