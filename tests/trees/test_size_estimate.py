"""Estimates of sizes: exact counts, unbiased beams, intervals that cover the truth, limits, and errors."""

import json
import math

import naive
import numpy as np
import pytest

import mccfr_plus
from mccfr_plus import estimate_size
from mccfr_plus.trees.loading import load_game
from mccfr_plus.trees.size_estimate import Sampler, interval_of

SMALL = ("kuhn_poker", "kuhn_poker(players=3)", "leduc_poker", "python_kuhn_poker")
SMALL += ("goofspiel(imp_info=True,num_cards=3,players=3,points_order=random)",)


def masses(node, num_players, mass):
    """Returns the sums over all histories below: all, with chance sampled, in random play, and external per player."""
    total = mass.copy()
    for index, child in enumerate(node.children):
        below = mass.copy()
        if node.player == naive.CHANCE:
            below[1:] *= node.probabilities[index]
        else:
            below[2:] /= len(node.children)
            below[3 + node.player] *= len(node.children)
        total += masses(child, num_players, below)
    return total


def exact_visits(game):
    """Returns the histories that one traversal visits, in the order of `ESTIMATORS`."""
    players = naive.game(game).num_players()
    full, chance, outcome, *external = masses(naive.root_of(game), players, np.ones(3 + players))
    return np.array([full, chance, np.mean(external), outcome])


def exact_kinds(game):
    statistics = naive.tree_of(game).statistics()
    return np.array([statistics.terminal_nodes, statistics.chance_nodes, *statistics.decision_nodes], float)


@pytest.mark.parametrize("game", SMALL)
def test_small_games_are_counted(game):
    statistics, found = naive.tree_of(game).statistics(), estimate_size(game, seed=1)
    assert found.is_exact
    kinds = [found.terminal_nodes, found.chance_nodes, *found.decision_nodes]
    assert [each.value for each in kinds] == pytest.approx(exact_kinds(game))
    assert [each.value for each in found.traversals.values()] == pytest.approx(exact_visits(game))
    assert found.histories.value == pytest.approx(statistics.histories)
    assert list(found.infosets_seen) == statistics.infosets
    assert found.depth == statistics.max_history_length
    assert found.perfect_recall


@pytest.mark.parametrize("estimator", ["external", "chance", "outcome", "full"])
def test_nodes_per_iteration_are_what_a_fresh_solver_touches(estimator, interpreted_loops):
    name, count = (
        f"{estimator}(epsilon=1.0)" if estimator == "outcome" else estimator,
        2 if estimator == "full" else 200,
    )
    tree = naive.tree_of("kuhn_poker(players=3)")
    solvers = (mccfr_plus.Solver(tree, name, "rm", alternating=False, seed=seed) for seed in range(count))
    touched = np.array([solver.run(1).nodes_touched for solver in solvers])
    expected = estimate_size("kuhn_poker(players=3)").nodes_per_iteration(estimator).value
    assert abs(touched.mean() - expected) <= 5 * touched.std() / math.sqrt(count) + 1e-9


def test_imperfect_recall_is_noticed():
    assert not estimate_size("dark_hex(num_rows=2,num_cols=3)", sample_size=5_000, seed=1).perfect_recall


@pytest.mark.parametrize(("game", "width", "count"), [("kuhn_poker", 3, 600), ("leduc_poker", 12, 250)])
def test_beams_are_unbiased(game, width, count):
    sampler = Sampler(load_game(game), np.random.default_rng(5))
    beams = [sampler.beam(width) for _ in range(count)]
    assert not any(beam.is_exact for beam in beams)
    for logs, exact in (
        ([beam.logs[-4:] for beam in beams], exact_visits(game)),
        ([beam.logs[:-4] for beam in beams], exact_kinds(game)),
    ):
        found = 10 ** np.array(logs)
        error = found.std(axis=0, ddof=1) / math.sqrt(count)
        assert (abs(found.mean(axis=0) - exact) <= 5 * error + 1e-9 * exact).all()


@pytest.mark.parametrize("game", ["leduc_poker", "liars_dice(dice_sides=4)"])
def test_intervals_cover_the_truth(game):
    loaded, truth = load_game(game), math.log10(mccfr_plus.compile_game(game).num_nodes)
    found = [estimate_size(loaded, sample_size=1_500, seed=seed).histories for seed in range(20)]
    assert not any(each.is_exact for each in found)
    # A percentile bootstrap from twenty beams covers somewhat less than 95%. With 85%, 10 of 20 or fewer happen
    # once in 4,000 times.
    assert sum(each.low <= truth <= each.high for each in found) > 10


def test_a_large_game_whose_size_is_known():
    # Four dice, then any subset of 24 bids in ascending order, after which somebody may call.
    truth = math.log10(6**4 * (2**25 - 1) + 1 + 6 + 36 + 216)
    found = estimate_size("liars_dice(numdice=2)", sample_size=20_000, seed=1)
    assert found.histories.low <= truth <= found.histories.high
    assert not found.fits(50_000_000, 8 << 30)


@pytest.mark.parametrize("game", ["chess", "phantom_ttt"])
def test_numbers_of_large_games_are_finite(game):
    found = estimate_size(game, sample_size=5_000, seed=1)
    assert 8 < found.histories.low <= found.histories.log10 < 2000
    assert not found.fits(10**9, 1 << 40)
    json.dumps(found.as_dict(), allow_nan=False)
    assert all(math.isfinite(found.nodes_per_iteration(name).log10) for name in ("full", "chance", "external"))


def test_intervals_by_hand():
    assert interval_of([2.0], is_exact=True) == (2.0, 2.0, 2.0)
    assert interval_of([-math.inf, -math.inf]).value == 0.0
    found = interval_of([1.0, 1.0, 2.0, 2.0])
    assert 10**found.log10 == pytest.approx(55.0)
    assert (found.low, found.high) == pytest.approx((1.0, 2.0))  # all four of one kind: in 6% of the resamples
    assert interval_of([-math.inf, 2.0]).value == pytest.approx(50.0)
    assert interval_of([1.0, 80.0, 300.0]).high == math.inf  # too far apart for an upper limit
    assert interval_of([5.0]) == pytest.approx((5.0, 5.0 + math.log10(0.025), math.inf))


def test_the_time_limit():
    found = estimate_size("phantom_ttt", sample_size=10**9, seconds=0.5, seed=1)
    assert found.visited < 10**7
    found = estimate_size("phantom_ttt", seconds=1e-6, seed=1)
    assert found.visited < 50_000
    assert found.histories.high == math.inf
    assert not found.fits(10**9, 10**12)
