"""Regret bounds against hand computations, enumeration, and the exact regret of real runs."""

import itertools
import math
from types import SimpleNamespace

import naive
import numpy as np
import pyspiel
import pytest

from mccfr_plus import (
    AverageStrategySampling,
    BalancedOutcomeSampling,
    ConfigError,
    GameError,
    PowerAverage,
    Solver,
    bounds,
    compile_game,
    measured_regret,
    regret_bound,
)
from mccfr_plus.bounds.treeplex import vertex_maximum
from mccfr_plus.checks.exact import exact_gradient
from mccfr_plus.evaluation.exact import evaluate_strategy
from mccfr_plus.evaluation.kernels import own_reach
from mccfr_plus.minimizers.dilated_weights import SCHEMES, dilated_weights
from mccfr_plus.solver.registry import ESTIMATORS, MINIMIZERS

GAMES = ("kuhn_poker", *naive.RANDOM_GAMES)


def reach_of(tree, strategy):
    reach = np.empty(tree.num_slots + tree.num_players)
    own_reach(tree.arrays, strategy, reach)
    return reach


def pure_plans(tree, player, limit=20_000):
    """Yields the own reach of every pure strategy, reduced ones several times; skips games with too many."""
    infosets = range(*tree.arrays.infoset_range[player : player + 2])
    counts = [int(tree.arrays.infosets["num_actions"][i]) for i in infosets]
    if math.prod(counts) > limit:
        pytest.skip("too many pure strategies to enumerate")
    for choice in itertools.product(*map(range, counts)):
        strategy = np.zeros(tree.num_slots)
        for infoset, action in zip(infosets, choice, strict=True):
            strategy[tree.slots(infoset).start + action] = 1.0
        yield strategy, reach_of(tree, strategy)


# --- sizes ---


def test_kuhn_by_hand():
    # Player 0: three cards at first, and the same three after pass-bet: 2 sqrt(3). Player 1: six infosets before any
    # own action: sqrt(6).
    tree = naive.tree_of("kuhn_poker")
    assert bounds.m_value(tree, 0) == pytest.approx(2 * math.sqrt(3))
    assert bounds.m_value(tree, 1) == pytest.approx(math.sqrt(6))
    for m_value_of in (bounds.m_value_of, bounds.root_square_m_value_of):
        # Uniformly, the second block is reached with probability 1/2.
        assert m_value_of(tree, 0, tree.uniform_strategy()) == pytest.approx(1.5 * math.sqrt(3))
        assert m_value_of(tree, 1, tree.uniform_strategy()) == pytest.approx(math.sqrt(6))
        # Always betting, the second action, never gets there.
        bets = np.tile([0.0, 1.0], tree.num_infosets)
        assert m_value_of(tree, 0, bets) == pytest.approx(math.sqrt(3))
    # Passing the lowest card alone: one of the second block's infosets is reached surely, the others never.
    bets[tree.slots(tree.infoset("0", 0))] = 1.0, 0.0
    assert bounds.m_value_of(tree, 0, bets) == pytest.approx(2 * math.sqrt(3))
    assert bounds.root_square_m_value_of(tree, 0, bets) == pytest.approx(math.sqrt(3) + 1)
    # Blocks below one sequence: three cards at first, then one infoset below each pass.
    assert bounds.largest_m_value(tree, 0) == pytest.approx(math.sqrt(3) + 3)
    # Bet, or pass and one of two: 3 reduced strategies per card; two infosets of two actions per card.
    assert math.exp(bounds.log_pure_strategies(tree, 0)) == pytest.approx(27)
    assert math.exp(bounds.log_pure_strategies(tree, 1)) == pytest.approx(64)
    assert [bounds.plan_norm(tree, p) for p in (0, 1)] == [6, 6]
    assert len(set(bounds.action_sequences(tree, 0).tolist())) == 2


@pytest.mark.parametrize("game", GAMES)
def test_m_of_any_strategy_is_below_both_maxima(game):
    tree = naive.tree_of(game)
    for player, seed in itertools.product(range(tree.num_players), range(5)):
        strategy = naive.random_strategy(tree, seed, zeros=0.3)
        by_definition = bounds.m_value_of(tree, player, strategy)
        smaller = bounds.root_square_m_value_of(tree, player, strategy)
        assert smaller <= by_definition + 1e-12
        assert by_definition <= bounds.m_value(tree, player) + 1e-12
        assert smaller <= bounds.largest_m_value(tree, player) + 1e-12


