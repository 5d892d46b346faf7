"""Goofspiel: hand-computed rounds, OpenSpiel's `goofspiel`, published counts."""

import pyspiel
import pytest
from states import after


def load(**parameters):
    return pyspiel.load_game("bid_goofspiel", parameters)


# ---- by hand ----


def test_a_game_by_hand():
    game = load(num_cards=3)
    state = after(game, 1)  # prize 3: player 0 bids 2
    assert state.information_state_string(0) == "player=0 bids=2 results="
    assert state.information_state_string(1) == "player=1 bids= results="
    state = after(game, 1, 0, 2, 2)  # ... player 1 bids 1; both bid 3: prize 2 is lost
    assert state.information_state_string(1) == "player=1 bids=13 results=0="
    assert str(state) == "prizes: 3 2 1\nbids 0: 2 3; points 3\nbids 1: 1 3; points 0"
    state = after(game, 1, 0, 2, 2, 0, 1)  # prize 1: 1 against 2
    assert state.observation_string(0) == "player=0 bids=231 results=0=1 points=3 1"


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
