"""Regret matching and its relatives: one step by hand, whole runs against naive ones, the papers' special cases."""

import math

import naive
import numpy as np
import pyspiel
import pytest
from interpreted import interpreted

from mccfr_plus import Discounted, PowerAverage, Solver
from mccfr_plus.minimizers.discounted import discounted, prepare_discount
from mccfr_plus.minimizers.minimizer import PREPARE
from mccfr_plus.parameters import new_state
from mccfr_plus.solver import config
from mccfr_plus.trees.needs import DIFFERENCES

MINIMIZERS = tuple(naive.RULES)  # FTRL and OMD work on whole sequences: test_dilated
VARIANTS = ("dcfr+", "hs_dcfr", "pdcfr+", "sapcfr+")  # of others, which are tried in more ways
SCHEMES = naive.UNBIASED  # ESCHER: test_escher


def test_every_minimizer_has_a_naive_form():
    elsewhere = {"ftrl", "omd", "apcfr+", "smooth_prm+", *naive.NEED_FULL}  # test_dilated, test_recent
    assert set(config.MINIMIZERS) - set(naive.RULES) == elsewhere


class OneInfoset:
    """One infoset with three actions, among slots of others, which must stay as they are."""

    def __init__(self, short_name):
        self.minimizer = config.minimizer_of(short_name)
        self.kernel, self.prepare = map(interpreted, (self.minimizer.kernel, self.minimizer.prepare or PREPARE))
        self.parameters = self.minimizer.parameters()
        self.tables = np.zeros((self.minimizer.num_tables, 7))
        self.strategy = np.array([9.0, 9.0, 1 / 3, 1 / 3, 1 / 3, 9.0, 9.0])
        self.iteration = 0
        # `prepare` takes a tree, at which these minimizers do not look.
        solver = Solver(naive.tree_of("kuhn_poker"), "external")
        self.tree, self.scratch = solver.tree.arrays, solver._engine.scratches[0]

    def update(self, *values):
        self.iteration += 1
        row = np.array([7.0, 7.0, *values, 7.0, 7.0])
        self.prepare(self.tree, self.strategy, self.tables, self.scratch, 0, self.iteration, self.parameters)
        value = self.kernel(row, self.strategy, self.tables, 2, 5, self.iteration, self.parameters)
        assert self.strategy[[0, 1, 5, 6]].tolist() == [9.0] * 4
        assert not self.tables[:, [0, 1, 5, 6]].any()
        return value

    def regrets(self):
        return self.minimizer.cumulative_regrets(self.tables, self.parameters, slice(2, 5))


@pytest.mark.parametrize("short_name", [n for n, each in config.MINIMIZERS.items() if DIFFERENCES in each().provides])
def test_constants_of_values_change_nothing(short_name):
    """Minimizers that provide `DIFFERENCES`, for which `full` leaves such constants out."""
    one, other, idle = (OneInfoset(short_name) for _ in range(3))
    for values in ((3.0, 0.0, 0.0), (0.0, 0.0, 6.0), (1.0, 2.0, -5.0)):
        assert other.update(*(value + 4.0 for value in values)) == pytest.approx(one.update(*values) + 4.0, abs=1e-14)
        np.testing.assert_allclose(other.strategy, one.strategy, atol=1e-14)
        np.testing.assert_allclose(other.tables, one.tables, atol=1e-13)
        assert idle.update(0.0, 0.0, 0.0) == 0.0
        assert idle.strategy[2:5].tolist() == [1 / 3] * 3


_D, _E = (2**alpha / (2**alpha + 1) for alpha in (1.5, 2.3))

