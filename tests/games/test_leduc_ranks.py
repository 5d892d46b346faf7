"""Leduc poker on ranks: equality with OpenSpiel's game at 3 ranks, and the published counts at 13."""

import pyspiel
import pytest
from states import after

CALL, RAISE = 1, 2


def test_every_history_is_one_of_openspiels_game():
    """Every history of 3 ranks is one of OpenSpiel's, where chance deals the private cards one after the other."""
    game = pyspiel.load_game("leduc_ranks(ranks=3)")
    theirs = pyspiel.load_game("leduc_poker(suit_isomorphism=True)")
    stack = [(game.new_initial_state(), theirs.new_initial_state())]
    histories = 0
    while stack:
        state, other = stack.pop()
        histories += 1
        assert state.is_chance_node() == other.is_chance_node()
        assert state.is_terminal() == other.is_terminal()
        if state.is_terminal():
            assert state.returns() == other.returns()
        elif not state.is_chance_node():
            assert state.current_player() == other.current_player()
            assert state.legal_actions() == other.legal_actions()
            stack += [(state.child(action), other.child(action)) for action in state.legal_actions()]
        else:
            pairs = not state.history()
            children = (
                _deals(other) if pairs else {(rank,): (p, other.child(rank)) for rank, p in other.chance_outcomes()}
            )
            mine = dict(state.chance_outcomes())
            assert len(mine) == len(children)
            for ranks, (probability, child) in children.items():
                outcome = 3 * ranks[0] + ranks[1] if pairs else 9 + ranks[0]
                assert mine[outcome] == pytest.approx(probability, abs=1e-15)
                stack.append((state.child(outcome), child))
    assert histories == 1936


def test_thirteen_ranks():
    assert len(pyspiel.load_game("leduc_ranks").new_initial_state().chance_outcomes()) == 169
    state = after("leduc_ranks", 3 * 13 + 3, RAISE, RAISE, CALL)
    assert len(state.chance_outcomes()) == 12
    state.apply_action(169 + 4)
    assert state.legal_actions() == [CALL, RAISE]
    assert state.information_state_string(0) == "player=0 card=3 board=4 bets=rrc bets2="
    for first, second, payoff in ((3, 3, 0), (3, 7, -5), (4, 7, 5)):  # the higher rank, the pair
        deal = 13 * first + second
        assert after("leduc_ranks", deal, RAISE, RAISE, CALL, 169 + 4, CALL, CALL).returns() == [payoff, -payoff]


def _deals(state):
    deals = {}
    for first, probability in state.chance_outcomes():
        child = state.child(first)
        for second, conditional in child.chance_outcomes():
            deals[first, second] = probability * conditional, child.child(second)
    return deals
