"""Matrix games, the smallest case: a sublinear method and the sparse strategies that it leaves."""

import naive
import numpy as np
import pyspiel
import pytest

from mccfr_plus import Solver

NFG = """NFG 1 R "biased pennies"
{ "row" "column" } { 2 2 }

3 -3 -2 2 -1 1 1 -1
"""


@pytest.fixture(scope="module")
def nfg(tmp_path_factory):
    path = tmp_path_factory.mktemp("games") / "pennies.nfg"
    path.write_text(NFG)
    return f"nfg_game(filename={path})"


def random_matrix(rows, columns, seed=0):
    payoffs = np.random.default_rng(seed).uniform(-1, 1, (rows, columns))
    names = [str(i) for i in range(rows)], [str(i) for i in range(columns)]
    return pyspiel.create_matrix_game("random", "random", *names, payoffs.tolist(), (-payoffs).tolist())


@pytest.mark.parametrize("estimator", naive.ESTIMATORS)
def test_a_game_from_a_file(nfg, estimator):
    # Columns of the file are players' payoffs; rows (3, -1), (-2, 1): player 0 plays (3/7, 4/7), value 1/7.
    solver = Solver(nfg, estimator, "rm", seed=1).run(40_000)
    np.testing.assert_allclose(solver.average_strategy(), [3 / 7, 4 / 7, 2 / 7, 5 / 7], atol=0.05)
    assert solver.evaluate().values[0] == pytest.approx(1 / 7, abs=0.05)


@pytest.mark.parametrize("estimator", ["external(sample_per_infoset=True)", "external"])
def test_an_iteration_looks_at_one_row_and_one_column(estimator):
    # Grigoriadis, Khachiyan 1995: O(rows + columns) of a matrix with rows x columns entries. For the row player: the
    # root, all rows, one leaf each; for the column player: the root, one row, all of its leaves.
    rows, columns = 60, 40
    solver = Solver(random_matrix(rows, columns), estimator, "rm", seed=1).run(50)
    assert solver.nodes_touched == 50 * ((1 + 2 * rows) + (2 + columns))
    assert solver.tree.num_nodes == 1 + rows + rows * columns


@pytest.mark.parametrize("iterations", [1, 2, 5, 20])
def test_k_iterations_mix_at_most_k_actions(iterations, interpreted_loops):
    solver = Solver(random_matrix(60, 40), "external(sample_per_infoset=True)", "rm", "sampled", seed=2).run(iterations)
    average = solver.average_strategy()
    for player in range(2):
        slots = slice(*solver.tree.arrays.slot_range[player : player + 2])
        row = average[slots]
        assert 1 <= np.count_nonzero(row) <= iterations
        np.testing.assert_allclose(row * iterations, np.round(row * iterations), atol=1e-12)  # counts over k
        assert row.sum() == pytest.approx(1)


def test_the_drawn_actions_are_what_is_counted(interpreted_loops):
    # By hand: opponents' draws of each traversal, in the twin.
    tree, root = naive.tree_of("kuhn_poker"), naive.root_of("kuhn_poker")
    solver = Solver(tree, "external", "rm", "sampled", alternating=False, seed=5)
    draws, sums = naive.SplitMix(int(solver._engine.scratches[0].rng[0])), np.zeros(tree.num_slots)

    class Noting:
        """Draws as the twin does, and notes what was drawn of which strategy."""

        def __init__(self):
            self.drawn = []

        def outcome(self, probabilities):
            return draws.outcome(probabilities)

        def action(self, probabilities):
            self.drawn.append(draws.action(probabilities))
            return self.drawn[-1]

    for _ in range(30):
        table = naive.to_dict(tree, solver.current_strategy())
        for player in range(2):
            noting = Noting()
            found = naive.sample_gradient(root, player, table, "external", noting)
            for (key, weight), index in zip(found.visits, noting.drawn, strict=True):
                sums[tree.slots(tree.infoset(key[1], key[0])).start + index] += weight
        solver.iteration()
    np.testing.assert_array_equal(solver._engine.average[: tree.num_slots], sums)
