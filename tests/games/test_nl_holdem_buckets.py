"""Two-round no-limit hold'em with buckets: the betting and payoffs; `test_page` has the counts of the paper."""

import numpy as np
import pyspiel
import pytest
from states import after, holdem_table

FOLD, CALL = 0, 1


def play(stack, *actions):
    return after(f"nl_holdem_buckets(stack={stack})", *actions)


def dealt(*buckets):
    return 5 * (buckets[0] - 1) + buckets[1] - 1


@pytest.mark.parametrize(
    ("moves", "later", "chips"),
    [
        ([CALL, CALL], [CALL, CALL], 2),
        ([4, CALL], [CALL, CALL], 4),
        ([5, CALL], [9, CALL], 9),
        ([5, CALL], [CALL, 7, 10, CALL], 10),
        ([10, CALL], [], 10),
        ([CALL, 10, CALL], [], 10),
    ],
)
@pytest.mark.parametrize(("first", "second"), [((2, 5), (4, 1)), ((5, 1), (5, 1))])
def test_a_showdown_pays_the_expected_share(moves, later, chips, first, second):
    state = play(10, dealt(*first), *moves, dealt(*second), *later)
    assert state.is_terminal()
    at = dealt(*first), dealt(*second)
    share = holdem_table("margins")[at] / holdem_table("deals")[at]
    assert abs(share) > 0.1
    assert state.returns() == pytest.approx([chips * share, -chips * share], abs=1e-12)


def test_chance_deals_in_proportion_to_the_number_of_deals():
    deals = holdem_table("deals")
    first = play(8)
    expected = dict(enumerate(deals.sum(axis=1) / deals.sum()))
    assert dict(first.chance_outcomes()) == pytest.approx(expected, abs=1e-15)
    row = deals[dealt(2, 4)]
    for moves in ((CALL, CALL), (8, CALL)):  # even after an all-in
        second = play(8, dealt(2, 4), *moves)
        assert dict(second.chance_outcomes()) == pytest.approx(dict(enumerate(row / row.sum())), abs=1e-15)


def test_players_see_their_own_buckets_and_all_betting():
    moves = dealt(3, 5), CALL, 5, CALL, dealt(4, 1), CALL, 8
    state = play(10, *moves)
    texts = [f"player={player} buckets={own} passed=cc flop=5 end=- raises=5 8" for player, own in enumerate((34, 51))]
    assert [state.information_state_string(player) for player in range(2)] == texts == str(state).split("\n")[:2]


def test_the_betting_is_openspiels_no_limit_poker():
    """The same tree of bets as universal_poker with real cards, of which each chance node's first is dealt."""
    stack, num_showdowns = 9, 0
    real_cards = pyspiel.load_game(
        "universal_poker(betting=nolimit,numPlayers=2,numRounds=2,blind=1 2,firstPlayer=1 2,numSuits=2,numRanks=6,"
        f"numHoleCards=1,numBoardCards=0 1,stack={stack} {stack},bettingAbstraction=fullgame)"
    )
    pair = dealt(5, 2)
    share = holdem_table("margins")[pair, pair] / holdem_table("deals")[pair, pair]
    assert share > 0.5
    ours = pyspiel.load_game(f"nl_holdem_buckets(stack={stack})")
    todo = [(ours.new_initial_state(), real_cards.new_initial_state())]
    while todo:
        ours, theirs = todo.pop()
        while ours.is_chance_node():
            ours.apply_action(pair)
        while theirs.is_chance_node():
            # The lowest card to the big blind, dealt last of the two hands.
            theirs.apply_action(theirs.legal_actions()[0 if len(theirs.history()) == 1 else -1])
        assert ours.current_player() == theirs.current_player(), (str(ours), str(theirs))
        assert ours.legal_actions() == theirs.legal_actions(), (str(ours), str(theirs))
        if ours.is_terminal():
            folded = ours.history()[-1] == FOLD and ours.history()[-2] != CALL
            num_showdowns += not folded
            factor = 1 if folded else share
            assert ours.returns() == pytest.approx(factor * np.array(theirs.returns()), abs=1e-12)
        todo += [(ours.child(action), theirs.child(action)) for action in ours.legal_actions()]
    assert num_showdowns > 50
