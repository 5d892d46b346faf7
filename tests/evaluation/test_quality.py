"""What a time of play tells about a policy, against exact numbers, and what is left out where it does not suffice."""

import random
import time

import numpy as np
import pytest

import mccfr_plus
from mccfr_plus.errors import BudgetError, ConfigError, PolicyError
from mccfr_plus.evaluation import Estimate, ExploitabilityBound, estimate_quality, quality
from mccfr_plus.evaluation.behavior import Behavior
from mccfr_plus.evaluation.estimates import sum_of
from mccfr_plus.evaluation.local_best_response import LocalResponses
from mccfr_plus.evaluation.lookahead import Lookahead
from mccfr_plus.evaluation.play import Stop
from mccfr_plus.evaluation.quality import local_bound


def standard_error(estimate):
    return estimate.half_width / 1.96


@pytest.mark.parametrize("game", ["leduc_poker", "kuhn_poker(players=3)", "liars_dice(dice_sides=3)"])
def test_bounds_are_on_their_side_of_the_exact_numbers(game):
    tree = mccfr_plus.compile_game(game)
    exact = mccfr_plus.evaluate(tree, mccfr_plus.TreePolicy(tree, tree.uniform_strategy()))
    result = estimate_quality(game, {}, seconds=1.0, seed=1)
    kinds = set()
    for found in result.findings:
        estimate = found.estimate
        right = exact.exploitability
        if found.quantity == "value":
            right = exact.values[found.player]
        elif found.quantity == "best response":
            right = exact.best_response_values[found.player]
        room = 5 * standard_error(estimate)
        if estimate.kind in ("lower bound", "estimate"):
            assert estimate.value - room <= right, found
        if estimate.kind in ("upper bound", "estimate"):
            assert estimate.value + room >= right, found
        kinds.add((found.quantity, estimate.kind))
    assert ("exploitability", "lower bound") in kinds


def test_sum_of_is_the_rule_for_independent_terms():
    """By hand: 2 * 1 - 3 * 2 + 1 = -3, half widths 2 * 0.3 = 0.6 and 3 * 0.8 / 3 = 0.8: together 1."""
    parts = [
        Estimate(1.0, 0.7, 1.3, "lower bound", 0.95, 10, 1.0),
        Estimate(2.0, 2 - 0.8 / 3, 2 + 0.8 / 3, "estimate", 0.95, 5, 2.0),
    ]
    total = sum_of(parts, [2.0, -3.0], 1.0, "lower bound")
    assert total[:3] == pytest.approx((-3.0, -4.0, -2.0))
    assert total[3:] == ("lower bound", 0.95, 15, 3.0)


