"""Goofspiel: hand-computed rounds, OpenSpiel's `goofspiel`, published counts."""

import pyspiel
import pytest
from states import after

import mccfr_plus
import mccfr_plus.games


def load(**parameters):
    return pyspiel.load_game("bid_goofspiel", parameters)


def histories(state):
    """Yields a state and all that follow."""
    yield state
    for action in state.legal_actions():
        yield from histories(state.child(action))


# ---- by hand ----


def test_a_game_by_hand():
    game = load(num_cards=3)
    state = after(game, 1)  # prize 3: player 0 bids 2
    assert state.current_player() == 1
    assert state.legal_actions() == [0, 1, 2]
    assert state.information_state_string(0) == "player=0 bids=2 results="
    assert state.information_state_string(1) == "player=1 bids= results="
    state = after(game, 1, 0)  # ... player 1 bids 1, prize 2
    assert state.current_player() == 0
    assert state.legal_actions() == [0, 2]
    assert state.information_state_string(0) == "player=0 bids=2 results=0"
    assert state.information_state_string(1) == "player=1 bids=1 results=0"
    state = after(game, 1, 0, 2, 2)  # both bid 3: prize 2 is lost
    assert state.legal_actions() == [0]
    assert state.information_state_string(1) == "player=1 bids=13 results=0="
    assert str(state) == "prizes: 3 2 1\nbids 0: 2 3; points 3\nbids 1: 1 3; points 0"
    state = after(game, 1, 0, 2, 2, 0, 1)  # prize 1: 1 against 2
    assert state.is_terminal()
    assert state.observation_string(0) == "player=0 bids=231 results=0=1 points=3 1"
    assert state.returns() == [1.0, -1.0]
    assert after(load(num_cards=3, utility="point_difference"), *state.history()).returns() == [2.0, -2.0]


def test_random_prizes_are_seen_before_the_bid_and_the_last_one_is_forced():
    game = load(num_cards=3, prizes="random")
    state = after(game)
    assert state.is_chance_node()
    assert state.chance_outcomes() == [(prize, pytest.approx(1 / 3)) for prize in range(3)]
    state = after(game, 1)
    assert state.current_player() == 0
    assert state.information_state_string(0) == "player=0 bids= results= prizes=2"
    state = after(game, 1, 0, 2)
    assert state.chance_outcomes() == [(0, 0.5), (2, 0.5)]
    assert state.information_state_string(0) == "player=0 bids=1 results=1 prizes=2"
    state = after(game, 1, 0, 2, 2, 1, 0)  # after prizes 2 and 3 prize 1 follows without chance
    assert state.current_player() == 0
    assert state.legal_actions() == [2]
    assert state.information_state_string(0) == "player=0 bids=12 results=10 prizes=231"
    assert state.information_state_string(1) == "player=1 bids=31 results=10 prizes=231"


def test_a_bid_is_not_revealed_before_the_round_is_over():
    game = load(num_cards=3, reveal="bids")
    state = after(game, 2)
    assert state.information_state_string(0) == "player=0 bids_0= bids_1= hidden_bid=3"
    assert state.information_state_string(1) == "player=1 bids_0= bids_1= hidden_bid="
    assert state.information_state_string(1) == after(game, 0).information_state_string(1)
    state = after(game, 2, 0)
    assert state.information_state_string(0) == "player=0 bids_0=3 bids_1=1 hidden_bid="
    assert state.information_state_string(1) == "player=1 bids_0=3 bids_1=1 hidden_bid="


def test_the_largest_game_fits():
    game = load(num_cards=15, reveal="bids", prizes="random", utility="point_difference")
    state = after(game)
    while not state.is_terminal():  # the highest prize left; player 0 bids his lowest card, player 1 his highest
        legal = state.legal_actions()
        state.apply_action(legal[0] if state.current_player() == 0 else legal[-1])
    assert state.information_state_string(0) == (
        "player=0 bids_0=1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 bids_1=15 14 13 12 11 10 9 8 7 6 5 4 3 2 1 "
        "hidden_bid= prizes=15 14 13 12 11 10 9 8 7 6 5 4 3 2 1"
    )
    assert state.returns() == [28.0 - 84.0, 84.0 - 28.0]  # 7 + ... + 1 against 15 + ... + 9, prize 8 is lost


