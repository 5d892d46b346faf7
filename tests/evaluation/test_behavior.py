"""Any kind of policy, asked state by state, gives the same distributions."""

import pyspiel
import pytest
from lazy_games import FaultyGame, FaultyState
from open_spiel.python import policy as openspiel_policy
from open_spiel.python.algorithms import exploitability
from open_spiel.python.algorithms.get_all_states import get_all_states
from references import kinds_of, random_policy

import mccfr_plus
from mccfr_plus import GameError, PolicyError
from mccfr_plus.evaluation.strategies import Behavior

KUHN = pyspiel.load_game("kuhn_poker")


def decisions_of(game):
    return list(get_all_states(game, include_terminals=False).values())


def test_kinds_of_policies():
    policy = random_policy("kuhn_poker", 1)
    for kind, same in kinds_of(policy.tree, policy.strategy()).items():
        behavior = Behavior(KUHN, same)
        for state in decisions_of(KUHN):
            row = behavior.row(state)
            expected = {a: p for a, p in policy.action_probabilities(state).items() if p > 0}
            assert dict(zip(row.actions, row.probabilities, strict=True)) == pytest.approx(expected), kind
            assert row.info_state == state.information_state_string()
            assert row.cumulative[-1] == 1.0


def test_a_mapping_is_uniform_where_it_has_no_entry():
    behavior = Behavior(KUHN, {"0": {1: 1.0}})
    state = pyspiel.load_game("kuhn_poker").new_initial_state()
    state.apply_action(0)
    state.apply_action(1)
    assert behavior.row(state).actions == (1,)
    state.apply_action(1)
    assert behavior.row(state).probabilities == (0.5, 0.5)


def test_a_mapping_of_the_simultaneous_game_fits_its_conversion():
    original = pyspiel.load_game("matrix_pd")
    game = mccfr_plus.load_game("matrix_pd")
    key = original.new_initial_state().information_state_string(0)
    state = game.new_initial_state()
    assert state.information_state_string(0) != key
    assert Behavior(game, {key: {1: 1.0}}).row(state).actions == (1,)


def test_probabilities_of_chance_that_are_none(monkeypatch):
    game = FaultyGame()
    for outcomes in ([(0, 1.5), (1, -0.5)], [(0, 0.5), (1, 0.4)], [(0, float("nan")), (1, 1.0)], []):
        for act in (
            lambda: mccfr_plus.head_to_head(game, {}, {}, num_games=4),
            lambda: mccfr_plus.play_games(game, [pyspiel.make_uniform_random_bot(p, 1) for p in (0, 1)], 1),
        ):
            monkeypatch.setattr(FaultyState, "chance_outcomes", lambda self, found=outcomes: found)
            with pytest.raises(GameError, match=r"history \[\].*chance probabilities"):
                act()


@pytest.mark.parametrize(
    ("policy", "same"),
    [
        (pyspiel.UniformPolicy(), openspiel_policy.UniformRandomPolicy(KUHN)),
        (pyspiel.PreferredActionPolicy([0, 1]), openspiel_policy.FirstActionPolicy(KUHN)),
    ],
    ids=["uniform", "first action"],
)
def test_policies_of_cpp_that_are_no_tables(policy, same):
    assert mccfr_plus.nash_conv(KUHN, policy) == pytest.approx(exploitability.nash_conv(KUHN, same))


class Answers(openspiel_policy.Policy):
    def __init__(self, answer):
        super().__init__(KUHN, [0, 1])
        self._answer = answer

    def action_probabilities(self, state, player_id=None):
        return self._answer


@pytest.mark.parametrize("answer", [None, {}, {0: 0.5, 1: 0.6}, {0: -0.5, 1: 1.5}, {7: 1.0}, {0: float("nan"), 1: 1.0}])
def test_refuses_answers_that_are_no_distribution(answer):
    with pytest.raises(PolicyError, match="information state"):
        Behavior(KUHN, Answers(answer)).row(decisions_of(KUHN)[0])
