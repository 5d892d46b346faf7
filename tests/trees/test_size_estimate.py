"""Estimates of sizes against exact enumeration, the solver's own counts, hand-computed numbers and theory's bounds."""

import json
import math
import time

import naive
import numpy as np
import pytest

import mccfr_plus
from mccfr_plus import ConfigError, GameError, estimate_size
from mccfr_plus.trees.arrays import TERMINAL
from mccfr_plus.trees.game import load_game
from mccfr_plus.trees.sizes import size
from mccfr_plus.trees.sizes.infoset_counts import InfosetCounts
from mccfr_plus.trees.sizes.size import interval_of, student_t
from mccfr_plus.trees.sizes.stratified_beam import StratifiedBeam, draw

SMALL = (
    "kuhn_poker",
    "kuhn_poker(players=3)",
    "leduc_poker",
    "tiny_hanabi",
    "matrix_rps",
    "goofspiel(imp_info=True,num_cards=3,points_order=descending)",
    "goofspiel(imp_info=True,num_cards=3,players=3,points_order=random)",
    "python_kuhn_poker",
    "one_card_poker(deck_size=9)",
)


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


def exact_masses(game):
    players = naive.game(game).num_players()
    return masses(naive.root_of(game), players, np.ones(3 + players))


def num_paying(game):
    tree = naive.tree_of(game)
    nodes = tree.arrays.nodes
    return int(tree.arrays.payoffs[nodes["payload"][nodes["kind"] == TERMINAL]].any(axis=1).sum())


# --- games that are counted ---


@pytest.mark.parametrize("game", SMALL)
def test_small_games_are_counted(game):
    statistics, found = naive.tree_of(game).statistics(), estimate_size(game, seed=1)
    assert found.is_exact
    assert found.is_complete
    assert found.num_runs == 1
    assert found.histories.value == pytest.approx(statistics.histories)
    assert found.histories.is_exact
    assert found.chance_nodes.value == pytest.approx(statistics.chance_nodes)
    assert found.terminal_nodes.value == pytest.approx(statistics.terminal_nodes)
    assert found.paying_nodes.value == pytest.approx(num_paying(game))
    assert [x.value for x in found.decision_nodes] == pytest.approx(statistics.decision_nodes)
    assert [b.seen for b in found.infosets] == [b.at_least for b in found.infosets] == statistics.infosets
    assert [10**b.at_most for b in found.infosets] == pytest.approx(statistics.infosets)
    assert list(found.most_actions) == statistics.max_actions
    assert found.longest_seen == statistics.max_history_length
    assert found.perfect_recall
    assert found.slots_per_infoset == pytest.approx(
        (sum(statistics.sequences) - len(statistics.sequences)) / sum(statistics.infosets)
    )


@pytest.mark.parametrize("game", SMALL)
def test_sums_of_sampled_walks_are_those_of_the_definition(game):
    found, exact = estimate_size(game, seed=1), exact_masses(game)
    assert found.chance_sampled.value == pytest.approx(exact[1])
    assert found.played.value == pytest.approx(exact[2])
    assert found.mean_length == pytest.approx(exact[2] - 1)
    assert [x.value for x in found.external] == pytest.approx(exact[3:])
    assert found.nodes_per_iteration("external").value == pytest.approx(exact[3:].sum())
    for scheme, which in (("full", 0), ("chance", 1), ("outcome", 2)):
        assert found.nodes_per_iteration(scheme).value == pytest.approx(exact[which] * len(found.external))


def test_kuhn_poker_by_hand():
    # Both cards dealt: 2 histories and player 0's node. For player 0: both actions, of player 1's replies one; a pass
    # that is bet upon, every second time, comes back to player 0, who has two actions. For player 1 likewise.
    found = estimate_size("kuhn_poker")
    assert [x.value for x in found.external] == pytest.approx([3 + 2 + 1 + 0.5 * 1 + 0.5 * 3, 3 + 1 + 2 + 0.5 * 1])
    assert found.mean_actions == pytest.approx((2.0, 2.0))
    # Of 5 bets and passes' sequences 2 have two moves, which are 3 with a pass and a bet.
    assert found.mean_length == pytest.approx(2 + 2 + 0.25)


