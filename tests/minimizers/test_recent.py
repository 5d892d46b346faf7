"""Rules with more than regrets in their tables: against their definitions, OpenSpiel, and one another."""

import itertools
import math

import naive
import numpy as np
import pytest
from interpreted import interpreted
from naive_sequences import Polytope
from open_spiel.python.algorithms import mmd_dilated

from mccfr_plus import (
    AsymmetricPredictive,
    MagneticMirrorDescent,
    PredictiveDiscounted,
    PredictiveRegretMatchingPlus,
    RegularizedMirrorDescent,
    RewardTransformation,
    ScheduledAverage,
    SmoothPredictive,
    Solver,
)
from mccfr_plus.evaluation.strategies import strategy_of
from mccfr_plus.minimizers import predictive
from mccfr_plus.minimizers.minimizer import minimize_with
from mccfr_plus.solver.loop import weight_of

pytestmark = pytest.mark.usefixtures("interpreted_loops")


def assert_same_strategies(game, scheme, ours, theirs, iterations=30):
    solvers = [Solver(naive.tree_of(game), scheme, m, "uniform", seed=4) for m in (ours, theirs)]
    for _ in range(iterations):
        for solver in solvers:
            solver.iteration()
        np.testing.assert_allclose(*(solver.current_strategy() for solver in solvers), atol=1e-12)


@pytest.mark.parametrize("scheme", ["full", "external"])
def test_special_cases(scheme):
    prm = PredictiveRegretMatchingPlus()
    assert_same_strategies("random:2:3", scheme, PredictiveDiscounted(math.inf), prm)
    assert_same_strategies("random:2:3", scheme, AsymmetricPredictive(0.0), prm)


@pytest.mark.parametrize("game", ["kuhn_poker", "random:3:1"])
def test_dcfr_plus_discounts_before_it_adds(game):
    # Xu et al. 2024: R_t = [d R_{t-1} + r_t]+, from the first iteration on; here it is discounted after r was added.
    tree, root = naive.tree_of(game), naive.root_of(game)
    solver = Solver(tree, "full", "dcfr+", alternating=False)
    regrets = {key: np.zeros(n) for key, n in naive.infosets_of(root).items()}
    for t in range(1, 31):
        strategy = naive.to_dict(tree, solver.current_strategy())
        for player in range(tree.num_players):
            found = naive.sample_gradient(root, player, strategy, "full", None)
            for key, instant in naive.regrets_of(found, strategy, player, root).items():
                discount = (t - 1) ** 1.5 / ((t - 1) ** 1.5 + 1)
                regrets[key] = np.maximum(discount * regrets[key] + instant, 0.0)
        solver.iteration()
        played = {k: (r / r.sum() if r.sum() > 0 else np.full(len(r), 1 / len(r))) for k, r in regrets.items()}
        np.testing.assert_allclose(solver.current_strategy(), naive.to_array(tree, played), atol=1e-9)


@pytest.mark.parametrize("scheme", ["full", "external", "outcome"])
def test_asymmetry_by_its_definition(scheme):
    # Infosets that an iteration does not touch keep their last regrets as the prediction.
    tree, root, draws = naive.tree_of("random:2:3"), naive.root_of("random:2:3"), naive.SplitMix(0)
    solver = Solver(tree, scheme, "apcfr+", "uniform", seed=4)
    draws = naive.SplitMix(int(solver._engine.scratches[0].rng[0]))
    strategy = naive.to_dict(tree, tree.uniform_strategy())
    regrets, last = ({key: np.zeros(len(row)) for key, row in strategy.items()} for _ in range(2))
    error, change = (dict.fromkeys(strategy, 0.0) for _ in range(2))
    for _ in range(20):
        for player in range(2):
            found = naive.sample_gradient(root, player, strategy, scheme, draws)
            for key, instant in naive.regrets_of(found, strategy, player, root).items():
                if instant is None:
                    continue
                new = np.maximum(regrets[key] + instant, 0.0)
                error[key] += ((instant - last[key]) ** 2).sum()
                change[key] += ((new - regrets[key]) ** 2).sum()
                regrets[key], last[key] = new, instant
                alpha = min(5.0, math.sqrt(error[key] / change[key])) if change[key] > 0 else 5.0
                shares = np.maximum(new + instant / (1 + alpha), 0.0)
                total = shares.sum()
                strategy[key] = (shares / total if total > 0 else np.full(len(new), 1 / len(new))).tolist()
        solver.iteration()
        np.testing.assert_allclose(solver.current_strategy(), naive.to_array(tree, strategy), atol=1e-11)


