"""What cannot be solved is refused early, in few words, and by the command as by the Python API."""

import time

import pyspiel
import pytest

import mccfr_plus
from mccfr_plus import GameError, MccfrPlusError, Solver, evaluate_by_rules
from mccfr_plus.cli.command import main

SECONDS = 30.0  # a minute of compiling the tree would be too much; estimates take less than a second

REFUSED = [
    ("latent_ttt", "full", "the budget is 50,000,000 nodes"),
    ("liars_dice(numdice=2)", "best_response", "the budget is 50,000,000 nodes"),
    ("phantom_ttt", "escher", "the budget is 50,000,000 nodes"),
    ("cliff_walking", "external", "use estimator='outcome'"),
    ("go(board_size=5)", "opponent", "use estimator='outcome'"),
]


@pytest.mark.parametrize(("game", "estimator", "said"), REFUSED, ids=str)
def test_large_games_are_refused_at_once(game, estimator, said, capsys):
    begin = time.monotonic()
    with pytest.raises(MccfrPlusError) as caught:
        Solver(game, estimator)
    assert time.monotonic() - begin < SECONDS
    assert said in str(caught.value)
    assert len(str(caught.value)) <= 400
    assert main(["solve", game, f"--estimator={estimator}"]) == 2
    error = capsys.readouterr().err.strip().splitlines()[-1]
    assert said in error
    assert len(error) <= 400 + len("mccfr-plus: error: ")


@pytest.mark.parametrize("game", ["dark_hex(num_rows=2,num_cols=2)", "goofspiel(num_cards=3)"])
def test_rules_that_do_not_promise_perfect_recall(game):
    with pytest.raises(MccfrPlusError, match="do not guarantee"):
        evaluate_by_rules(game, pyspiel.UniformRandomPolicy(pyspiel.load_game("kuhn_poker")))


def _apply_all(state, history):
    for action in history:
        state.apply_action(action)


@pytest.mark.parametrize("game", ["princess_and_monster", "phantom_ttt"])
def test_messages_of_impossible_histories_are_short(game):
    state = mccfr_plus.load_game(game).new_initial_state()
    with pytest.raises(Exception, match=r".") as caught:
        _apply_all(state, [0, 0, 1, 1] * 1000)
    assert len(str(caught.value)) <= 400


def test_duplicate_legal_actions_are_an_error(monkeypatch):
    from lazy_games import FaultyState

    monkeypatch.setattr(FaultyState, "_legal_actions", lambda self, player: [0, 0, 2])
    for options in ({"tree": "compiled"}, {"tree": "lazy"}):
        with pytest.raises(GameError, match=r"\[0, 0, 2\] of a decision node are not all different"):
            Solver("python_faulty(length=4)", "outcome", **options).run(1)