# ---- OpenSpiel's game: the same but for the last round, which it plays by itself ----


# OpenSpiel pays what a player is above the average of the two, which is half of the difference.
SCALES = {"win_loss": 1.0, "point_difference": 2.0}


def both_games(num_cards, reveal, prizes, utility="point_difference"):
    ours = load(num_cards=num_cards, reveal=reveal, prizes=prizes, utility=utility)
    hidden = reveal == "results"
    theirs = pyspiel.load_game(
        f"turn_based_simultaneous_game(game=goofspiel(num_cards={num_cards},imp_info={hidden},"
        f"points_order={prizes},returns_type={utility}))"
    )
    return ours, theirs


@pytest.mark.parametrize("num_cards", [2, 3, pytest.param(4, marks=pytest.mark.slow)])
@pytest.mark.parametrize("utility", ["win_loss", "point_difference"])
@pytest.mark.parametrize("prizes", ["descending", "ascending", "random"])
@pytest.mark.parametrize("reveal", ["results", "bids"])
def test_agrees_with_openspiel_in_every_history(num_cards, reveal, prizes, utility):
    ours, theirs = (game.new_initial_state() for game in both_games(num_cards, reveal, prizes, utility))
    scale = SCALES[utility]
    infosets = set()
    stack = [(ours, theirs)]
    while stack:
        a, b = stack.pop()
        if b.is_terminal():
            while not a.is_terminal():  # our last round
                (action,) = a.legal_actions()
                a.apply_action(action)
            assert a.returns() == [scale * payoff for payoff in b.returns()]
            continue
        assert a.current_player() == b.current_player()
        assert a.legal_actions() == b.legal_actions()
        if a.is_chance_node():
            assert a.chance_outcomes() == b.chance_outcomes()
        else:
            infosets.add((a.information_state_string(), b.information_state_string()))
        stack += [(a.child(action), b.child(action)) for action in a.legal_actions()]
    # OpenSpiel's texts of games with `imp_info=False` name the hands and not the order of bids, so that they have fewer
    # infosets than perfect recall needs as soon as there are two rounds to look back on.
    merged = reveal == "bids" and num_cards >= 4
    assert len({ours for ours, _ in infosets}) == len(infosets)
    assert merged or len({theirs for _, theirs in infosets}) == len(infosets)


@pytest.mark.parametrize("utility", ["win_loss", "point_difference"])
def test_value_is_that_of_openspiels_game(utility):
    values = [mccfr_plus.solve_lp(game).value for game in both_games(3, "bids", "random", utility)]
    assert values == pytest.approx([0.0, 0.0], abs=1e-6)  # the game is symmetric


# ---- counts ----

# histories, infosets, sequences and M value of each player, longest history
COUNTS = {
    "num_cards=4": (2_229, 369, 463, 118.88, 8),
    "num_cards=4,reveal=bids,prizes=random": (54_421, 17_476, 21_329, 809.36, 11),
}


@pytest.mark.parametrize("parameters", COUNTS)
def test_counts(parameters):
    histories, infosets, sequences, m_value, longest = COUNTS[parameters]
    found = mccfr_plus.compile_game(f"bid_goofspiel({parameters})").statistics()
    assert found.histories == histories
    assert found.infosets == [infosets, infosets]
    assert found.sequences == [sequences, sequences]
    assert found.m_values == pytest.approx([m_value, m_value], abs=0.005)
    assert found.max_history_length == longest


# ---- parameters ----


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"num_cards": 1}, r"num_cards=1: give a whole number from 2 to 15 \(four bits"),
        ({"prizes": "shuffled"}, "prizes='shuffled': give one of descending, ascending, random"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        load(**parameters)