# A value one rounding error above the threshold that the others give: with it, the threshold is above.
AT_THRESHOLD = [
    [0.14934311452207608, 0.14934311452207608, -0.3506568854779239],
    [-0.0004454133120083229, -1.0004454133120082],
    [0.9350499881140221, 0.049054613825311656, -0.007947699030333153],
]


def test_the_projection_is_the_nearest_point():
    rng, threshold_of = np.random.default_rng(1), interpreted(predictive.lift_threshold)
    for case in range(200):
        count = case % 5 + 1
        values = rng.normal(size=count) * 10.0 ** rng.integers(-2, 2)
        if case < len(AT_THRESHOLD):
            values, count = np.array(AT_THRESHOLD[case]), len(AT_THRESHOLD[case])
        positive = values[values > 0]
        threshold = threshold_of(np.append(values, 7.0), 0, count, positive.sum(), float(len(positive)))
        assert threshold <= 0
        point = np.maximum(values - threshold, 0.0)
        if count == 2:
            np.testing.assert_allclose(interpreted(predictive.project_two)(*values), point, atol=1e-12)
        assert point.sum() >= 1 - 1e-12
        # Nearest: no direction within the set leads closer.
        others = np.concatenate([rng.dirichlet(np.ones(count), 50) * rng.uniform(1, 4, (50, 1)), np.eye(count)])
        assert ((others - point) @ (values - point) <= 1e-9).all()


@pytest.mark.parametrize("game", ["random:2:3", "random:3:1"])
def test_smooth_updates_by_their_definition(game):
    """R = P(R + eta r), and the next strategy is proportional to P(R + eta r), where P often has to lift."""
    tree, root, eta, lifted = naive.tree_of(game), naive.root_of(game), 0.05, 0
    solver = Solver(tree, "full", SmoothPredictive(eta), "uniform")
    strategy = naive.to_dict(tree, tree.uniform_strategy())
    regrets = {key: np.array(row) for key, row in strategy.items()}

    def lift(values):
        nonlocal lifted
        positive = np.maximum(values, 0.0)
        lifted += positive.sum() < 1 and len(values) > 2
        return positive if positive.sum() >= 1 else projected(values, 0.0)

    for _ in range(30):
        for player in range(tree.num_players):
            found = naive.sample_gradient(root, player, strategy, "full", None)
            for key, instant in naive.regrets_of(found, strategy, player, root).items():
                regrets[key] = lift(regrets[key] + eta * instant)
                shares = lift(regrets[key] + eta * instant)
                strategy[key] = (shares / shares.sum()).tolist()
        solver.iteration()
        np.testing.assert_allclose(solver.current_strategy(), naive.to_array(tree, strategy), atol=1e-11)
    assert lifted > 0


