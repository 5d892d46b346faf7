"""ESCHER: its regrets are counterfactual regrets times what never changes, exactly; its values; what is refused."""

import naive
import numpy as np
import pytest

from mccfr_plus import ConfigError, Solver, check_estimator, regret_bound
from mccfr_plus.checks.games import exact_gradient, own_reach
from mccfr_plus.checks.sampler import Script, all_outcomes, plain, scripted_draws
from mccfr_plus.estimators import balanced_strategy
from mccfr_plus.estimators.escher import escher_traversal, refresh_values
from mccfr_plus.estimators.traversal import LIST_VISIT, list_infoset, list_nothing
from mccfr_plus.kernels.slots import bind
from mccfr_plus.trees.scratch import begin_gradient, begin_traversal, new_scratch

GAMES = ("kuhn_poker", "random:2:2", "random:2:6", "random:2:28", "random:3:2", "random:3:12")
LEARNED = -1


def regrets_of(tree, strategy, player, gradient):
    """Returns what a minimizer would add to the regrets, ``[num_slots]``, going through all infosets backwards."""
    values, regrets = gradient.copy(), np.zeros(tree.num_slots)
    first, last = tree.arrays.infoset_range[player : player + 2]
    for infoset in range(last - 1, first - 1, -1):
        slots = tree.slots(infoset)
        mean = strategy[slots] @ values[slots]
        regrets[slots] = values[slots] - mean
        values[tree.arrays.infosets["parent_slot"][infoset]] += mean
    return regrets


class Traverser:
    """Traversals outside of a solver, compiled or by a script."""

    def __init__(self, tree, sampling, script=None, state=1, list_visit=list_nothing):
        self.tree, self.exploration = tree, np.zeros(0) if sampling == "uniform" else balanced_strategy(tree)
        self.values = np.zeros((tree.num_players, tree.num_nodes))
        self.scratch = new_scratch(
            tree.arrays, tree.shape, np.array([state], np.uint64), max_visits=tree.num_nodes, values=self.values
        )
        self.traversal = bind(escher_traversal, {LIST_VISIT: list_visit})
        if script is not None:
            self.traversal = plain(self.traversal, scripted_draws(script))

    def gradient(self, strategy, player, refresh=1, rate=1.0):
        scratch, tree = self.scratch, self.tree
        scratch.gradient[:] = 1e12  # rubbish: what is added without `touch` shows
        scratch.gradient[tree.num_slots :] = 0.0
        begin_gradient(tree.arrays, scratch, player)
        begin_traversal(scratch)
        self.traversal(np.array([refresh, rate]), self.exploration, tree.arrays, strategy, scratch, player)
        found = np.zeros(len(scratch.gradient))
        begin = tree.arrays.infoset_range[player]
        for touched in scratch.touched[begin : begin + scratch.num_touched[player]]:
            slots = slice(touched["first_slot"], touched["first_slot"] + touched["num_actions"])
            found[slots] = scratch.gradient[slots]
        return found


@pytest.mark.parametrize("zeros", [0.0, 0.4])
@pytest.mark.parametrize("sampling", ["uniform", "balanced"])
@pytest.mark.parametrize("game", GAMES)
def test_regrets_are_counterfactual_regrets_times_what_never_changes(game, sampling, zeros):
    tree = naive.tree_of(game)
    fixed = tree.uniform_strategy() if sampling == "uniform" else balanced_strategy(tree)
    factor = np.append(own_reach(tree, fixed), np.ones(tree.num_players))
    largest = 0.0
    for seed in (1, 2):
        strategy = naive.random_strategy(tree, seed, zeros=zeros)
        for player in range(tree.num_players):
            script = Script()
            traverser = Traverser(tree, sampling, script)
            mean, mass = np.zeros(tree.num_slots), 0.0
            for probability, gradient in all_outcomes(
                script, lambda w=traverser, s=strategy, p=player: w.gradient(s, p)
            ):
                mean += probability * regrets_of(tree, strategy, player, gradient)
                mass += probability
            assert mass == pytest.approx(1.0, abs=1e-12)
            expected = regrets_of(tree, strategy, player, exact_gradient(tree, strategy, player))
            for infoset in range(*tree.arrays.infoset_range[player : player + 2]):
                slots = tree.slots(infoset)
                scale = factor[tree.arrays.infosets["parent_slot"][infoset]]
                np.testing.assert_allclose(mean[slots], scale * expected[slots], atol=1e-12)
            largest = max(largest, float(np.abs(expected).max()))
    assert largest > 0


@pytest.mark.parametrize("game", [*GAMES, "leduc_poker"])
def test_values_are_what_histories_are_worth(game):
    tree, root = naive.tree_of(game), naive.root_of(game)
    strategy = naive.random_strategy(tree, 1, zeros=0.3)
    values = np.zeros((tree.num_players, tree.num_nodes))
    for player in range(tree.num_players):
        refresh_values(tree.arrays, strategy, values[player], player)
    table = naive.to_dict(tree, strategy)
    for node, number in some_histories(tree, root):
        np.testing.assert_allclose(values[:, number], naive.expected_values(node, table), atol=1e-12)