# By hand, for values (3, 0, 0), then (0, 0, 6): the instantaneous regrets are first (2, -1, -1); the value is 1.
# Then they depend on the strategy that the rule made of them.
BY_HAND = {
    # R = (2, -1, -1), x = (1, 0, 0); value 0; R = (2, -1, 5)
    "rm": [([2, -1, -1], [1, 0, 0], 1), ([2, -1, 5], [2 / 7, 0, 5 / 7], 0)],
    # R = (2, 0, 0), x = (1, 0, 0); value 0; R = (2, 0, 6)
    "rm+": [([2, 0, 0], [1, 0, 0], 1), ([2, 0, 6], [1 / 4, 0, 3 / 4], 0)],
    # all x 1/2: R = (1, -1/2, -1/2), x = (1, 0, 0); R = (1, -1/2, 11/2) x 2/3
    "linear": [([1, -0.5, -0.5], [1, 0, 0], 1), ([2 / 3, -1 / 3, 11 / 3], [2 / 13, 0, 11 / 13], 0)],
    # the same, but negative regrets become 0
    "linear+": [([1, 0, 0], [1, 0, 0], 1), ([2 / 3, 0, 4], [1 / 7, 0, 6 / 7], 0)],
    "dcfr_pruning": [
        ([1, -0.5, -0.5], [1, 0, 0], 1),
        ([2**1.5 / (2**1.5 + 1), -0.5 * 2**0.5 / (2**0.5 + 1), 5.5 * 2**1.5 / (2**1.5 + 1)], [2 / 13, 0, 11 / 13], 0),
    ],
    # t = 1: both factors 1/2. t = 2: positive 2^1.5 / (2^1.5 + 1), negative 1/2
    "dcfr": [
        ([1, -0.5, -0.5], [1, 0, 0], 1),
        ([2**1.5 / (2**1.5 + 1), -0.25, 5.5 * 2**1.5 / (2**1.5 + 1)], [2 / 13, 0, 11 / 13], 0),
    ],
    # plays [R + r]+ = (4, -2, -2)+; then R = (2, -1, 5), r = (0, 0, 6): (2, 0, 11)
    "prm": [([2, -1, -1], [1, 0, 0], 1), ([2, -1, 5], [2 / 13, 0, 11 / 13], 0)],
    # R = (2, 0, 0), plays (4, 0, 0); then R = (2, 0, 6), r = (0, 0, 6): (2, 0, 12)
    "prm+": [([2, 0, 0], [1, 0, 0], 1), ([2, 0, 6], [1 / 7, 0, 6 / 7], 0)],
    # as linear+, with the exponent 1.5
    "dcfr+": [([1, 0, 0], [1, 0, 0], 1), ([_D, 0, 6 * _D], [1 / 7, 0, 6 / 7], 0)],
    # t = 2 = n: alpha = 4, beta = -3, so that the factors are 16/17 and 1/9
    "hs_dcfr(iterations=2)": [
        ([1, -0.5, -0.5], [1, 0, 0], 1),
        ([16 / 17, -0.5 / 9, 5.5 * 16 / 17], [2 / 13, 0, 11 / 13], 0),
    ],
    # R = (2, 0, 0) / 2; then (1, 0, 6) d, and what is played counts 6 once more
    "pdcfr+": [
        ([1, 0, 0], [1, 0, 0], 1),
        ([_E, 0, 6 * _E], [_E / (7 * _E + 6), 0, 6 * (_E + 1) / (7 * _E + 6)], 0),
    ],
    # R = (2, 0, 6), plays (2, 0, 6 + 6/3)
    "sapcfr+": [([2, 0, 0], [1, 0, 0], 1), ([2, 0, 6], [1 / 5, 0, 4 / 5], 0)],
    # errors 4 + 1 + 1, then 4 + 1 + 49 more; changes 4, then 36 more: alpha is the root of 6/4, and of 60/40
    "apcfr+": [
        ([2, 0, 0], [1, 0, 0], 1),
        ([2, 0, 6], [2 / (8 + 6 / (1 + 1.5**0.5)), 0, 1 - 2 / (8 + 6 / (1 + 1.5**0.5))], 0),
    ],
    # never more than 1/4: R = (2, 0, 6), plays (2, 0, 6 + 6 * 4/5)
    "apcfr+(largest=0.25)": [([2, 0, 0], [1, 0, 0], 1), ([2, 0, 6], [2 / 12.8, 0, 10.8 / 12.8], 0)],
    # begins with (1, 1, 1) / 3: R = (7/3, 0, 0), plays (13/3, 0, 0); R = (7/3, 0, 6), plays (7/3, 0, 12)
    "smooth_prm+": [([7 / 3, 0, 0], [1, 0, 0], 1), ([7 / 3, 0, 6], [7 / 43, 0, 36 / 43], 0)],
}


def test_hedge_by_hand():
    # eta = 1 / sqrt(t) of the next iteration: R = (2, -1, -1) / sqrt 2, then with x = (1, e, e) / (1 + 2 e).
    infoset, e = OneInfoset("hedge(eta=1.0, decay=0.5)"), math.exp(-3 / math.sqrt(2))
    assert infoset.update(3, 0, 0) == pytest.approx(1)
    np.testing.assert_allclose(infoset.strategy[2:5], np.array([1, e, e]) / (1 + 2 * e), atol=1e-15)
    value = 6 * e / (1 + 2 * e)
    assert infoset.update(0, 0, 6) == pytest.approx(value)
    regrets = np.array([2 - value, -1 - value, 5 - value])
    np.testing.assert_allclose(infoset.regrets(), regrets, atol=1e-14)
    powers = np.exp(regrets / math.sqrt(3))
    np.testing.assert_allclose(infoset.strategy[2:5], powers / powers.sum(), atol=1e-14)