@pytest.mark.parametrize("game", ["leduc_poker", *GAMES])
def test_one_history_at_most_enters_a_block(game):
    # What makes sqrt(|B|) of |B|: the others reach all infosets of a block with probability at most 1 together.
    tree, root = naive.tree_of(game), naive.root_of(game)
    for player in range(tree.num_players):
        table = naive.to_dict(tree, naive.random_strategy(tree, player, zeros=0.5))
        first = tree.arrays.infoset_range[player]
        blocks = bounds.action_sequences(tree, player)
        reached = np.zeros(blocks.max(initial=0) + 1)

        def visit(node, others, player=player, table=table, first=first, blocks=blocks, reached=reached):
            if node.player == player:
                reached[blocks[tree.infoset(node.key[1], player) - first]] += others
            for index, child in enumerate(node.children):
                share = 1.0
                if node.player != player:
                    share = node.probabilities[index] if node.player == naive.CHANCE else table[node.key][index]
                visit(child, others * share)

        visit(root, 1.0)
        assert (reached <= 1 + 1e-12).all()
        sizes = np.bincount(blocks)
        assert bounds.m_value(tree, player) == pytest.approx(np.sqrt(sizes).sum())


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
        plans = [reach for _, reach in pure_plans(tree, player)]
        worth = [x[parents[own]] @ gain[own] + x[slots] @ sequence_gain[slots] + sequence_gain[empty] for x in plans]
        assert vertex_maximum(tree, player, gain, sequence_gain) == pytest.approx(max(worth))
        assert bounds.plan_norm(tree, player) == pytest.approx(max(x[slots].sum() for x in plans))
        diameter = max((x[parents[own]] * weights[own] * np.log(counts[own])).sum() for x in plans)
        assert bounds.dilated_diameter(tree, player, weights) == pytest.approx(diameter)
        different = len({x[slots].tobytes() for x in plans})
        assert bounds.log_pure_strategies(tree, player) == pytest.approx(math.log(different))


# --- exploration ---


@pytest.mark.parametrize("epsilon", [0.1, 0.6, 1.0])
@pytest.mark.parametrize("game", ["leduc_poker", *GAMES])
def test_delta_is_the_rarest_leaf(game, epsilon):
    tree, root = naive.tree_of(game), naive.root_of(game)

    def rarest(node, player):
        if node.player == naive.TERMINAL:
            return 1.0
        share = epsilon / len(node.children) if node.player == player else 1.0
        return share * min(rarest(child, player) for child in node.children)

    for player in range(tree.num_players):
        assert bounds.outcome_delta(tree, player, epsilon) == pytest.approx(rarest(root, player))


@pytest.mark.parametrize("game", GAMES)
def test_balanced_exploration_reaches_every_sequence_often_enough(game):
    tree = naive.tree_of(game)
    balanced = BalancedOutcomeSampling().sampling_strategy(tree)
    for player in range(tree.num_players):
        sequences = tree.statistics().sequences[player]
        assert bounds.outcome_delta(tree, player, 1.0, balanced) >= 1 / max(sequences - 1, 1) - 1e-12


# --- dilated entropy ---


def dilated_entropy(tree, player, weights, plan):
    total = 0.0
    for infoset in range(*tree.arrays.infoset_range[player : player + 2]):
        row, above = plan[tree.slots(infoset)], plan[tree.arrays.infosets["parent_slot"][infoset]]
        total += weights[infoset] * above * (math.log(len(row)) + sum(b * math.log(b) for b in row / above))
    return total


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("game", GAMES)
def test_dilated_entropy_is_as_convex_as_promised(game, scheme):
    # psi((x + y) / 2) <= (psi(x) + psi(y)) / 2 - modulus / 8 * |x - y|^2: x and y near one another are second
    # differences, far from one another the definition itself.
    tree, rng = naive.tree_of(game), np.random.default_rng(1)
    weights = dilated_weights(tree, scheme)
    for player in range(tree.num_players):
        own = slice(*tree.arrays.slot_range[player : player + 2])
        modulus = bounds.strong_convexity(tree, player, weights)
        if own.start == own.stop:
            assert modulus == math.inf
            continue
        if scheme == "least":
            assert modulus == pytest.approx(1 / bounds.plan_norm(tree, player))
        elif scheme == "kroer":
            assert modulus >= 1 / bounds.plan_norm(tree, player) - 1e-12
        for trial in range(60):
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
            assert -1e-12 <= psi[0] <= bounds.dilated_diameter(tree, player, weights) + 1e-12
        uniform = reach_of(tree, tree.uniform_strategy())
        assert dilated_entropy(tree, player, weights, uniform) == pytest.approx(0)