@pytest.mark.parametrize("estimator", ["external", "chance", "outcome", "full"])
@pytest.mark.parametrize("game", ["kuhn_poker", "kuhn_poker(players=3)"])
def test_nodes_per_iteration_are_what_a_fresh_solver_touches(game, estimator):
    count = 2000 if estimator == "external" else 200
    touched = np.array(
        [
            mccfr_plus.Solver(
                naive.tree_of(game), f"{estimator}(epsilon=1.0)" if estimator == "outcome" else estimator,
                "rm", alternating=False, seed=seed,
            )
            .run(1)
            .nodes_touched
            for seed in range(count)
        ]
    )  # fmt: skip
    expected = estimate_size(game).nodes_per_iteration(estimator).value
    assert abs(touched.mean() - expected) <= 5 * touched.std() / math.sqrt(count) + 1e-9


def test_imperfect_recall_is_noticed():
    game = "dark_hex(num_rows=2,num_cols=3)"
    assert not mccfr_plus.compile_game(game).perfect_recall
    assert not estimate_size(game, sample_size=5_000, seed=1).perfect_recall


def test_imperfect_recall_that_was_seen_once_stays_seen():
    counts = InfosetCounts(2)
    for past in (1, 2):
        counts.begin_run()
        counts.add(0, "text", past, 2)
    counts.clear()
    counts.begin_run()
    counts.add(0, "text", 1, 2)
    assert not counts.perfect_recall
    assert counts.seen(0) == 1


# --- beams ---


@pytest.mark.parametrize(("game", "width", "count"), [("kuhn_poker", 3, 600), ("leduc_poker", 12, 250)])
@pytest.mark.parametrize("pilots", [0, 4])
def test_beams_are_unbiased(game, width, count, pilots):
    beam = StratifiedBeam(load_game(game), np.random.default_rng(5))
    for _ in range(pilots):
        beam.run(width, learn=True)
    runs = [beam.run(width) for _ in range(count)]
    assert not any(run.is_exact for run in runs)
    statistics = naive.tree_of(game).statistics()
    counts = [statistics.terminal_nodes, statistics.chance_nodes, *statistics.decision_nodes]
    paying = num_paying(game)
    for found, exact in (
        (np.exp([[run.paying] for run in runs]), np.array([paying], float)),
        (np.exp([run.measures for run in runs]), exact_masses(game)),
        (np.exp([run.kinds for run in runs]), np.array(counts, float)),
    ):
        error = found.std(axis=0, ddof=1) / math.sqrt(count)
        assert (abs(found.mean(axis=0) - exact) <= 5 * error + 1e-9 * exact).all()


def test_the_pilot_estimate_reduces_the_spread():
    # In Liar's dice the bid tells how much lies below it. Without pilots, the spread of logarithms is about 0.3.
    rng, loaded = np.random.default_rng(1), load_game("liars_dice")
    spread = []
    for pilots in (0, 12):
        beam = StratifiedBeam(loaded, rng)
        for _ in range(pilots):
            beam.run(128, learn=True)
        runs = [beam.run(128) for _ in range(12)]
        spread.append(np.std([run.measures[0] for run in runs]))
    assert spread[1] < spread[0] / 2


def test_a_draw_keeps_each_candidate_with_the_probability_it_says():
    rng = np.random.default_rng(2)
    weights = np.array([0.5, 0.2, 0.1, 0.05, 0.05, 0.04, 0.03, 0.02, 0.005, 0.005])
    kinds = np.arange(10) % 3
    seen, said, count = np.zeros(10), np.zeros(10), 4000
    for _ in range(count):
        kept, probability = draw(weights, kinds, 4, rng)
        assert len(kept) in (3, 4, 5)
        assert (np.diff(kept) > 0).all()
        seen[kept] += 1
        said[kept] = probability
    # 0.5 of 1 is more than a place of 4, and then 0.2 of 0.5 more than one of 3: both are always kept.
    assert said == pytest.approx(np.minimum(1.0, weights / 0.15))
    assert (abs(seen / count - said) <= 5 * np.sqrt(said * (1 - said) / count) + 1e-12).all()


# --- intervals ---


@pytest.mark.parametrize(
    ("freedom", "quantile"), [(1, 12.7062), (2, 4.30265), (3, 3.18245), (4, 2.77645), (19, 2.09302), (1000, 1.96234)]
)
def test_quantiles_of_students_t(freedom, quantile):
    assert student_t(0.975, freedom) == pytest.approx(quantile, rel=1e-5)


