"""Leduc poker on ranks: equality with OpenSpiel's game at 3 ranks, and the published counts at 13."""

import pyspiel
import pytest

FOLD, CALL, RAISE = range(3)


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


def _deals(state):
    deals = {}
    for first, probability in state.chance_outcomes():
        after = state.child(first)
        for second, conditional in after.chance_outcomes():
            deals[first, second] = probability * conditional, after.child(second)
    return deals


@pytest.mark.parametrize(
    ("history", "returns"),
    [
        ([3 * 13 + 7, RAISE, FOLD], [1, -1]),
        ([3 * 13 + 7, CALL, RAISE, RAISE, FOLD], [3, -3]),  # player 1 folds to the second raise
        ([3 * 13 + 7, CALL, CALL, 169 + 5, CALL, CALL], [-1, 1]),  # the higher rank
        ([3 * 13 + 7, CALL, CALL, 169 + 3, CALL, CALL], [1, -1]),  # the pair
        ([7 * 13 + 3, CALL, CALL, 169 + 3, RAISE, CALL], [-5, 5]),
        ([7 * 13 + 7, RAISE, RAISE, CALL, 169 + 3, CALL, RAISE, RAISE, CALL], [0, 0]),
        ([7 * 13 + 3, RAISE, RAISE, CALL, 169 + 7, RAISE, RAISE, CALL], [13, -13]),
        ([7 * 13 + 3, RAISE, RAISE, CALL, 169 + 7, CALL, RAISE, FOLD], [-5, 5]),
    ],
)
def test_returns(history, returns):
    state = pyspiel.load_game("leduc_ranks").new_initial_state()
    for action in history:
        assert not state.is_terminal()
        state.apply_action(action)
    assert state.is_terminal()
    assert state.returns() == returns


def test_history():
    game = pyspiel.load_game("leduc_ranks")
    state = game.new_initial_state()
    assert len(state.chance_outcomes()) == 169

    assert str(state) == "cards - -, board -, pot 1 1, bets -"
    state.apply_action(3 * 13 + 3)
    assert state.legal_actions() == [CALL, RAISE]
    state.apply_action(RAISE)
    assert state.legal_actions() == [FOLD, CALL, RAISE]
    state.apply_action(RAISE)
    assert state.legal_actions() == [FOLD, CALL]
    state.apply_action(CALL)
    board = dict(state.chance_outcomes())
    assert len(board) == 12
    state.apply_action(169 + 4)
    state.apply_action(CALL)
    assert state.information_state_string(0) == "player=0 card=3 board=4 bets=rrc bets2=c"
    assert state.observation_string(0) == "player=0 card=3 board=4 bets=rrc bets2=c money=5 5"
    assert str(state) == "cards 3 3, board 4, pot 5 5, bets rrc c"
    assert state.legal_actions() == [CALL, RAISE]
