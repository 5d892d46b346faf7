"""Regret bounds against hand computations, enumeration, and the exact regret of real runs."""

import math

import naive
import numpy as np
import pytest

from mccfr_plus import FTRL, AverageStrategySampling, Hedge, PowerAverage, Solver, measured_regret, regret_bound
from mccfr_plus.bounds import regret, treeplex, why_no_bound
from mccfr_plus.bounds.treeplex import vertex_maximum
from mccfr_plus.evaluation.exact import own_reach
from mccfr_plus.minimizers.exponential_weights import SCHEMES, dilated_weights
from mccfr_plus.solver.config import ESTIMATORS, MINIMIZERS
from mccfr_plus.trees.game_tree import action_sequences

GAMES = ("kuhn_poker", *naive.RANDOM_GAMES)


def pure_plans(tree, player):
    """Returns the own reach of every pure strategy, reduced ones several times; skips games with too many."""
    own = slice(*tree.arrays.infoset_range[player : player + 2])
    if math.prod(tree.arrays.infosets["num_actions"][own].tolist()) > 20_000:
        pytest.skip("too many pure strategies to enumerate")
    return [reach_of(tree, strategy) for strategy in naive.pure_strategies(tree, player)]


def reach_of(tree, strategy):
    reach = np.empty(tree.num_slots + tree.num_players)
    own_reach(tree.arrays, strategy, reach)
    return reach


# --- sizes ---


def test_kuhn_by_hand():
    # Player 0: three cards at first, and the same three after pass-bet: 2 sqrt(3). Player 1: six infosets before any
    # own action: sqrt(6).
    tree = naive.tree_of("kuhn_poker")
    assert tree.statistics().m_values == pytest.approx([2 * math.sqrt(3), math.sqrt(6)])
    # Blocks below one sequence: three cards at first, then one infoset below each pass.
    assert treeplex.largest_m_value(tree, 0) == pytest.approx(math.sqrt(3) + 3)
    # Bet, or pass and one of two: 3 reduced strategies per card; two infosets of two actions per card.
    assert math.exp(treeplex.log_pure_strategies(tree, 0)) == pytest.approx(27)
    assert math.exp(treeplex.log_pure_strategies(tree, 1)) == pytest.approx(64)
    assert [treeplex.plan_norm(tree, p) for p in (0, 1)] == [6, 6]
    assert len(set(action_sequences(tree, 0).tolist())) == 2


@pytest.mark.parametrize("game", GAMES)
def test_maxima_over_plans_equal_enumeration(game):
    tree = naive.tree_of(game)
    rng = np.random.default_rng(0)
    gain, sequence_gain = rng.normal(size=tree.num_infosets), rng.normal(size=tree.num_slots + tree.num_players)
    weights = rng.uniform(1, 2, tree.num_infosets)
    parents, counts = tree.arrays.infosets["parent_slot"], tree.arrays.infosets["num_actions"]
    for player in range(tree.num_players):
        own = slice(*tree.arrays.infoset_range[player : player + 2])
        slots = slice(*tree.arrays.slot_range[player : player + 2])
        empty = tree.num_slots + player
        plans = pure_plans(tree, player)
        worth = [x[parents[own]] @ gain[own] + x[slots] @ sequence_gain[slots] + sequence_gain[empty] for x in plans]
        assert vertex_maximum(tree, player, gain, sequence_gain) == pytest.approx(max(worth))
        assert treeplex.plan_norm(tree, player) == pytest.approx(max(x[slots].sum() for x in plans))
        diameter = max((x[parents[own]] * weights[own] * np.log(counts[own])).sum() for x in plans)
        assert treeplex.dilated_diameter(tree, player, weights) == pytest.approx(diameter)
        different = len({x[slots].tobytes() for x in plans})
        assert treeplex.log_pure_strategies(tree, player) == pytest.approx(math.log(different))


# --- exploration ---


@pytest.mark.parametrize("game", ["leduc_poker", *GAMES])
def test_delta_is_the_rarest_leaf(game):
    tree, root, epsilon = naive.tree_of(game), naive.root_of(game), 0.6

    def rarest(node, player):
        if node.player == naive.TERMINAL:
            return 1.0
        share = epsilon / len(node.children) if node.player == player else 1.0
        return share * min(rarest(child, player) for child in node.children)

    for player in range(tree.num_players):
        assert treeplex.outcome_delta(tree, player, epsilon) == pytest.approx(rarest(root, player))