def test_dilated_weights_by_hand():
    tree = naive.tree_of("kuhn_poker")
    after_pass = tree.arrays.infosets["parent_slot"] < tree.num_slots
    above = np.isin(np.arange(tree.num_infosets), tree.infoset_of_slot[tree.arrays.infosets["parent_slot"][after_pass]])
    np.testing.assert_array_equal(dilated_weights(tree, "kroer"), 1 + above * 2 + after_pass)
    np.testing.assert_array_equal(dilated_weights(tree, "least"), 1 + above)
    np.testing.assert_array_equal(dilated_weights(tree, "constant"), np.ones(tree.num_infosets))
    with pytest.raises(ConfigError, match="weights='equal'"):
        dilated_weights(tree, "equal")
    with pytest.raises(GameError, match="imperfect recall"):
        dilated_weights(compile_game("liars_dice_ir"))


# --- regret ---


class Player:
    """Stands in for a solver: any rule for the next strategy, given all players' exact gradients."""

    def __init__(self, tree, rule):
        self.tree, self.rule, self.iterations = tree, rule, 0
        self.config = SimpleNamespace(alternating=False)
        self.strategy = tree.uniform_strategy()

    def current_strategy(self):
        return self.strategy.copy()

    def iteration(self):
        self.iterations += 1
        self.strategy = self.rule(self.strategy)


def hedge_rule(tree, eta):
    sums = np.zeros(tree.num_slots)

    def step(strategy):
        gradient = gradients(tree, strategy)
        for infoset in reversed(range(tree.num_infosets)):
            slots = tree.slots(infoset)
            sums[slots] += gradient[slots]
            gradient[tree.arrays.infosets["parent_slot"][infoset]] += strategy[slots] @ gradient[slots]
        return np.concatenate([softmax(eta * sums[tree.slots(i)]) for i in range(tree.num_infosets)])

    return step


def dilated_rule(tree, eta, weights, optimistic):
    sums = np.zeros(tree.num_slots + tree.num_players)

    def step(strategy):
        gradient = gradients(tree, strategy)
        sums[:] += gradient
        worth = eta * (sums + gradient if optimistic else sums)
        following = np.empty(tree.num_slots)
        for infoset in reversed(range(tree.num_infosets)):
            slots, weight = tree.slots(infoset), weights[infoset]
            row = worth[slots] / weight
            following[slots] = softmax(row)
            best = row.max() + math.log(np.exp(row - row.max()).mean())  # log n_I stands in psi
            worth[tree.arrays.infosets["parent_slot"][infoset]] += weight * best
        return following

    return step


def softmax(row):
    row = np.exp(row - row.max())
    return row / row.sum()


def gradients(tree, strategy):
    """Returns everybody's exact gradient, ``[num_slots + num_players]``."""
    from mccfr_plus.bounds.measured import add_gradient

    arrays, size = tree.arrays_with_leaves, tree.num_slots + tree.num_players
    sums, reach = np.zeros(size), reach_of(tree, strategy)
    for player in range(tree.num_players):
        add_gradient(arrays, reach, np.empty(size + 1), player, 1.0, sums)
    return sums


@pytest.mark.parametrize("alternating", [True, False])
@pytest.mark.parametrize("game", ["kuhn_poker", "random:2:0", "random:3:1"])
def test_measured_regret_by_definition(game, alternating):
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


def test_measured_regret_refuses_a_used_solver():
    with pytest.raises(ConfigError, match=r"solver.iterations=1"):
        measured_regret(Solver("kuhn_poker").run(1), 5)


WITHOUT_BOUND = (
    "linear+", "dcfr", "dcfr_pruning", "dcfr+", "hs_dcfr", "pdcfr+", "apcfr+", "smooth_prm+", "rtcfr+", "mmd",
    "reg_cfr",
)  # fmt: skip