def test_looks_as_far_as_the_time_allows(monkeypatch):
    """Time stands still but for games, of 1 ms and 1 ms more for each history that a belief may have."""
    clock, seen = [0.0], []

    def bound(responses, choices):
        choices = list(choices)
        lookahead, stop = choices[0].lookahead, responses.stop
        begin, games, each = clock[0], 0, 1e-3 * (1 + lookahead.max_histories)
        while games < 4 or clock[0] - begin < 2 * stop.seconds:
            clock[0] += each
            games += 1
            if clock[0] > stop.deadline:
                raise BudgetError("too late")
        seen.append((lookahead, clock[0] - begin))
        value = float(lookahead.max_histories)  # the best is the largest that was tried
        estimate = Estimate(value, value, value, "lower bound", stop.confidence, games, (clock[0] - begin) / 2)
        return ExploitabilityBound(estimate, (estimate, estimate))

    monkeypatch.setattr(quality.time, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(LocalResponses, "bound", bound)
    game, rng = mccfr_plus.load_game("kuhn_poker"), np.random.default_rng(1)

    def used(seconds):
        clock[0], seen[:] = 0.0, []
        found = quality._local_bound(game, {}, seconds, confidence=0.95, seed=rng, progress=False)
        assert clock[0] < 1.2 * seconds
        return found and seen[-1][0].max_histories

    assert used(1e4) == Lookahead().max_histories
    assert 500 < used(60.0) < 60 * 1000 / 40
    assert used(0.2) == 4  # the coarsest
    assert used(0.01) is None


def test_the_last_look_plays_what_promised_most_and_the_best_of_all_is_returned(monkeypatch):
    looks = []

    def bound(responses, choices):
        choices, stop = list(choices), responses.stop
        looks.append((choices, stop.confidence))
        # Player 0 does best in the first look, player 1 in the second; the last look is worse than the second.
        values = [(0.5, 0.1), (0.4, 0.3), (0.0, 0.0)][min(len(looks) - 1, 2)]
        of_players = [Estimate(v, v - 0.01, v + 0.01, "lower bound", stop.confidence, 1000, 0.01) for v in values]
        return ExploitabilityBound(of_players[1]._replace(value=sum(values), low=sum(values) - 0.1), tuple(of_players))

    monkeypatch.setattr(LocalResponses, "bound", bound)
    game, rng = mccfr_plus.load_game("kuhn_poker"), np.random.default_rng(1)
    found = quality._local_bound(game, {}, 1.0, confidence=0.9, seed=rng, progress=False)
    assert len(looks) > 2
    assert looks[-1][0] == [looks[0][0][0], looks[1][0][1]]
    assert len({choice.seed for choices, _ in looks[:-1] for choice in choices}) == 2 * (len(looks) - 1)
    assert sum(1 - confidence for _, confidence in looks) <= 0.1
    assert (found.estimate.value, found.estimate.confidence) == (pytest.approx(0.7), 0.9)
    assert [response.value for response in found.responses] == [0.5, 0.3]


def test_a_machine_that_is_held_up_between_two_looks(monkeypatch):
    """The last look, for which no time is left then, plays the fewest games."""
    clock, seconds = [0.0], []

    def bound(responses, choices):
        seconds.append(responses.stop.seconds)
        clock[0] += 2.0
        estimate = Estimate(0.1, 0.1, 0.1, "lower bound", responses.stop.confidence, 2, 2.0)
        return ExploitabilityBound(estimate, (estimate, estimate))

    monkeypatch.setattr(quality.time, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(LocalResponses, "bound", bound)
    game, rng = mccfr_plus.load_game("kuhn_poker"), np.random.default_rng(1)
    assert quality._local_bound(game, {}, 1.0, confidence=0.95, seed=rng, progress=False)
    assert len(seconds) == 2
    assert 0 < seconds[-1] < 1e-6


def test_gives_up_looking_ahead_after_the_deadline():
    game = mccfr_plus.load_game("kuhn_poker")
    stop, behavior = Stop(10, None, 0.95, False, deadline=time.perf_counter()), Behavior(game, {})
    responses = LocalResponses(game, behavior, behavior, stop, random.Random(1))
    with pytest.raises(BudgetError, match="takes too long"):
        responses.bound(responses.choices(Lookahead()))


def test_a_game_too_long_for_looking_ahead_takes_no_longer():
    begin = time.process_time()
    assert local_bound("battleship", {}, 0.5, seed=1) is None
    assert time.process_time() - begin < 10.0


def test_a_function_from_states_is_a_policy():
    result = estimate_quality("kuhn_poker", lambda state: {state.legal_actions()[0]: 1.0}, seconds=0.5, seed=1)
    for found in result.findings[:2]:  # both players pass, so that the higher card wins 1: the mean is 0
        assert abs(found.estimate.value) <= 5 * standard_error(found.estimate)
    (bound,) = (f for f in result.findings if f.quantity == "exploitability" and f.method == "local best response")
    assert bound.estimate.value == pytest.approx(1.0, abs=5 * standard_error(bound.estimate) + 1e-9)


@pytest.mark.parametrize("options", [{"seconds": 0}, {"seconds": float("inf")}, {"seconds": "5"}, {"confidence": 0.2}])
def test_bad_numbers(options):
    with pytest.raises(ConfigError):
        estimate_quality("kuhn_poker", {}, **options)


def test_bad_policy():
    with pytest.raises(PolicyError):
        estimate_quality("kuhn_poker", 7, seconds=0.5)