@pytest.mark.parametrize("decay", [0.0, 0.5])
def test_a_quantal_response_equilibrium_is_what_mmd_stays_at(decay):
    # At a fixed point with constant settings, b maximizes <g, x> - alpha psi(x) for each player.
    tree, root = naive.tree_of("kuhn_poker"), naive.root_of("kuhn_poker")
    solver = Solver(tree, "full", MagneticMirrorDescent(eta=0.5, alpha=0.2, decay=0.0)).run(600)
    strategy = naive.to_dict(tree, solver.current_strategy())
    for player in range(2):
        polytope = Polytope(root, player, "constant")
        gradient = naive.exact_gradient(root, player, strategy)
        for key, n in polytope.counts.items():  # what psi lacks against the one with log n in it
            above = naive.parent_sequences(root)[key]
            if above is not None:
                gradient[above] = gradient.get(above, 0.0) + 0.2 * math.log(n)
        best = polytope.best({s: v / 0.2 for s, v in gradient.items()}, polytope.uniform())
        for key, row in best.items():
            np.testing.assert_allclose(row, strategy[key], atol=1e-6)
    if decay:
        nash = Solver(tree, "full", MagneticMirrorDescent(decay=decay)).run(300).exploitability()
        assert nash < solver.exploitability()


@pytest.mark.parametrize(("game", "alpha"), [("kuhn_poker", 0), ("kuhn_poker", 1), ("liars_dice(dice_sides=2)", 0.1)])
def test_mmd_equals_openspiels(game, alpha):
    tree = naive.tree_of(game)
    theirs = mmd_dilated.MMDDilatedEnt(tree.game, alpha, 0.3)
    solver = Solver(tree, "full", MagneticMirrorDescent(0.3, alpha=alpha, decay=0.0), alternating=False)
    for _ in range(20):
        theirs.update_sequences()
        solver.iteration()
    np.testing.assert_allclose(solver.current_strategy(), strategy_of(tree, theirs.get_policies()), atol=1e-10)