# Statements hold with probability 0.95 each; what is tested is that all of these few runs obey them.
@pytest.mark.usefixtures("interpreted_loops")
@pytest.mark.parametrize(
    ("estimator", "minimizer"),
    [
        *((estimator, "rm") for estimator in naive.UNBIASED),
        *(
            (estimator, minimizer)
            for estimator in ("full", "external")
            for minimizer in MINIMIZERS
            if minimizer != "rm" and naive.go_together(estimator, minimizer)
        ),
    ],
)
@pytest.mark.parametrize("game", ["kuhn_poker", "random:2:0", "random:3:1"])
def test_bounds_dominate_real_runs(game, estimator, minimizer):
    tree = naive.tree_of(game)
    for alternating, seed in [(True, 1), (False, 2)]:
        solver = Solver(tree, estimator, minimizer, alternating=alternating, seed=seed)
        gamma = solver.averaging.gamma
        found = [regret_bound(tree, p, 100, estimator, minimizer, solver.averaging) for p in range(tree.num_players)]
        if minimizer in WITHOUT_BOUND:
            assert found == [None] * tree.num_players
            return
        regrets = measured_regret(solver, 100, gamma)
        for bound, regret in zip(found, regrets, strict=True):
            assert regret <= bound.value + 1e-12
            assert bound.probability == 1.0 or estimator != "full"


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("minimizer", ["rm", "rm+"])
@pytest.mark.parametrize(("estimator", "iterations"), [("external", 2000), ("outcome", 20_000)])
def test_bounds_say_more_than_the_payoff_range(estimator, iterations, minimizer, seed):
    tree = naive.tree_of("kuhn_poker")
    found = [regret_bound(tree, p, iterations, estimator, minimizer) for p in (0, 1)]
    regrets = measured_regret(Solver(tree, estimator, minimizer, "uniform", seed=seed), iterations)
    for bound, regret in zip(found, regrets, strict=True):
        assert regret <= bound.value < 0.75 * tree.payoff_range[0]
        assert bound.probability == 0.95


FAR_FROM_ZERO = """EFG 2 R "far from zero" { "P0" }
p "" 1 1 "I1" { "a" "b" } 0
t "" 1 "o1" { 10.0 }
t "" 2 "o2" { 10.5 }
"""


def test_outcome_sampling_needs_payoffs_and_not_their_range():
    # The papers' Delta / delta bounds the regret against estimates only if 0 lies within the range of payoffs.
    tree = compile_game(pyspiel.load_efg_game(FAR_FROM_ZERO))
    delta = bounds.outcome_delta(tree, 0, 1.0)
    papers = float(tree.payoff_range[0]) / delta * math.sqrt(2)
    mine = bounds.largest_payoff(tree, 0) / delta * math.sqrt(2)
    worst = 0.0
    for seed in range(20):
        solver = Solver(tree, "outcome(epsilon=1.0)", "rm", seed=seed).run(1000)
        worst = max(worst, *solver.regrets(tree.info_states[0]).values())
    assert papers * math.sqrt(1000) < worst <= mine * math.sqrt(1000)


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
    # In two iterations the third term of Proposition 3 outweighs what a small variance gains.
    short = bounds.regret._deviation(tree, 0, largest, bounds.regret.Weights.of(0.0, 2), 0.1)
    assert short == (pytest.approx(2 * largest * math.sqrt(2 * 2 * log_failures)), bounds.regret._CONCENTRATION)
    # The second moment: 6 infosets, 2 action sequences.
    often = regret_bound(tree, 0, iterations, "external", "rm", p=0.999)
    second_moment = math.sqrt(2 * 6 * 2 / 0.999 * 2) * largest
    log_failures = math.log(27 / 0.999)
    freedman = largest * math.sqrt(2 * log_failures) + 2 / 3 * 2 * largest * log_failures / 1e3
    assert often.value == pytest.approx((local + min(second_moment, freedman)) / 1e3)


@pytest.mark.parametrize("estimator", ["chance", "opponent", "external", "outcome", "balanced", "average_strategy"])
@pytest.mark.parametrize("game", ["kuhn_poker", "random:2:2", "random:3:12"])
def test_steps_and_variances_of_estimates_are_bounded(game, estimator):
    # What Propositions 2 and 3 of Farina et al. ask for, over every outcome of an estimator's draws.
    tree, root = naive.tree_of(game), naive.root_of(game)
    strategy, sums = (naive.random_strategy(tree, seed, zeros=0.3) for seed in (5, 6))
    table, sums = naive.to_dict(tree, strategy), naive.to_dict(tree, sums)
    parts = ESTIMATORS[estimator]()
    if estimator == "average_strategy":
        parts = AverageStrategySampling(epsilon=0.2, tau=2.0, beta=0.1)
    for player in range(tree.num_players):
        scale, _ = bounds.regret._scale(tree, player, parts)
        own = slice(*tree.arrays.slot_range[player : player + 2])
        played = reach_of(tree, strategy)[own]
        differences = np.array([reach[own] - played for _, reach in pure_plans(tree, player)])
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
        assert (square - mean**2).max(initial=0.0) <= bounds.regret._variance(tree, player, scale) + 1e-9