def test_intervals_by_hand():
    # Logarithms 1, 2, 3: variance 1, centre 2 + 1/2, width sqrt(1/3 + 1/4), t of 2 degrees of freedom 4.3027.
    found = interval_of([1.0, 2.0, 3.0], 0.95)
    assert found.value == pytest.approx((math.e + math.e**2 + math.e**3) / 3)
    assert found.high * math.log(10) == pytest.approx(2.5 + 4.30265 * math.sqrt(7 / 12))
    assert found.low * math.log(10) == pytest.approx(2.5 - 4.30265 * math.sqrt(7 / 12), rel=1e-4)
    # Variance 16: the lower limit of the formula is 13 - 4.30 sqrt(16 / 3 + 64) < -22, and Markov's is higher.
    found = interval_of([1.0, 5.0, 9.0], 0.95)
    assert found.low == pytest.approx(found.log10 + math.log10(0.025))
    assert interval_of([1.0, 2.0, 3.0], 0.95, least=0.9).low == pytest.approx(0.9 / math.log(10))


def test_no_upper_limit_where_estimates_differ_by_orders_of_magnitude():
    found = interval_of([1.0, 200.0, 700.0], 0.95)
    assert found.high == math.inf
    assert found.log10 == pytest.approx((700 - math.log(3)) / math.log(10))
    assert interval_of([5.0], 0.95).high == math.inf


@pytest.mark.parametrize("spread", [0.1, 0.5, 1.0])
def test_intervals_cover_the_mean_of_a_log_normal_distribution(spread):
    rng, count = np.random.default_rng(3), 2000
    covers = 0
    for _ in range(count):
        found = interval_of(rng.normal(0.0, spread, 20), 0.95)
        covers += found.low <= spread**2 / 2 / math.log(10) <= found.high
    # Olsson 2005, table 1: 94 to 96 % for n = 20.
    assert abs(covers / count - 0.95) < 0.01 + 5 * math.sqrt(0.95 * 0.05 / count)


@pytest.mark.slow
@pytest.mark.parametrize("game", ["leduc_poker", "liars_dice"])
def test_intervals_cover_the_number_of_histories(game):
    loaded, repeats = load_game(game), 60
    truth = math.log10(mccfr_plus.compile_game(game).num_nodes)
    covers = 0
    for seed in range(repeats):
        beam = StratifiedBeam(loaded, np.random.default_rng(seed))
        for _ in range(4):
            beam.run(64, learn=True)
        logs = [float(beam.run(64).measures[0]) for _ in range(20)]
        found = interval_of(logs, 0.95)
        covers += found.low <= truth <= found.high
    assert covers / repeats >= 0.95 - 5 * math.sqrt(0.95 * 0.05 / repeats)


# --- infosets ---


def sight(runs):
    counts = InfosetCounts(2)
    for run in runs:
        counts.begin_run()
        for text in run:
            counts.add(0, text, 0, 2)
    return counts


def test_chaos_bound_by_hand():
    # Four runs; once: d, e, f, twice: b, c; thrice: a. D = 6, Q1 = 3, Q2 = 2: 6 + 3/4 x 9/4 = 7.6875.
    counts = sight(["ab", "abcd", "ace", "f"])
    unseen, ratio = 0.75 * 9 / 4, 1.5
    variance = 2 * (0.375 * ratio**2 + 0.75**2 * ratio**3 + 0.75**2 / 4 * ratio**4)
    factor = math.exp(1.959964 * math.sqrt(math.log(1 + variance / unseen**2)))
    assert counts.seen(0) == 6
    assert counts.seen(1) == 0
    assert counts.at_least(0, 0.95) == pytest.approx(6 + unseen / factor)
    assert counts.at_least(0, 1e-9) == pytest.approx(7.6875)
    assert counts.at_least(1, 0.95) == 0


def test_a_run_counts_an_infoset_once():
    assert sight(["aaab", "ab", "ab"]).at_least(0, 0.95) == 2
    assert sight(["aaab", "b"]).at_least(0, 0.95) < 3


@pytest.mark.parametrize("power", [0.0, 1.0])
def test_chaos_bound_is_below_the_truth(power):
    rng, truth, repeats = np.random.default_rng(4), 500, 200
    weights = np.arange(1, truth + 1.0) ** -power
    weights /= weights.sum()
    above = 0
    for _ in range(repeats):
        runs = [[str(i) for i in rng.choice(truth, 40, p=weights)] for _ in range(10)]
        found = sight(runs).at_least(0, 0.95)
        assert found > sight(runs).seen(0)
        above += found > truth
    # At most 2.5 %, with five standard errors of a binomial.
    assert above / repeats <= 0.025 + 5 * math.sqrt(0.025 * 0.975 / repeats)