# --- dilated entropy ---


def dilated_entropy(tree, player, weights, plan):
    infosets, own = (slice(*ends[player : player + 2]) for ends in (tree.arrays.infoset_range, tree.arrays.slot_range))
    counts, above = tree.arrays.infosets["num_actions"][infosets], plan[tree.arrays.infosets["parent_slot"][infosets]]
    weights, shares = weights[infosets] * above, plan[own] / np.repeat(above, counts)
    return weights @ np.log(counts) + np.repeat(weights, counts) @ (shares * np.log(shares))


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("game", GAMES)
def test_dilated_entropy_is_as_convex_as_promised(game, scheme):
    # psi((x + y) / 2) <= (psi(x) + psi(y)) / 2 - modulus / 8 * |x - y|^2: x and y near one another are second
    # differences, far from one another the definition itself.
    tree, rng = naive.tree_of(game), np.random.default_rng(1)
    weights = dilated_weights(tree, scheme)
    for player in range(tree.num_players):
        own = slice(*tree.arrays.slot_range[player : player + 2])
        modulus = treeplex.strong_convexity(tree, player, weights)
        if own.start == own.stop:
            assert modulus == math.inf
            continue
        if scheme == "least":
            assert modulus == pytest.approx(1 / treeplex.plan_norm(tree, player))
        elif scheme == "kroer":
            assert modulus >= 1 / treeplex.plan_norm(tree, player) - 1e-12
        for trial in range(40):
            x = reach_of(tree, naive.random_strategy(tree, 2 * trial))
            y = reach_of(tree, naive.random_strategy(tree, 2 * trial + 1))
            if trial % 2:
                share = rng.uniform(0.02, 0.2)
                y = (1 - share) * x + share * y
            psi = [dilated_entropy(tree, player, weights, plan) for plan in (x, y, (x + y) / 2)]
            gap = (psi[0] + psi[1]) / 2 - psi[2]
            assert gap >= modulus / 8 * np.abs((x - y)[own]).sum() ** 2 - 1e-9
            if scheme != "constant":
                assert gap >= ((x - y)[own] ** 2).sum() / 8 - 1e-9
            assert -1e-12 <= psi[0] <= treeplex.dilated_diameter(tree, player, weights) + 1e-12
        uniform = reach_of(tree, tree.uniform_strategy())
        assert dilated_entropy(tree, player, weights, uniform) == pytest.approx(0)


# --- regret ---


@pytest.mark.parametrize("alternating", [True, False])
@pytest.mark.parametrize("game", ["kuhn_poker", "random:2:0", "random:3:1"])
def test_measured_regret_by_definition(game, alternating, interpreted_loops):
    tree, root, gamma = naive.tree_of(game), naive.root_of(game), 1.0
    solver = Solver(tree, "full", "rm", PowerAverage(gamma), alternating=alternating)
    twin = Solver(tree, "full", "rm", PowerAverage(gamma), alternating=alternating)
    mine = measured_regret(solver, 6, gamma)
    earned, faced = np.zeros(tree.num_players), [{} for _ in range(tree.num_players)]
    for t in range(1, 7):
        before = twin.current_strategy()
        twin.iteration()
        after = twin.current_strategy()
        for player in range(tree.num_players):
            mixed = before.copy()
            if alternating:
                mixed[: tree.arrays.slot_range[player]] = after[: tree.arrays.slot_range[player]]
            table = naive.to_dict(tree, mixed)
            earned[player] += t * naive.expected_values(root, table)[player]
            for sequence, value in naive.exact_gradient(root, player, table).items():
                faced[player][sequence] = faced[player].get(sequence, 0.0) + t * value
    for player in range(tree.num_players):
        sums = naive.sequences_to_array(tree, faced[player], player)
        sums = np.concatenate([sums[:-1], np.full(tree.num_players, sums[-1])])
        best = vertex_maximum(tree, player, np.zeros(tree.num_infosets), sums)
        assert mine[player] == pytest.approx((best - earned[player]) / 21, abs=1e-12)


