"""What cannot be solved is refused early, in few words, and by the command as by the Python API."""

import time

import pyspiel
import pytest

from mccfr_plus import MccfrPlusError, Solver, evaluate_by_rules
from mccfr_plus.cli.command import main

SECONDS = 30.0  # of the processor: compiling the tree would take a minute, estimates take less than a second

REFUSED = [
    ("latent_ttt", "full", "the budget is 50,000,000 nodes"),
    ("liars_dice(numdice=2)", "best_response", "the budget is 50,000,000 nodes"),
    ("phantom_ttt", "escher", "the budget is 50,000,000 nodes"),
    ("cliff_walking", "external", "use estimator='outcome'"),
    ("go(board_size=5)", "opponent", "use estimator='outcome'"),
]


@pytest.mark.parametrize(("game", "estimator", "said"), REFUSED, ids=str)
def test_large_games_are_refused_at_once(game, estimator, said, capsys):
    begin = time.process_time()
    with pytest.raises(MccfrPlusError) as caught:
        Solver(game, estimator)
    assert time.process_time() - begin < SECONDS
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
