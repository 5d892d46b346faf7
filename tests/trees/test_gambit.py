"""Gambit's format: read back by OpenSpiel; exact numbers and unique names."""

import io
import re
from fractions import Fraction

import numpy as np
import pyspiel
import pytest

from mccfr_plus import compile_game
from mccfr_plus.evaluation.exact import evaluate_strategy
from mccfr_plus.trees.gambit import _number, _probabilities, _unique, write_efg

NOISY = "add_noise(epsilon=0.3,seed=1,game=kuhn_poker())"
GAMES = [NOISY, "kuhn_poker", "kuhn_poker(players=3)", "tiny_hanabi", "matrix_bos", "liars_dice(dice_sides=2)"]


def efg_of(tree):
    file = io.StringIO()
    write_efg(tree, file)
    return file.getvalue()


@pytest.mark.parametrize("game", GAMES)
def test_openspiel_reads_the_same_game(game):
    tree = compile_game(game)
    other = compile_game(pyspiel.load_efg_game(efg_of(tree)))
    assert (other.num_nodes, other.num_infosets, other.num_slots) == (
        tree.num_nodes, tree.num_infosets, tree.num_slots
    )  # fmt: skip
    # Both number information sets by first visit, so that a strategy fits either.
    strategy = np.random.default_rng(1).uniform(0.1, 1.0, tree.num_slots)
    firsts, counts = tree.arrays.infosets["first_slot"], tree.arrays.infosets["num_actions"]
    strategy /= np.repeat(np.add.reduceat(strategy, firsts), counts)
    usual, read = evaluate_strategy(tree, strategy), evaluate_strategy(other, strategy)
    np.testing.assert_allclose(read.values, usual.values, atol=1e-12)
    np.testing.assert_allclose(read.best_response_values, usual.best_response_values, atol=1e-12)


def test_numbers_are_exact():
    text = efg_of(compile_game("kuhn_poker"))
    chance = re.findall(r'^c "" \d+ "\d+" \{ (.*) \} 0$', text, re.MULTILINE)
    assert chance[0] == '"0" 1/3 "1" 1/3 "2" 1/3'
    assert len(chance) == 4
    for numbers in ([0.1] * 10, [1 / 7, 6 / 7], [np.pi / 4, 1 - np.pi / 4], [1e-9, 1 - 1e-9], [1e-300, 0.5, 0.5]):
        fractions = [Fraction(text) for text in _probabilities(numbers)]
        assert sum(fractions) == 1
        np.testing.assert_allclose([float(f) for f in fractions], numbers, rtol=1e-9)
    for number in (0.1, -1 / 3, 2.0**31, -(2.0**40) / 3, 1e-7, 1e300, np.pi):
        assert float(Fraction(_number(number))) == pytest.approx(number, rel=1e-12)


def test_names_are_unique_and_need_no_escape():
    texts = ['a "b"', "a 'b'", "x\ny", "x y", "", "\n"]
    assert _unique(texts) == ["a 'b'", "a 'b' (2)", "x y", "x y (2)", "-", "- (2)"]
    lines = efg_of(compile_game("tiny_hanabi")).splitlines()
    assert all(line[0] in 'EcpT"t' for line in lines)  # texts of several lines are on one