WITHOUT_BOUND = (
    "linear+", "dcfr", "dcfr_pruning", "dcfr+", "hs_dcfr", "pdcfr+", "apcfr+", "smooth_prm+", "rtcfr+", "mmd",
    "reg_cfr",
)  # fmt: skip


# Statements hold with probability 0.95 each; what is tested is that all of these few runs obey them.
PAIRS = [
    *((estimator, "rm") for estimator in naive.UNBIASED),
    *(
        (estimator, minimizer)
        for estimator in ("full", "external")
        for minimizer in MINIMIZERS
        if minimizer != "rm" and naive.go_together(estimator, minimizer)
    ),
]
SMALL = ("kuhn_poker", "random:2:0", "random:3:1")


@pytest.mark.usefixtures("interpreted_loops")
@pytest.mark.parametrize(
    ("game", "alternating", "estimator", "minimizer"),
    [(SMALL[number % 3], number % 2 == 0, *pair) for number, pair in enumerate(PAIRS)],
)
def test_bounds_dominate_real_runs(game, alternating, estimator, minimizer):
    tree = naive.tree_of(game)
    solver = Solver(tree, estimator, minimizer, alternating=alternating, seed=1)
    found = [regret_bound(tree, p, 60, estimator, minimizer, solver.averaging) for p in range(tree.num_players)]
    if minimizer in WITHOUT_BOUND:
        assert found == [None] * tree.num_players
        return
    for bound, measured in zip(found, measured_regret(solver, 60, solver.averaging.gamma), strict=True):
        assert measured <= bound.value + 1e-12
        assert bound.probability == 1.0 or estimator != "full"


@pytest.mark.parametrize(
    ("estimator", "iterations", "minimizer", "seed"), [("external", 2000, "rm", 0), ("outcome", 20_000, "rm+", 1)]
)
def test_bounds_say_more_than_the_payoff_range(estimator, iterations, minimizer, seed):
    tree = naive.tree_of("kuhn_poker")
    found = [regret_bound(tree, p, iterations, estimator, minimizer) for p in (0, 1)]
    regrets = measured_regret(Solver(tree, estimator, minimizer, seed=seed), iterations)
    for bound, measured in zip(found, regrets, strict=True):
        assert measured <= bound.value < 0.75 * tree.payoff_range[0]
        assert bound.probability == 0.95


def test_formulas_by_hand():
    tree, iterations = naive.tree_of("kuhn_poker"), 10**6
    largest, m, log_failures = 4.0, 2 * math.sqrt(3), math.log(27 / 0.1)

    def value(*parts, **options):
        return regret_bound(tree, 0, iterations, *parts, **options).value

    local = largest * m * math.sqrt(2)
    assert value("full", "rm") == pytest.approx(local / 1e3)
    assert value("full", "rm+", "linear") == pytest.approx(2 * local / 1e3, rel=1e-5)
    assert value("full", "linear", None) == pytest.approx(2 / math.sqrt(3) * local / 1e3, rel=1e-5)
    assert value("full", "prm+", "power(gamma=2)") == pytest.approx(6 * local / 1e3, rel=1e-5)
    expected = local / 1e3 + largest * math.sqrt(2 * log_failures) / 1e3 + 2 / 3 * 2 * largest * log_failures / 1e6
    assert value("external", "rm", p=0.1) == pytest.approx(expected)
    delta = (0.6 / 2) ** 2
    variance, step = 2 * 2 * 2 / delta, largest + 2 / delta
    freedman = math.sqrt(2 * variance * log_failures) + 2 / 3 * step * log_failures / 1e3
    expected = (local / 2 / delta + freedman) / 1e3
    assert value("outcome", "rm", p=0.1) == pytest.approx(expected)
    # In two iterations the second term of Freedman's bound outweighs what a small variance gains.
    short = regret._deviation(tree, 0, largest, regret.weight_sums(0.0, 2)[1], 0.1)
    assert short == (pytest.approx(2 * largest * math.sqrt(2 * 2 * log_failures)), regret._CONCENTRATION)
    # The second moment: 6 infosets, 2 action sequences.
    often = regret_bound(tree, 0, iterations, "external", "rm", p=0.999)
    second_moment = math.sqrt(2 * 6 * 2 / 0.999 * 2) * largest
    log_failures = math.log(27 / 0.999)
    freedman = largest * math.sqrt(2 * log_failures) + 2 / 3 * 2 * largest * log_failures / 1e3
    assert often.value == pytest.approx((local + min(second_moment, freedman)) / 1e3)