@pytest.mark.parametrize("game", ["kuhn_poker", "random:2:0", "random:3:1"])
def test_regret_is_the_reach_weighted_sum_of_counterfactual_regrets(game):
    # Gibson et al. 2012, Theorem 4, on which Theorem 5 rests: an identity, for any strategy in the place of the best.
    tree = naive.tree_of(game)
    for player, seed in itertools.product(range(tree.num_players), range(3)):
        own = range(*tree.arrays.infoset_range[player : player + 2])
        other, sums, regret = naive.random_strategy(tree, seed, zeros=0.3), np.zeros(tree.num_infosets), 0.0
        for t in range(4):
            strategy = naive.random_strategy(tree, 10 * seed + t, zeros=0.3)
            gradient = exact_gradient(tree, strategy, player)
            regret += gradient[: tree.num_slots] @ (own_slots(tree, other, player) - own_slots(tree, strategy, player))
            for infoset in reversed(own):
                slots = tree.slots(infoset)
                value = strategy[slots] @ gradient[slots]
                sums[infoset] += other[slots] @ gradient[slots] - value
                gradient[tree.arrays.infosets["parent_slot"][infoset]] += value
        above = reach_of(tree, other)[tree.arrays.infosets["parent_slot"]]
        assert regret == pytest.approx(sum(above[i] * sums[i] for i in own), abs=1e-12)


def own_slots(tree, strategy, player):
    """Returns a player's own reach, 0 at the others' slots."""
    reach = np.zeros(tree.num_slots)
    own = slice(*tree.arrays.slot_range[player : player + 2])
    reach[own] = reach_of(tree, strategy)[own]
    return reach


def test_short_runs_have_the_trivial_bound():
    bound = regret_bound(naive.tree_of("kuhn_poker"), 0, 1, "outcome", "rm")
    assert (bound.value, bound.probability) == (4.0, 1.0)


@pytest.mark.parametrize("game", ["kuhn_poker", "random:2:0"])
def test_doing_nothing_breaks_the_bound(game):
    # The regret of a constant strategy increases with T, the bounds with its square root.
    tree = naive.tree_of(game)
    found = evaluate_strategy(tree, tree.uniform_strategy())
    gains = found.best_response_values - found.values
    player = int(np.argmax(gains))
    idle = measured_regret(Player(tree, lambda strategy: strategy), 20)
    np.testing.assert_allclose(idle, gains, atol=1e-12)
    for minimizer in ("rm", "rm+", "prm", "prm+"):
        value = regret_bound(tree, player, 10**8, "external", minimizer).value
        assert value < gains[player]
        longer = regret_bound(tree, player, 4 * 10**8, "external", minimizer).value
        assert longer == pytest.approx(value / 2, rel=1e-3)  # a term of Proposition 3 falls as 1 / T


@pytest.mark.parametrize("eta", [0.02, 0.2, 2.0])
@pytest.mark.parametrize("game", ["kuhn_poker", "random:2:0", "random:3:1"])
def test_hedge_and_dilated_bounds_dominate_real_runs(game, eta):
    tree, iterations = naive.tree_of(game), 150
    regrets = measured_regret(Player(tree, hedge_rule(tree, eta)), iterations)
    for player in range(tree.num_players):
        assert regrets[player] <= bounds.hedge_bound(tree, player, iterations, eta)
    for scheme, optimistic in itertools.product(SCHEMES, (False, True)):
        weights = dilated_weights(tree, scheme)
        regrets = measured_regret(Player(tree, dilated_rule(tree, eta, weights, optimistic)), iterations)
        for player in range(tree.num_players):
            bound = bounds.dilated_bound(tree, player, iterations, eta, weights, optimistic=optimistic)
            assert regrets[player] <= bound


def test_hedge_bound_by_hand():
    # Player 1 of Kuhn: six infosets of two actions below the empty sequence. Player 0: three, and below passing three
    # more in three blocks.
    tree = naive.tree_of("kuhn_poker")
    assert bounds.hedge_bound(tree, 1, 100, 0.1) == pytest.approx((60 * math.log(2) + 0.1 * 100 * 2) / 100)
    assert bounds.hedge_bound(tree, 0, 100, 0.1) == pytest.approx((60 * math.log(2) + 0.1 * 100 * 2 * 4) / 100)


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        (("full", "dcfr", None), "only linear"),
        (("full", "linear", "uniform"), "only linear"),
        (("full", "rm", "linear"), "uniform average"),
        (("external", "prm", "linear"), "uniform average"),
    ],
)
def test_says_where_no_theorem_is_known(parts, reason):
    tree = naive.tree_of("kuhn_poker")
    assert regret_bound(tree, 0, 100, *parts) is None
    assert reason in bounds.why_no_bound(tree, *parts)
    assert bounds.why_no_bound(tree, "external", "rm") is None