def test_optimistic_hedge_by_hand():
    infoset = OneInfoset("hedge(eta=0.5, decay=0.0, optimistic=True)")
    infoset.update(3, 0, 0)  # R = (2, -1, -1), counted twice
    e = math.exp(-3)
    np.testing.assert_allclose(infoset.strategy[2:5], np.array([1, e, e]) / (1 + 2 * e), atol=1e-15)


@pytest.mark.parametrize("short_name", list(BY_HAND))
def test_two_steps_by_hand(short_name):
    infoset = OneInfoset(short_name)
    for values, (regrets, strategy, value) in zip([(3, 0, 0), (0, 0, 6)], BY_HAND[short_name], strict=True):
        assert infoset.update(*values) == pytest.approx(value)
        np.testing.assert_allclose(infoset.regrets(), regrets, atol=1e-15)
        np.testing.assert_allclose(infoset.strategy[2:5], strategy, atol=1e-15)


@pytest.mark.parametrize("short_name", [name for name in MINIMIZERS if not name.startswith("hedge")])
def test_plays_uniformly_where_no_regret_is_positive(short_name):
    infoset = OneInfoset(short_name)
    infoset.strategy[2:5] = [0, 1, 0]
    infoset.update(1, 5, 2)  # nothing beats what was played
    np.testing.assert_allclose(infoset.strategy[2:5], 1 / 3)
    assert infoset.strategy[2:5].sum() == pytest.approx(1)


# Each number of players with both kinds of updates.
GAMES = [
    ("kuhn_poker", True),
    ("random:2:1", False),
    ("perturbed:kuhn_poker(players=3)", False),
    ("random:3:0", True),
]


@pytest.mark.usefixtures("interpreted_loops")
@pytest.mark.parametrize(
    ("short_name", "game", "alternating"),
    [(name, *game) for i, name in enumerate(MINIMIZERS) for game in GAMES[i % 2 :: 2]],
)
def test_full_traversal_equals_textbook_cfr(short_name, game, alternating):
    if short_name == "pdcfr+" and game == "kuhn_poker":
        game = "perturbed:kuhn_poker"  # of iteration 2 there, all regrets of an infoset cancel, and rounding decides
    tree = naive.tree_of(game)
    averaging = PowerAverage(naive.DEFAULT_GAMMA[short_name])
    solver = Solver(tree, "full", short_name, averaging, alternating=alternating)
    twin = naive.Cfr(
        naive.root_of(game), tree.num_players, naive.RULES[short_name], averaging.gamma, alternating=alternating
    )
    for _ in range(15):
        solver.iteration()
        twin.iteration()
    assert_equal(solver, twin)


def assert_equal(solver, twin, tolerance=1e-12):
    tree = solver.tree
    assert solver.iterations == twin.t
    np.testing.assert_allclose(solver.average_strategy(), naive.to_array(tree, twin.average()), atol=tolerance)
    np.testing.assert_allclose(solver.current_strategy(), naive.to_array(tree, twin.strategy), atol=tolerance)
    for (player, text), regrets in twin.regrets.items():
        mine = list(solver.regrets(text, player).values())
        np.testing.assert_allclose(mine, regrets, rtol=1e-10, atol=tolerance)


@pytest.mark.usefixtures("interpreted_loops")
@pytest.mark.parametrize(
    ("scheme", "short_name", "game", "alternating"),
    [
        (scheme, name, *GAMES[(i + 2 * j) % 4])  # each scheme with two and with three players
        for i, scheme in enumerate(SCHEMES)
        for j, name in enumerate(MINIMIZERS)
        if scheme == "external" or name not in VARIANTS
    ],
)
def test_sampled_run_equals_naive_dense_rules(scheme, short_name, game, alternating):
    # How the average is added up does not depend on the rule: stochastically with some of them.
    method = "stochastic" if short_name in ("rm", "rm+", "dcfr") else "auto"
    # The naive run visits every infoset in every iteration, so that discounts that an infoset missed must be made up
    # for.
    tree, gamma = naive.tree_of(game), naive.DEFAULT_GAMMA[short_name]
    # What average strategy sampling visits depends on the sums, which are not pushed down yet in the lazy average.
    averaging = PowerAverage(gamma, "exact" if scheme == "average_strategy" else method)
    solver = Solver(tree, scheme, short_name, averaging, alternating=alternating, seed=3)
    twin = naive.SampledCfr(
        naive.root_of(game),
        tree.num_players,
        scheme,
        naive.RULES[short_name],
        gamma,
        alternating,
        state=int(new_state(3)[0]),
        stochastic=averaging.method == "stochastic",
    )
    for _ in range(6):
        solver.iteration()
        twin.iteration()
    assert solver.nodes_touched == twin.nodes
    # Hedge takes the exponential of ten times a regret, and of the rounding in it.
    assert_equal(solver, twin, tolerance=1e-8 if short_name == "hedge" else 1e-11)


