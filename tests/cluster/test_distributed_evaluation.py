"""Evaluations on a cluster give the same bits as in one process, however they are cut."""

import statistics

import numpy as np
import pytest

from mccfr_plus import ConfigError, GameError, Solver, compile_game, evaluate
from mccfr_plus.cluster import DistributedEvaluator, head_to_head
from mccfr_plus.cluster.evaluation import cut
from mccfr_plus.errors import PolicyError
from mccfr_plus.evaluation import head_to_head as head_to_head_here
from mccfr_plus.evaluation.estimates import Running


@pytest.mark.parametrize("game", ["leduc_poker", "kuhn_poker(players=3)", "liars_dice(dice_sides=4)"])
@pytest.mark.parametrize("pieces", [1, 7])
def test_results_are_identical_however_tables_are_cut(cluster, game, pieces):
    tree = compile_game(game)
    policy = Solver(tree, "external", seed=1).run(50).average_policy()
    expected = evaluate(tree, policy)
    with DistributedEvaluator(tree, cluster, pieces=pieces) as evaluator:
        found = evaluator.evaluate(policy)
        assert found.nash_conv > 0.1
        assert found.values.tobytes() == expected.values.tobytes()
        assert found.best_response_values.tobytes() == expected.best_response_values.tobytes()
        # The pieces stay there for other policies.
        assert evaluator.evaluate(tree.uniform_strategy()).nash_conv != found.nash_conv


def test_pieces_are_about_equal_and_no_more_than_the_table():
    arrays = compile_game("leduc_poker").arrays_with_leaves
    pieces = cut(arrays, 8)
    sizes = [len(piece.arrays.leaf_value) for piece in pieces]
    assert sum(sizes) == len(arrays.leaf_value)
    assert len(pieces) <= 8 + 2
    assert max(sizes) < 1.5 * statistics.mean(sizes)
    assert all(len(piece.arrays.nodes) == 0 for piece in pieces)


def test_numbers_of_pieces_that_make_no_sense(cluster):
    with pytest.raises(ConfigError, match="pieces=0: must be a whole number, at least 1"):
        DistributedEvaluator("kuhn_poker", cluster, pieces=0)


def test_a_policy_that_does_not_fit(cluster):
    with DistributedEvaluator("kuhn_poker", cluster) as evaluator, pytest.raises(PolicyError):
        evaluator.evaluate({"nowhere": {0: 1.0}})


def policies():
    folds = {f"{card}{bet}": {0: 1.0} for card in "012" for bet in ("b", "pb")}
    bets = {f"{card}{seen}": {0: 0.5, 1: 0.5} for card in "012" for seen in ("", "p")}
    return Solver("kuhn_poker", "full", "rm+").run(100).average_policy(), folds | bets


def test_a_match_in_batches(cluster):
    first, second = policies()
    found = head_to_head("kuhn_poker", first, second, cluster=cluster, num_games=4000, num_batches=4, seed=1)
    again = head_to_head("kuhn_poker", first, second, cluster=cluster, num_games=4000, num_batches=4, seed=1)
    other = head_to_head("kuhn_poker", first, second, cluster=cluster, num_games=4000, num_batches=4, seed=2)
    assert found.estimate[:3] == again.estimate[:3] != other.estimate[:3]
    assert found.estimate.samples == 4000
    # The exact number, within the interval's width times what makes a false alarm one in 10^9.
    values = [evaluate("kuhn_poker", seats).values for seats in ([first, second], [second, first])]
    exact = (values[0][0] + values[1][1]) / 2
    assert abs(found.estimate.value - exact) < 3.2 * found.estimate.half_width + 1e-9
    assert abs(found.plain.value - exact) < 3.2 * found.plain.half_width
    here = head_to_head_here("kuhn_poker", first, second, num_games=4000, seed=1)
    assert found.plain.half_width == pytest.approx(here.plain.half_width, rel=0.1)


def test_batches_have_different_games(cluster):
    """If all batches were the same games, means would be those of one batch, and the interval too narrow."""
    first, second = policies()
    one = head_to_head("kuhn_poker", first, second, cluster=cluster, num_games=400, num_batches=1, seed=1)
    four = head_to_head("kuhn_poker", first, second, cluster=cluster, num_games=1600, num_batches=4, seed=1)
    assert one.plain.value != four.plain.value


def test_runs_are_merged_as_if_they_were_one():
    rng = np.random.default_rng(1)
    numbers = rng.normal(3.0, 2.0, 50).tolist()
    whole, parts = Running(), [Running() for _ in range(3)]
    for index, number in enumerate(numbers):
        whole.add(number)
        parts[0 if index < 10 else 1].add(number)
    merged = Running()
    for part in parts:  # the last one is empty
        merged.merge(part)
    assert merged.count == 50
    assert merged.mean == pytest.approx(statistics.mean(numbers), rel=1e-14)
    assert merged.variance == pytest.approx(statistics.variance(numbers), rel=1e-13)


def test_matches_that_make_no_sense(cluster):
    with pytest.raises(ConfigError, match="num_batches=0"):
        head_to_head("kuhn_poker", {}, {}, cluster=cluster, num_batches=0)
    with pytest.raises(PolicyError):
        head_to_head("kuhn_poker", 7, {}, cluster=cluster)
    with pytest.raises(GameError):
        head_to_head("no_game", {}, {}, cluster=cluster)