def test_imperfect_recall_has_no_bound():
    tree = compile_game("liars_dice_ir")
    assert regret_bound(tree, 0, 100, "outcome", "rm") is None
    assert "imperfect recall" in bounds.why_no_bound(tree, "outcome", "rm")
    with pytest.raises(GameError, match="imperfect recall"):
        bounds.m_value_of(tree, 0, tree.uniform_strategy())


@pytest.mark.parametrize(
    ("arguments", "options"),
    [((2, 10), {}), ((-1, 10), {}), ((0, 0), {}), ((0, 10), {"p": 0.0}), ((0, 10), {"p": 1.0}), ((True, 10), {})],
)
def test_bad_arguments_are_refused(arguments, options):
    with pytest.raises(ConfigError):
        regret_bound(naive.tree_of("kuhn_poker"), *arguments, "external", "rm", **options)


# --- regret and NashConv ---


@pytest.mark.usefixtures("interpreted_loops")
@pytest.mark.parametrize(
    ("estimator", "exact", "minimizer"),
    [
        (estimator, exact, minimizer)
        for estimator, exact in (("full", False), ("external", True), ("outcome", True))
        for minimizer in MINIMIZERS
        if naive.go_together(estimator, minimizer)
    ],
)
@pytest.mark.parametrize("game", ["kuhn_poker", "random:2:0"])
def test_simultaneous_updates_nash_conv_is_the_sum_of_regrets(game, estimator, exact, minimizer):
    tree, averaging = naive.tree_of(game), PowerAverage(1.0, "exact" if exact else "auto")
    assert tree.is_constant_sum
    solver = Solver(tree, estimator, minimizer, averaging, alternating=False, seed=1)
    regrets = measured_regret(solver, 60, averaging.gamma)
    relation = bounds.nash_conv_bound(solver)
    assert relation.is_exact
    assert solver.nash_conv() == pytest.approx(regrets.sum(), abs=1e-12)


@pytest.mark.parametrize("gamma", [0.0, 1.0, 2.5])
@pytest.mark.parametrize("minimizer", ["rm", "rm+", "linear", "dcfr"])
@pytest.mark.parametrize("game", ["kuhn_poker", "random:2:0", "random:2:2"])
def test_alternating_updates_nash_conv_is_below_the_sum_and_the_slack(game, minimizer, gamma):
    tree = naive.tree_of(game)
    for iterations in (1, 2, 7, 50):
        solver = Solver(tree, "full", minimizer, PowerAverage(gamma))
        regrets = measured_regret(solver, iterations, gamma)
        relation = bounds.nash_conv_bound(solver)
        assert relation.is_bounded
        assert not relation.is_exact
        assert solver.nash_conv() <= regrets.sum() + relation.slack + 1e-12


@pytest.mark.parametrize(
    ("game", "estimator", "minimizer", "alternating", "reason"),
    [
        ("kuhn_poker", "external", "rm", False, "sampled or biased"),
        ("kuhn_poker", "full", "prm+", True, "improve"),
        ("kuhn_poker", "external", "rm", True, "sampled or biased"),
        ("random:2:1", "full", "rm", False, "constant-sum"),
        ("random:3:0", "full", "rm", False, "two-player"),
        ("liars_dice_ir", "outcome", "rm", True, "imperfect recall"),
    ],
)
def test_says_why_nash_conv_measures_nothing(game, estimator, minimizer, alternating, reason):
    tree = naive.tree_of(game)
    solver = Solver(tree, estimator, minimizer, "stochastic", alternating=alternating, seed=1).run(5)
    relation = bounds.nash_conv_bound(solver)
    assert not relation.is_bounded
    assert reason in relation.reason


def test_fast_threads_have_no_bound():
    fast = {"threads": 2, "thread_mode": "fast"}
    solver = Solver("kuhn_poker", "external", "rm", "uniform", alternating=False, seed=1, **fast).run(5)
    assert bounds.nash_conv_bound(solver).reason == "fast threads lose a part of what they add up"