# Chance may end this game before the first move.
EARLY_END = """EFG 2 R "early end" { "P0" "P1" }
c "" 1 "deal" { "end" 0.75 "go" 0.25 } 0
t "" 1 "o1" { 1.0 -1.0 }
p "" 1 1 "I1" { "a" "b" } 0
t "" 2 "o2" { 3.0 -3.0 }
p "" 2 1 "J1" { "a" "b" } 0
t "" 3 "o3" { -4.0 4.0 }
t "" 4 "o4" { 5.0 -5.0 }
"""


@pytest.mark.usefixtures("interpreted_loops")
@pytest.mark.parametrize("short_name", MINIMIZERS)
@pytest.mark.parametrize("scheme", ["chance", "external", "outcome"])
def test_iterations_that_touch_no_infoset_count(scheme, short_name):
    game = pyspiel.load_efg_game(EARLY_END)
    solver = Solver(game, scheme, short_name, PowerAverage(1.0), seed=1)
    twin = naive.SampledCfr(
        naive.build(game.new_initial_state()), 2, scheme, naive.RULES[short_name], 1.0, state=int(new_state(1)[0])
    )
    for _ in range(30):
        solver.iteration()
        twin.iteration()
        assert_equal(solver, twin)


@pytest.mark.parametrize("alpha", [1.5, 5.0, 10.0, math.inf])
@pytest.mark.parametrize("beta", [0.0, 0.5, math.inf])
def test_discounts_of_iterations_that_missed_an_infoset(alpha, beta):
    """Every 50th iteration touches it; R = (R + r) d in all. Factors near 1 leave their logarithms' sum as it is."""
    rule = Discounted(alpha, beta)
    tables, parameters = np.zeros((rule.num_tables, 2)), rule.parameters()
    strategy, regrets = np.full(2, 0.5), np.zeros(2)
    for t in range(1, 2001):
        prepare_discount(None, None, tables, None, 0, t, parameters)
        if t % 50 == 0:
            values = np.array([1.0, 0.0] if t < 1800 else [0.0, 3.0])
            regrets += values - strategy @ values
            discounted(values, strategy, tables, 0, 2, t, parameters)
        by_sign = [1.0 if math.isinf(each) else t**each / (t**each + 1.0) for each in (alpha, beta)]
        regrets *= np.where(regrets > 0.0, *by_sign)
    np.testing.assert_allclose(tables[0], regrets, rtol=1e-9)
    np.testing.assert_allclose(rule.cumulative_regrets(tables, parameters, slice(0, 2)), regrets, rtol=1e-9)


@pytest.mark.parametrize("alpha", [-math.inf, -400.0, 0.0, 400.0, math.inf])
def test_extreme_discounts_stay_finite(alpha):
    solver = Solver(naive.tree_of("kuhn_poker"), "external", Discounted(alpha, -alpha), seed=1).run(200)
    strategy = solver.average_strategy()
    assert np.isfinite(strategy).all()
    assert np.isfinite(list(solver.regrets(solver.tree.info_states[0]).values())).all()


@pytest.mark.usefixtures("interpreted_loops")
@pytest.mark.parametrize("scheme", ["full", "external"])
@pytest.mark.parametrize(("beta", "limit"), [(-math.inf, "rm+"), (math.inf, "rm")])
def test_infinite_exponents_discount_nothing_or_all(beta, limit, scheme):
    tree = naive.tree_of("leduc_poker" if scheme == "external" else "kuhn_poker")
    ours, theirs = (
        Solver(tree, scheme, minimizer, "linear", seed=2).run(60) for minimizer in (Discounted(math.inf, beta), limit)
    )
    np.testing.assert_allclose(ours.tables()[0], theirs.tables()[0], atol=1e-12)
    np.testing.assert_allclose(ours.current_strategy(), theirs.current_strategy(), atol=1e-12)
    np.testing.assert_allclose(ours.average_strategy(), theirs.average_strategy(), atol=1e-12)