@pytest.mark.parametrize("game", ["kuhn_poker", "random:2:1", "random:3:1"])
def test_reward_transformation_by_its_definition(game):
    tree, root = naive.tree_of(game), naive.root_of(game)
    mu, gamma, period = 0.1, 0.02, 3
    solver = Solver(tree, "full", RewardTransformation(mu, period, gamma))
    strategy = naive.to_dict(tree, tree.uniform_strategy())
    theta = {key: np.zeros(len(row)) for key, row in strategy.items()}
    plans = [Polytope(root, player, "constant").plan for player in range(tree.num_players)]
    reference = [plan(strategy) for plan in plans]
    parents = naive.parent_sequences(root)
    for t in range(1, 14):
        least = gamma * 0.5 ** ((t - 1) // period)
        for player in range(tree.num_players):
            plan = plans[player](strategy)
            if (t - 1) % period == 0:
                reference[player] = plan
            values = dict(naive.exact_gradient(root, player, strategy))
            for sequence in plan:
                values[sequence] = values.get(sequence, 0.0) - mu * (plan[sequence] - reference[player][sequence])
            for key in reversed([key for key in naive.infosets_of(root) if key[0] == player]):
                n, old = len(strategy[key]), theta[key]
                row = np.array([values[key, a] for a in range(n)])
                plain = old / old.sum() if old.sum() > 0 else np.full(n, 1 / n)
                values[parents[key]] = values.get(parents[key], 0.0) + np.dot(strategy[key], row)
                theta[key] = new = np.maximum(old + row - plain @ row, 0.0)
                plain = new / new.sum() if new.sum() > 0 else np.full(n, 1 / n)
                strategy[key] = ((1 - least * n) * plain + least).tolist()
        solver.iteration()
        np.testing.assert_allclose(solver.current_strategy(), naive.to_array(tree, strategy), atol=1e-11)


def projected(values, least):
    # Onto distributions of at least `least` per action: what is above, less a threshold and cut, sums to the rest.
    rest, falling = 1 - least * len(values), np.sort(values)[::-1]
    threshold = max((falling[:k].sum() - rest) / k for k in range(1, len(values) + 1))
    return np.maximum(values - threshold, 0.0) + least


@pytest.mark.parametrize(
    ("game", "gamma"),
    [
        *itertools.product(["kuhn_poker", "random:2:1", "random:3:1"], [0.0, 0.3]),
        ("liars_dice(numdice=1,dice_sides=4)", 0.3),
    ],
)
def test_regularization_by_its_definition(game, gamma):
    tree, root = naive.tree_of(game), naive.root_of(game)
    tau, kappa, period = 0.4, 0.3, 3
    solver = Solver(tree, "full", RegularizedMirrorDescent(tau, gamma, kappa, period))
    strategy = naive.to_dict(tree, tree.uniform_strategy())
    reference = {key: np.array(row) for key, row in strategy.items()}
    last, squares, parents = {}, dict.fromkeys(strategy, kappa), naive.parent_sequences(root)
    for t in range(1, 14):
        weight = tau * 0.5 ** ((t - 1) // period)
        for player in range(tree.num_players):
            values = dict(naive.exact_gradient(root, player, strategy))
            for key in reversed([key for key in naive.infosets_of(root) if key[0] == player]):
                n, played, old = len(strategy[key]), np.array(strategy[key]), squares[key]
                row = np.array([values[key, a] for a in range(n)])
                values[parents[key]] = values.get(parents[key], 0.0) + played @ row - weight / 2 * played @ played
                squares[key] += ((row - last.get(key, row)) ** 2).sum()
                last[key], eta, share = row, 1 / math.sqrt(squares[key]), math.sqrt(old / squares[key])
                centre = share * reference[key] + (1 - share) / n
                reference[key] = new = projected(centre + eta * (row - weight * reference[key]), gamma / n)
                strategy[key] = projected(new + eta * (row - weight * new), gamma / n).tolist()
        solver.iteration()
        np.testing.assert_allclose(solver.current_strategy(), naive.to_array(tree, strategy), atol=1e-11)


@pytest.mark.parametrize("count", [2, 3, 5, 8, 9, 30])
def test_regularization_with_any_number_of_actions(count):
    tau, gamma, rng = 0.4, 0.1, np.random.default_rng(count)
    minimizer = RegularizedMirrorDescent(tau, gamma)
    minimize = interpreted(minimize_with(minimizer))
    solver = Solver(naive.tree_of("kuhn_poker"), "full", minimizer)
    tree, scratch, parameters = solver.tree.arrays, solver._engine.scratches[0], minimizer.parameters()
    scratch = scratch._replace(gradient=np.zeros(count + 20))
    scratch.touched[0], scratch.num_touched[0] = (0, count, count), 1
    strategy, tables = np.full(count, 1 / count), np.zeros((minimizer.num_tables, count))
    reference, squares, last = strategy.copy(), 1.0, None
    for iteration in range(1, 30):
        row = rng.standard_normal(count) * rng.choice([0.01, 1.0, 1e3])
        value = strategy @ row - tau / 2 * strategy @ strategy
        before, squares = squares, squares + (0.0 if last is None else ((row - last) ** 2).sum())
        last, eta, share = row, 1 / math.sqrt(squares), math.sqrt(before / squares)
        reference = projected(share * reference + (1 - share) / count + eta * (row - tau * reference), gamma / count)
        expected = projected(reference + eta * (row - tau * reference), gamma / count)
        scratch.gradient[:count], scratch.gradient[count] = row, 0.0
        minimize(tree, strategy, tables, scratch, 0, iteration, parameters)
        assert scratch.gradient[count] == pytest.approx(value, rel=1e-12)
        np.testing.assert_allclose(strategy, expected, atol=1e-12)


@pytest.mark.parametrize("last", [1, 7, 100])
def test_weights_of_a_schedule(last):
    # The sums before iteration t + 1 are multiplied by (t / (t + 1))^gamma_t.
    average, expected = ScheduledAverage(15.0, drop=5.0, iterations=last), 1.0
    first = weight_of(1, *average.weights())
    for t in range(1, 50):
        weight = weight_of(t, *average.weights())
        assert weight / first == pytest.approx(expected, rel=1e-9)
        expected *= ((t + 1) / t) ** (15.0 - 5.0 * min(t / last, 1.0))
