"""Game strings on which OpenSpiel fails, crashes or never ends: an error each, and the interpreter goes on."""

import pytest

from mccfr_plus import GameError, load_game
from mccfr_plus.trees import loading


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("goofspiel(num_cards=-5)", "fails on"),
        ("turn_based_simultaneous_game(game=goofspiel(num_cards=-2))", "fails on"),
        ("universal_poker(numPlayers=99)", r"fails on .* \(SIG\w+\) \(.*players"),
        ("liars_dice(dice_sides=9999999999)", "does not accept"),
    ],
)
def test_is_an_error_of_one_line(text, problem, capfd):
    with pytest.raises(GameError, match=problem) as error:
        load_game(text)
    assert "/project/" not in str(error.value)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("text", ["goofspiel(num_cards=99999)", "liars_dice(numdice=1000000)"])
def test_a_game_without_end_is_an_error(text, monkeypatch):
    monkeypatch.setattr(loading, "_TRIAL_SECONDS", 1)
    with pytest.raises(GameError, match=r"one game does not end in 1 seconds|more than 100,000"):  # dice may be faster
        load_game(text)


def test_unusual_parameters_that_work_are_accepted():
    assert load_game("kuhn_poker(players=9)").num_players() == 9