@pytest.mark.parametrize("estimator", ["chance", "opponent", "external", "outcome", "balanced", "average_strategy"])
@pytest.mark.parametrize("game", ["kuhn_poker", "random:2:2", "random:3:12"])
def test_steps_and_variances_of_estimates_are_bounded(game, estimator):
    # Ranges (Farina, Kroer, Sandholm 2020, proposition 1) and variances (Freedman's inequality) over all draws.
    tree, root = naive.tree_of(game), naive.root_of(game)
    strategy, sums = (naive.random_strategy(tree, seed, zeros=0.3) for seed in (5, 6))
    table, sums = naive.to_dict(tree, strategy), naive.to_dict(tree, sums)
    parts = ESTIMATORS[estimator]()
    if estimator == "average_strategy":
        parts = AverageStrategySampling(epsilon=0.2, tau=2.0, beta=0.1)
    for player in range(tree.num_players):
        scale, _ = regret._scale(tree, player, parts)
        own = slice(*tree.arrays.slot_range[player : player + 2])
        played = reach_of(tree, strategy)[own]
        differences = np.array([reach[own] - played for reach in pure_plans(tree, player)])
        mean, square = np.zeros(len(differences)), np.zeros(len(differences))
        for probability, found in naive.all_outcomes(
            lambda draws, p=player: naive.sample_gradient(
                root, p, table, estimator, draws, sums=sums, rho=(0.2, 2.0, 0.1)
            )
        ):
            gained = differences @ naive.sequences_to_array(tree, found.gradient, player)[own]
            assert np.abs(gained).max(initial=0.0) <= scale + 1e-9
            mean += probability * gained
            square += probability * gained**2
        assert (square - mean**2).max(initial=0.0) <= regret._variance(tree, player, scale) + 1e-9


@pytest.mark.usefixtures("interpreted_loops")
@pytest.mark.parametrize(("game", "eta"), list(zip(SMALL, (0.06, 0.6, 2.0), strict=True)))
def test_bounds_dominate_runs_with_any_step_size_and_weights(game, eta):
    tree, iterations = naive.tree_of(game), 50
    forms = [FTRL(eta, scheme, optimistic=optimistic) for scheme in SCHEMES for optimistic in (False, True)]
    for minimizer in (Hedge(eta, decay=0.0), *forms):
        regrets = measured_regret(Solver(tree, "full", minimizer, alternating=False), iterations)
        for player in range(tree.num_players):
            assert regrets[player] <= regret_bound(tree, player, iterations, "full", minimizer).value


# --- regret and NashConv ---


@pytest.mark.usefixtures("interpreted_loops")
@pytest.mark.parametrize(
    ("game", "estimator", "minimizer"), [(SMALL[number % 2], *pair) for number, pair in enumerate(PAIRS)]
)
def test_simultaneous_updates_nash_conv_is_the_sum_of_regrets(game, estimator, minimizer):
    tree, averaging = naive.tree_of(game), PowerAverage(1.0, "auto" if estimator == "full" else "exact")
    assert tree.is_constant_sum
    solver = Solver(tree, estimator, minimizer, averaging, alternating=False, seed=1)
    regrets = measured_regret(solver, 60, averaging.gamma)
    assert solver.nash_conv() == pytest.approx(regrets.sum(), abs=1e-12)


@pytest.mark.parametrize(
    ("game", "parts", "reason"),
    [
        ("kuhn_poker", ("full", "dcfr", None), "only linear"),
        ("kuhn_poker", ("full", "rm", "linear"), "uniform average"),
        ("liars_dice_ir", ("outcome", "rm"), "imperfect recall"),
        ("kuhn_poker", ("external", "rm"), None),
    ],
)
def test_says_where_no_theorem_is_known(game, parts, reason):
    tree = naive.tree_of(game)
    assert (regret_bound(tree, 0, 100, *parts) is None) == (reason is not None)
    found = why_no_bound(tree, *parts)
    assert found is None if reason is None else reason in found
