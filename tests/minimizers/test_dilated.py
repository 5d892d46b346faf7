"""FTRL and OMD: against their definitions on whole sequences, OpenSpiel's mirror descent, and theory's rate."""

import naive
import numpy as np
import pytest
from naive_sequences import Polytope, SequenceSolver
from open_spiel.python.algorithms import mmd_dilated

from mccfr_plus import FTRL, OMD, PowerAverage, Solver
from mccfr_plus.evaluation.strategies import strategy_of
from mccfr_plus.minimizers.exponential_weights import dilated_weights
from mccfr_plus.parameters import new_state

GAMES = ("kuhn_poker", "kuhn_poker(players=3)", "random:2:1", "random:3:2")
FORMS = [
    FTRL(0.3),
    FTRL(2.0, "constant"),
    FTRL(0.3, "kroer", optimistic=True),
    OMD(0.3),
    OMD(2.0, "constant"),
    OMD(0.3, "kroer", optimistic=True),
    OMD(1.0, "kroer", decay=0.5),
    OMD(1.0, "constant", optimistic=True, decay=0.5),
]


def twin_of(minimizer, game):
    players = naive.tree_of(game).num_players
    decay = getattr(minimizer, "decay", 0.0)
    kind = minimizer.short_name
    return SequenceSolver(
        naive.root_of(game), players, kind, minimizer.eta, minimizer.weights, minimizer.optimistic, decay
    )


@pytest.mark.usefixtures("interpreted_loops")
@pytest.mark.parametrize(("game", "alternating"), [*((game, True) for game in GAMES), (GAMES[-1], False)])
@pytest.mark.parametrize("minimizer", FORMS, ids=repr)
def test_full_equals_the_definition(minimizer, game, alternating):
    tree, root = naive.tree_of(game), naive.root_of(game)
    solver, twin = Solver(tree, "full", minimizer, alternating=alternating), twin_of(minimizer, game)
    for t in range(1, 26):
        played = dict(twin.strategy)
        for player in range(tree.num_players):
            now = twin.strategy if alternating else played
            twin.update(player, naive.exact_gradient(root, player, now), t)
        solver.iteration()
        np.testing.assert_allclose(solver.current_strategy(), naive.to_array(tree, twin.strategy), atol=1e-10)
    assert np.abs(solver.current_strategy() - tree.uniform_strategy()).max() > 0.1


@pytest.mark.usefixtures("interpreted_loops")
@pytest.mark.parametrize(
    ("minimizer", "game", "scheme"),
    [
        (minimizer, GAMES[(i + j) % 4], scheme)
        for i, minimizer in enumerate(minimizer for minimizer in FORMS if not minimizer.optimistic)
        for j, scheme in enumerate(["external", "outcome", "chance", "opponent", "balanced"])
    ],
    ids=repr,
)
def test_sampled_equals_the_definition_on_sampled_gradients(minimizer, game, scheme):
    # The definition computes every infoset from scratch in every iteration; the kernel only those that were touched.
    tree, root = naive.tree_of(game), naive.root_of(game)
    solver, twin = Solver(tree, scheme, minimizer, seed=5), twin_of(minimizer, game)
    draws = naive.SplitMix(int(new_state(5)[0]))
    for t in range(1, 21):
        for player in range(tree.num_players):
            found = naive.sample_gradient(root, player, twin.strategy, scheme, draws)
            twin.update(player, found.gradient, t)
        solver.iteration()
        np.testing.assert_allclose(solver.current_strategy(), naive.to_array(tree, twin.strategy), atol=1e-9)


@pytest.mark.parametrize("weights", ["kroer", "constant"])
@pytest.mark.parametrize("game", GAMES)
def test_the_twins_step_is_optimal(game, weights):
    # <g, x> - D(x, center) is concave: no other plan may be better, near or far.
    rng = np.random.default_rng(3)
    tree, root = naive.tree_of(game), naive.root_of(game)
    for player in range(tree.num_players):
        polytope = Polytope(root, player, weights)
        gradient = {(key, a): rng.normal() for key, n in polytope.counts.items() for a in range(n)}
        uniform = polytope.uniform()

        def objective(strategy, polytope=polytope, gradient=gradient):
            plan = polytope.plan(strategy)
            return sum(v * plan[s] for s, v in gradient.items()) - polytope.entropy(strategy)

        best = polytope.best(gradient, uniform)
        for scale in (0.01, 1.0):
            for _ in range(20):
                noisy = {key: np.array(row) * np.exp(scale * rng.normal(size=len(row))) for key, row in best.items()}
                other = {key: (row / row.sum()).tolist() for key, row in noisy.items()}
                assert objective(other) <= objective(best) + 1e-12