def some_histories(tree, root, most=300):
    """Yields nodes as `naive` has them with their numbers in the tree; not all of those of a large one."""
    stack, count = [(root, 0)], 0
    while stack and count < most:
        node, number = stack.pop()
        yield node, number
        first = tree.arrays.nodes[number]["first_child"]
        stack.extend((child, first + index) for index, child in enumerate(node.children))
        count += 1


@pytest.mark.parametrize("sampling", ["uniform", "balanced"])
def test_learned_values_become_the_histories_values(sampling):
    # With strategies held fixed, where every history can be reached: leaves are exact, then what is above them.
    tree, root = naive.tree_of("kuhn_poker"), naive.root_of("kuhn_poker")
    traverser, strategy = Traverser(tree, sampling), naive.random_strategy(tree, 1)
    uniform = tree.uniform_strategy()
    for player in range(2):
        refresh_values(tree.arrays, uniform, traverser.values[player], player)
        for _ in range(5000):
            traverser.gradient(strategy, player, LEARNED)
    table = naive.to_dict(tree, strategy)
    for node, number in some_histories(tree, root):
        np.testing.assert_allclose(traverser.values[:, number], naive.expected_values(node, table), atol=1e-12)
    # A part of the way: it comes nearer, and does not arrive.
    slow = Traverser(tree, sampling)
    before = slow.values[0, 0]
    slow.gradient(strategy, 0, LEARNED, rate=0.25)
    refresh_values(tree.arrays, strategy, traverser.values[0], 0)
    assert slow.values[0, 0] == before  # nothing is known of the leaves yet
    refresh_values(tree.arrays, uniform, slow.values[0], 0)
    path = slow.values[0].copy()
    slow.gradient(strategy, 0, LEARNED, rate=0.25)
    moved = np.flatnonzero(path != slow.values[0])
    assert len(moved) > 0
    assert (tree.arrays.nodes["num_children"][moved] > 0).all()  # leaves stay exact


def test_opponents_are_visited_by_their_own_reach_times_what_never_changes():
    tree = naive.tree_of("kuhn_poker")
    factors = []
    for seed in (1, 2):
        strategy, script = naive.random_strategy(tree, seed), Script()
        traverser = Traverser(tree, "balanced", script, list_visit=list_infoset)
        sums = np.zeros(tree.num_slots)

        def traversal(traverser=traverser, strategy=strategy):
            traverser.gradient(strategy, 0)
            return traverser.scratch.visits[: traverser.scratch.counts[0]["num_visits"]].copy()

        for probability, visits in all_outcomes(script, traversal):
            for visit in visits:
                sums[visit["first_slot"]] += probability * visit["weight"]
        reach = np.append(own_reach(tree, strategy), [1.0, 1.0])
        infosets = tree.arrays.infosets[tree.arrays.infoset_range[1] :]
        factors.append([sums[record["first_slot"]] / reach[record["parent_slot"]] for record in infosets])
    np.testing.assert_allclose(factors[0], factors[1], atol=1e-12)
    assert min(factors[0]) > 0


def test_values_are_computed_anew_every_so_many_iterations():
    tree = naive.tree_of("kuhn_poker")
    solver = Solver(tree, "escher(refresh=10)", "rm", seed=1)
    longest = tree.shape.max_depth + 1
    solver.run(10)
    assert 0 < solver.nodes_touched - 2 * tree.num_nodes <= 2 * 10 * longest
    solver.run(1)
    assert 0 < solver.nodes_touched - 4 * tree.num_nodes <= 2 * 11 * longest
    # A batch computes them once.
    batch = Solver(tree, "escher(refresh=1)", "rm", batch=5, seed=1).run(1)
    assert 0 < batch.nodes_touched - 2 * tree.num_nodes <= 2 * 5 * longest


def test_a_batch_is_the_mean_of_its_walks():
    # Player 0's first update: all traversals see the values of uniform play.
    tree = naive.tree_of("leduc_poker")
    traverser, strategy = Traverser(tree, "uniform", state=3), tree.uniform_strategy()
    singles = [traverser.gradient(strategy, 0) for _ in range(7)]
    mean = np.mean([regrets_of(tree, strategy, 0, gradient) for gradient in singles], axis=0)
    solver = Solver(tree, "escher(refresh=1)", "rm", batch=7, seed=1)
    solver._engine.scratches[0].rng[0] = 3
    solver.run(1)
    own = slice(*tree.arrays.slot_range[:2])
    np.testing.assert_allclose(solver._engine.tables[0][own], mean[own], atol=1e-12)


def test_refuses_what_does_not_go_together():
    with pytest.raises(ConfigError, match="only gradients can be checked"):
        check_estimator("escher")
    assert regret_bound(naive.tree_of("kuhn_poker"), 0, 100, "escher", "rm") is None
    solver = Solver("kuhn_poker", "escher", threads=2, thread_mode="fast", seed=1).run(20_000)
    assert solver.exploitability() < 0.1
