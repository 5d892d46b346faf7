"""Goofspiel: hand-computed rounds, OpenSpiel's `goofspiel`, published counts."""

import pyspiel
import pytest


def load(**parameters):
    return pyspiel.load_game("bid_goofspiel", parameters)


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
