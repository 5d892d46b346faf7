"""Two-round no-limit hold'em with buckets: the betting, payoffs, and the counts of the paper."""

import functools
import json
from pathlib import Path

import numpy as np
import pyspiel
import pytest
from states import after

import mccfr_plus

GAMES_FOLDER = Path(mccfr_plus.__file__).parent / "games"
FOLD, CALL = 0, 1

# stack: infosets, histories
COUNTS = {
    6: (760, 47_726),
    8: (2_640, 173_926),
    16: (112_920, 8_097_126),
    20: (505_840, 36_840_926),
}


@functools.cache
def tables():
    return json.loads((GAMES_FOLDER / "nl_holdem_buckets.json").read_text(encoding="utf-8"))


def table(name):
    return np.array(tables()[name])


def play(stack, *actions):
    return after(f"nl_holdem_buckets(stack={stack})", *actions)


def dealt(*buckets):
    return 5 * (buckets[0] - 1) + buckets[1] - 1


def test_all_pairs_of_buckets_are_dealt_in_both_rounds_even_after_an_all_in():
    for state in (play(8), play(8, dealt(1, 2), 1, 1), play(8, dealt(1, 2), 8, 1)):
        assert state.is_chance_node()
        assert [outcome for outcome, _ in state.chance_outcomes()] == list(range(25))
        assert sum(probability for _, probability in state.chance_outcomes()) == pytest.approx(1, abs=1e-12)
    assert play(8, dealt(1, 2), 8, 1, 0).is_terminal()


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
    share = table("margins")[at] / table("deals")[at]
    assert abs(share) > 0.1
    assert state.returns() == pytest.approx([chips * share, -chips * share], abs=1e-12)


def test_chance_deals_in_proportion_to_the_number_of_deals():
    deals = table("deals")
    first = play(8)
    assert [p for _, p in first.chance_outcomes()] == pytest.approx(deals.sum(axis=1) / deals.sum(), abs=1e-15)
    second = play(8, dealt(2, 4), CALL, CALL)
    row = deals[dealt(2, 4)]
    assert [p for _, p in second.chance_outcomes()] == pytest.approx(row / row.sum(), abs=1e-15)


def test_players_see_their_own_buckets_and_all_betting():
    moves = dealt(3, 5), CALL, 5, CALL, dealt(4, 1), CALL, 8
    state = play(10, *moves)
    assert state.information_state_string(0) == "player=0 buckets=34 passed=cc flop=5 end=- raises=5 8"
    assert state.information_state_string(1) == "player=1 buckets=51 passed=cc flop=5 end=- raises=5 8"
    assert str(state) == "buckets 3 5, c r5 c; buckets 4 1, c r8"


def test_the_betting_is_openspiels_no_limit_poker():
    """The same tree of bets as universal_poker with real cards, of which each chance node's first is dealt."""
    stack, num_showdowns = 9, 0
    real_cards = pyspiel.load_game(
        "universal_poker(betting=nolimit,numPlayers=2,numRounds=2,blind=1 2,firstPlayer=1 2,numSuits=2,numRanks=6,"
        f"numHoleCards=1,numBoardCards=0 1,stack={stack} {stack},bettingAbstraction=fullgame)"
    )
    pair = dealt(5, 2)
    share = table("margins")[pair, pair] / table("deals")[pair, pair]
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


# Counts.


@pytest.mark.parametrize(
    "stack", [6, 8, pytest.param(16, marks=pytest.mark.slow), pytest.param(20, marks=pytest.mark.slow)]
)
def test_the_tree_has_these_counts(stack):
    statistics = mccfr_plus.compile_game(f"nl_holdem_buckets(stack={stack})").statistics()
    infosets, histories = COUNTS[stack]
    assert (sum(statistics.infosets), statistics.histories) == (infosets, histories)
    assert statistics.perfect_recall