@pytest.mark.parametrize("game", [*GAMES, "leduc_poker"])
def test_weights_by_definition(game):
    tree, root = naive.tree_of(game), naive.root_of(game)
    mine = dilated_weights(tree, "kroer")
    for player in range(tree.num_players):
        for key, weight in Polytope(root, player, "kroer").weights.items():
            assert mine[tree.infoset(key[1], player)] == weight


@pytest.mark.parametrize("optimistic", [False, True])
@pytest.mark.parametrize("scheme", ["full", "external"])
def test_constant_steps_make_ftrl_and_omd_the_same(scheme, optimistic):
    tree = naive.tree_of("leduc_poker")
    first, second = (Solver(tree, scheme, part(1.0, optimistic=optimistic), seed=1).run(200) for part in (FTRL, OMD))
    np.testing.assert_allclose(first.current_strategy(), second.current_strategy(), atol=1e-12)
    assert np.abs(first.current_strategy() - tree.uniform_strategy()).max() > 0.1


@pytest.mark.usefixtures("interpreted_loops")
@pytest.mark.parametrize(("game", "eta"), [("kuhn_poker", 0.7), ("liars_dice(dice_sides=2)", 1.5)])
def test_equals_openspiels_mirror_descent(game, eta):
    # Magnetic mirror descent without a magnet, with constant weights and simultaneous updates, is the same algorithm.
    tree = naive.tree_of(game)
    theirs = mmd_dilated.MMDDilatedEnt(tree.game, 0.0, eta)
    for _ in range(30):
        theirs.update_sequences()
    current, average = (strategy_of(tree, policies) for policies in (theirs.get_policies(), theirs.get_avg_policies()))
    for part in (FTRL, OMD):
        solver = Solver(tree, "full", part(eta, "constant"), "uniform", alternating=False).run(30)
        np.testing.assert_allclose(solver.current_strategy(), current, atol=1e-10)
        solver.iteration()  # their average begins with the uniform strategy and counts the one that comes next
        np.testing.assert_allclose(solver.average_strategy(), average, atol=1e-10)


@pytest.mark.usefixtures("interpreted_loops")
@pytest.mark.parametrize("scheme", ["full", "external"])
@pytest.mark.parametrize("minimizer", ["ftrl", "omd", "hedge"])
def test_the_average_is_that_of_sequences(minimizer, scheme):
    # Sum of the plans that were played, in sequence form; not of the probabilities at each infoset.
    tree, root = naive.tree_of("kuhn_poker"), naive.root_of("kuhn_poker")
    solver = Solver(tree, scheme, minimizer, PowerAverage(1.0), alternating=False, seed=2)
    sums = np.zeros(tree.num_slots)
    for t in range(1, 41):
        table = naive.to_dict(tree, solver.current_strategy())
        for player in range(2):
            plan = Polytope(root, player, "constant").plan(table)
            for sequence, reach in plan.items():
                if sequence is not None:
                    (owner, text), action = sequence
                    sums[tree.slots(tree.infoset(text, owner)).start + action] += t * reach
        solver.iteration()
    for infoset in range(tree.num_infosets):
        row = sums[tree.slots(infoset)]
        np.testing.assert_allclose(solver.average_strategy()[tree.slots(infoset)], row / row.sum(), atol=1e-12)


@pytest.mark.usefixtures("interpreted_loops")
def test_large_steps_and_long_runs_stay_finite():
    for minimizer in (FTRL(1e6), OMD(1e6, optimistic=True), "hedge(eta=1000000.0)"):
        solver = Solver(naive.tree_of("leduc_poker"), "outcome", minimizer, seed=1).run(1000)
        for strategy in (solver.average_strategy(), solver.current_strategy()):
            assert np.isfinite(strategy).all()
            sums = np.add.reduceat(strategy, solver.tree.arrays.infosets["first_slot"])
            np.testing.assert_allclose(sums, 1, atol=1e-12)