def test_infosets_lie_between_their_limits():
    statistics = mccfr_plus.compile_game("liars_dice").statistics()
    found = estimate_size("liars_dice", sample_size=20_000, confidence=0.9999, seed=1)
    assert not found.is_exact
    for bounds, truth in zip(found.infosets, statistics.infosets, strict=True):
        assert bounds.seen <= bounds.at_least <= truth <= 10**bounds.at_most


# --- games of every size ---


def test_a_large_game_whose_size_is_known():
    # Four dice, then any subset of 24 bids in ascending order, after which somebody may call.
    truth = math.log10(6**4 * (2**25 - 1) + 1 + 6 + 36 + 216)
    loaded = load_game("liars_dice(numdice=2)")
    beam = StratifiedBeam(loaded, np.random.default_rng(1))
    for _ in range(8):
        beam.run(96, learn=True)
    logs = [float(beam.run(96).measures[0]) for _ in range(20)]
    interval = interval_of(logs, 0.9999)
    assert interval.low <= truth <= interval.high
    assert interval.high - interval.low < 2
    found = estimate_size(loaded, sample_size=20_000, seed=1)
    assert abs(found.histories.log10 - truth) < 3
    assert not found.fits(50_000_000, 8 << 30)


@pytest.mark.parametrize("game", ["chess", "phantom_ttt", "dark_hex(num_rows=4,num_cols=3)"])
def test_large_games_are_quick_and_finite(game):
    begin = time.process_time()
    found = estimate_size(game, sample_size=5_000, seed=1)
    assert time.process_time() - begin < 20
    assert 8 < found.histories.low <= found.histories.log10 < 2000
    assert not found.fits(10**9, 1 << 40)
    json.dumps(found.as_dict(), allow_nan=False)
    assert found.compiled_bytes().log10 > found.histories.log10
    assert all(math.isfinite(found.nodes_per_iteration(name).log10) for name in ("full", "chance", "external"))
    assert not math.isnan(found.solver_bytes().high)


@pytest.mark.parametrize("game", ["phantom_ttt", "liars_dice", "dark_hex(num_rows=2,num_cols=3)", "kuhn_poker"])
def test_the_seed_decides_whatever_the_speed_of_the_machine(game, monkeypatch):
    first = estimate_size(game, sample_size=3_000, seed=7)
    monkeypatch.setattr(StratifiedBeam, "_root", slow(StratifiedBeam._root))
    second = estimate_size(game, sample_size=3_000, seed=7)
    assert first == second
    assert not first.is_cut_off
    if not first.is_exact:
        assert first != estimate_size(game, sample_size=3_000, seed=8)


def slow(function):
    """Returns a function that sleeps before it does its work, in the first second."""
    end = time.monotonic() + 1

    def sleeping(*arguments):
        if time.monotonic() < end:
            time.sleep(0.03)
        return function(*arguments)

    return sleeping


def test_a_sample_has_the_size_that_was_asked_for():
    for size_asked in (2_000, 20_000):
        found = estimate_size("phantom_ttt", sample_size=size_asked, seed=1)
        assert size_asked <= found.num_nodes_seen < 1.2 * size_asked
        assert found.num_runs >= 15


def test_fits_is_exact_for_a_counted_game():
    found = estimate_size("kuhn_poker")
    nbytes = 10 ** found.compiled_bytes().log10 + 10 ** found.solver_bytes().log10
    assert found.fits(58, nbytes)
    assert not found.fits(57, nbytes)
    assert not found.fits(58, nbytes - 1)


def test_games_with_compiled_rules():
    found = estimate_size("bid_goofspiel(num_cards=3)", seed=1)
    assert found.has_compiled_rules
    assert found.histories.is_exact
    assert found.compile_seconds().value == pytest.approx(found.histories.value * size.RULES_SECONDS_PER_NODE)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"sample_size": 0}, "sample_size=0: must be a whole number above 0"),
        ({"sample_size": 1.5}, "sample_size=1.5"),
        ({"sample_size": math.inf}, "sample_size=inf"),
    ],
)
def test_bad_arguments(arguments, text):
    with pytest.raises(ConfigError, match=text):
        estimate_size("kuhn_poker", **arguments)


def test_bad_games_and_estimators():
    with pytest.raises(GameError, match="did you mean kuhn_poker"):
        estimate_size("kuhn_pokr")
    with pytest.raises(ConfigError, match="full, chance, external, outcome"):
        estimate_size("kuhn_poker").nodes_per_iteration("externl")
