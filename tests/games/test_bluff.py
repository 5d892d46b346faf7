"""Bluff: equal to OpenSpiel's liars_dice where they overlap, payoffs by hand, values of later rounds, sizes."""

import collections
import itertools
import random

import numpy as np
import pyspiel
import pytest
from states import after

import mccfr_plus
from mccfr_plus.games import bluff


@pytest.mark.parametrize("parameters", ["dice1=1,dice2=1", "dice1=1,dice2=1,payoff=round"])
def test_one_die_each_is_liars_dice_state_by_state(parameters):
    ours, theirs = pyspiel.load_game(f"bluff({parameters})"), pyspiel.load_game("liars_dice")
    rng = random.Random(1)
    texts = set()
    for _ in range(300):
        own, other = ours.new_initial_state(), theirs.new_initial_state()
        while not other.is_terminal():
            assert own.current_player() == other.current_player()
            if other.is_chance_node():
                assert dict(own.chance_outcomes()) == pytest.approx(dict(other.chance_outcomes()))
            else:
                assert own.legal_actions() == other.legal_actions()
                assert own.action_to_string(own.legal_actions()[0])[:3] in (
                    other.action_to_string(other.legal_actions()[0])[:3],
                    "blu",
                )
            for player in (0, 1) if not other.is_chance_node() else ():
                texts.add((player, other.information_state_string(player), own.information_state_string(player)))
            action = rng.choice(other.legal_actions())
            own.apply_action(action)
            other.apply_action(action)
        assert own.is_terminal()
        assert own.returns() == other.returns()
    for place in (1, 2):
        assert len({(each[0], each[place]) for each in texts}) == len(texts)


def uniform_play(dice, faces, worth):
    """Returns b1 + b2 against uniform play, halved; the last bid and the own roll are all that a best response needs.

    `worth` is what player 0 gets when player 0 or 1 loses the round.
    """
    rolls = []
    for count in dice:
        ordered = list(itertools.product(range(faces), repeat=count))
        counts = collections.Counter(tuple(sorted(roll)) for roll in ordered)
        rolls.append({roll: number / len(ordered) for roll, number in counts.items()})

    def holds(shown, bid):
        quantity, face = bid // faces + 1, bid % faces
        return sum(die in (face, faces - 1) for die in shown) >= quantity

    def best(responder, roll):
        bids = range(sum(dice) * faces)
        likely = [sum(p for other, p in rolls[1 - responder].items() if holds(roll + other, bid)) for bid in bids]
        following = {0: 0.0, 1: 0.0}  # by the player to move, with the highest bid made
        values = {0: [], 1: []}
        for last in reversed(range(-1, len(bids))):
            for mover in (0, 1):
                choices = list(values[mover])
                if last >= 0:
                    lost, won = worth[mover], worth[1 - mover]
                    called = likely[last] * lost + (1 - likely[last]) * won
                    choices.append(called if responder == 0 else -called)
                following[mover] = max(choices) if mover == responder else sum(choices) / len(choices)
            for mover in (0, 1):
                values[mover].append(following[1 - mover])
        return following[0]

    return sum(p * best(i, roll) for i in (0, 1) for roll, p in rolls[i].items()) / 2


@pytest.mark.parametrize("parameters", ["payoff=round", "payoff=match", "payoff=match,starts=winner"])
def test_exploitability_of_uniform_play_on_the_tree(parameters):
    tree = mccfr_plus.compile_game(f"bluff(dice1=2,dice2=1,faces=3,{parameters})")
    found = mccfr_plus.exploitability(tree, mccfr_plus.TreePolicy(tree, tree.uniform_strategy()))
    payoffs = sorted(set(np.asarray(tree.arrays.payoffs[:, 0]).tolist()))
    assert found == pytest.approx(uniform_play((2, 1), 3, tuple(payoffs)), abs=1e-12)


def test_payoffs_of_a_match_are_values_of_what_follows():
    # With two dice against one, the loser starts: (1, 1) by player 0 if player 0 loses; player 1 is out if it loses.
    value = mccfr_plus.game_value("bluff(dice1=1,dice2=1)", precision=1e-4)
    game = pyspiel.load_game("bluff(dice1=2,dice2=1)")
    lost, won = after(game, 1, 2, 8, 18).returns(), after(game, 1, 0, 0, 18).returns()
    assert value.lower <= lost[0] <= value.upper
    assert lost[1] == -lost[0]
    assert won == [1.0, -1.0]
    winner_starts = pyspiel.load_game("bluff(dice1=2,dice2=1,starts=winner)")
    assert after(winner_starts, 1, 2, 8, 18).returns()[0] == pytest.approx(-lost[0], abs=1e-12)


def test_values_that_are_not_kept_are_computed():
    game = pyspiel.load_game("bluff(dice1=2,dice2=1,faces=2)")
    value = mccfr_plus.game_value("bluff(dice1=1,dice2=1,faces=2)", precision=1e-6).middle
    lost = after(game, 0, 1, 5, 6)  # three 2s, and there is one
    assert lost.returns()[0] == pytest.approx(value, abs=2 * bluff.PRECISION)


def test_kept_values_are_between_bounds_of_a_new_computation():
    for kept in bluff._kept().values():
        if kept["game"].startswith("bluff(dice1=1,dice2=1,faces=6"):
            value = mccfr_plus.game_value(kept["game"], precision=1e-3)
            assert value.lower <= kept["upper"]
            assert kept["lower"] <= value.upper
        assert 0 <= kept["upper"] - kept["lower"] <= 2e-4


def test_number_of_histories_is_that_of_the_tree():
    for dice in ((1, 1), (2, 1), (1, 2), (2, 2)):
        tree = mccfr_plus.compile_game(f"bluff(dice1={dice[0]},dice2={dice[1]},faces=2,payoff=round)")
        assert tree.num_nodes == bluff.num_histories(*dice, 2)


@pytest.mark.parametrize(
    ("dice", "message"), [((6, 5), "66 bids.*at most 62"), ((3, 2), "with 2 and 2 dice, is unknown")]
)
def test_bad_parameters(dice, message):
    with pytest.raises((ValueError, pyspiel.SpielError), match=message):
        pyspiel.load_game(f"bluff(dice1={dice[0]},dice2={dice[1]})")
