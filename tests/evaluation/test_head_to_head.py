"""Head to head: unbiased game by game, less variance, intervals that hold."""

import math
import random

import naive
import numpy as np
import pytest
from references import LIMIT, random_policy, score

from mccfr_plus import expected_values
from mccfr_plus.evaluation import head_to_head
from mccfr_plus.evaluation.play import ControlledPlay
from mccfr_plus.evaluation.strategies import Behavior

REDUCTION = {"kuhn_poker": 20.0, "leduc_poker": 2.0}  # at least, of the variance, in 20,000 games


def exact_by_seat(game, first, second):
    tree = naive.tree_of(game)
    players = range(tree.num_players)
    return [expected_values(tree, [first if p == s else second for p in players])[s] for s in players]


@pytest.mark.parametrize("game", REDUCTION)
def test_unbiased_with_less_variance(game):
    first, second = random_policy(game, 1), random_policy(game, 2)
    result = head_to_head(game, first, second, num_games=20_000, seed=1)
    exact = exact_by_seat(game, first, second)
    assert abs(score(result.estimate, np.mean(exact))) < LIMIT
    assert abs(score(result.plain, np.mean(exact))) < LIMIT
    for seat, value in zip(result.by_seat, exact, strict=True):
        assert abs(score(seat, value)) < LIMIT
    assert result.variance_reduction > REDUCTION[game]
    assert result.estimate.kind == "estimate"
    assert result.estimate.samples == 20_000


def test_intervals_hold_from_few_games_on():
    """Scores of many short matches are standard normal: a small bias would add up, a wrong width would show."""
    first, second = random_policy("kuhn_poker", 3), random_policy("kuhn_poker", 4)
    exact = np.mean(exact_by_seat("kuhn_poker", first, second))
    scores = [
        score(head_to_head("kuhn_poker", first, second, num_games=400, seed=seed).estimate, exact) for seed in range(60)
    ]
    assert abs(np.mean(scores)) < LIMIT / math.sqrt(len(scores))
    assert abs(np.mean(np.square(scores)) - 1) < LIMIT * math.sqrt(2 / len(scores))


def test_each_control_variate_has_mean_zero(monkeypatch):
    monkeypatch.setattr("mccfr_plus.evaluation.play._MAX_NODES", 2000)
    game = naive.tree_of("leduc_poker").game
    policy = random_policy("leduc_poker", 1)
    play = ControlledPlay(game, Behavior(game, policy).row, 0, random.Random(1))
    for _ in range(1000):
        play.play()
    pending, seen = [play._root], 0
    while pending:
        place = pending.pop()
        controls = [place.control(index) for index in range(len(place.row.actions))]
        pending.extend(child for child in place.children.values() if child is not None)
        if None in controls:
            assert controls == [None] * len(controls)
            continue
        assert len({(group, expected) for group, _, expected in controls}) == 1
        mean = sum(p * control for p, (_, control, _) in zip(place.row.probabilities, controls, strict=True))
        assert mean == pytest.approx(0.0, abs=1e-9)
        seen += any(abs(control) > 0.1 for _, control, _ in controls)
    assert seen > 100


def test_values_become_exact():
    """On Kuhn poker all histories are met, and what is left to vary vanishes."""
    game = naive.tree_of("kuhn_poker").game
    policy = random_policy("kuhn_poker", 1)
    play = ControlledPlay(game, Behavior(game, policy).row, 0, random.Random(1))
    for _ in range(5000):
        play.play()
    exact = expected_values(naive.tree_of("kuhn_poker"), policy)[0]
    assert play._root.value == pytest.approx(exact, abs=0.01)
    late = [play.play() for _ in range(500)]
    assert np.var([payoff for payoff, _ in late]) > 1
    assert np.var([corrected for _, corrected in late]) < 0.01


def test_three_players_in_all_seats():
    name = "kuhn_poker(players=3)"
    first, second = random_policy(name, 1), random_policy(name, 2)
    result = head_to_head(name, first, second, num_games=9000, seed=1)
    assert len(result.by_seat) == 3
    assert abs(score(result.estimate, np.mean(exact_by_seat(name, first, second)))) < LIMIT
    assert result.variance_reduction > 2


def test_simultaneous_moves():
    result = head_to_head("matrix_pd", {}, {}, num_games=2000, seed=1)
    assert abs(score(result.estimate, (5 + 0 + 10 + 1) / 4)) < LIMIT
