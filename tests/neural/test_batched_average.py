"""The average policy of batched solvers: the weights of stored strategies, by enumeration instead of samples."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import mccfr_plus  # noqa: E402
from mccfr_plus.games.rules import CHANCE, TERMINAL  # noqa: E402
from mccfr_plus.neural import DREAM, BatchedRepresentation, DREAMConfig, TrainingConfig  # noqa: E402
from mccfr_plus.neural.memory import Samples  # noqa: E402
from mccfr_plus.neural.paths import Paths  # noqa: E402

EPSILON = 0.5


class Histories:
    """All histories of a game, as trajectories of which each is sampled once."""

    def __init__(self, tree):
        self.tree, nodes = tree, tree.arrays.nodes
        leaves, pending = [], [(0, 1.0, ())]
        while pending:
            node, chance, steps = pending.pop()
            kind, first, payload = (int(nodes[node][name]) for name in ("kind", "first_child", "payload"))
            if kind == TERMINAL:
                leaves.append((chance, steps))
            for index in range(int(nodes[node]["num_children"])):
                if kind == CHANCE:
                    factor = tree.arrays.chance["probability"][payload + index]
                    pending.append((first + index, chance * factor, steps))
                else:
                    pending.append((first + index, chance, (*steps, (kind, payload + index))))
        self.chance = np.array([chance for chance, _ in leaves])
        depth = max(len(steps) for _, steps in leaves)
        rows = [
            (traversal, *steps[level])
            for level in range(depth)
            for traversal, (_, steps) in enumerate(leaves)
            if len(steps) > level
        ]
        self.traversals, self.players, self.slots = np.array(rows).T
        levels = [sum(len(steps) > level for _, steps in leaves) for level in range(depth)]
        self.starts = np.concatenate([[0], np.cumsum(levels)])
        self.infosets = tree.infoset_of_slot[self.slots]
        records = tree.arrays.infosets[self.infosets]
        self.actions = self.slots - records["first_slot"]
        self.masks = np.arange(records["num_actions"].max()) < records["num_actions"][:, None]
        self.places = np.minimum(records["first_slot"][:, None] + np.arange(self.masks.shape[1]), tree.num_slots - 1)

    def sampled(self, strategy, explorers):
        """Returns the trajectories under a strategy, and the probability of each."""
        own = strategy[self.slots]
        explored = EPSILON / self.masks.sum(1) + (1 - EPSILON) * own
        probabilities = np.where(np.isin(self.players, explorers), explored, own)
        reach = self.chance.copy()
        np.multiply.at(reach, self.traversals, probabilities)
        paths = Paths(
            starts=self.starts,
            traversals=self.traversals,
            players=self.players,
            infosets=np.zeros((len(self.players), 0), np.float32),
            histories=np.zeros((len(self.players), 0), np.float32),
            masks=self.masks,
            strategies=np.where(self.masks, strategy[self.places], 0.0),
            actions=self.actions,
            probabilities=np.maximum(probabilities, 1e-300),  # what is never drawn has no probability below
            returns=np.zeros((len(self.chance), self.tree.num_players)),
            ends=np.zeros(len(self.chance), np.int64),
            nodes=0,
        )
        return paths, reach


class Mean:
    """Takes the place of a reservoir: sums what would be stored over all histories, times their probabilities."""

    def __init__(self, histories, player):
        self.rows = np.flatnonzero(histories.players == player)
        self.histories, self.reach = histories, np.zeros(0)
        self.sums = np.zeros((histories.tree.num_infosets, histories.masks.shape[1]))

    def add(self, samples, iteration):
        total = iteration * self.reach[self.histories.traversals[self.rows]] * samples.weights
        np.add.at(self.sums, self.histories.infosets[self.rows], total[:, None] * samples.values)


def average_with(tree, memories):
    """Returns a `BatchedRepresentation` with other memories."""
    representation = BatchedRepresentation(tree.game)
    representation._memories = memories
    return representation


def average_of(histories, means):
    tree = histories.tree
    result = tree.uniform_strategy()
    for infoset in range(tree.num_infosets):
        row = means[int(tree.arrays.infosets["player"][infoset])].sums[infoset]
        if row.sum() > 0:
            result[tree.slots(infoset)] = row[: tree.arrays.infosets["num_actions"][infoset]] / row.sum()
    return mccfr_plus.exploitability(tree, mccfr_plus.TreePolicy(tree, result))


@pytest.mark.parametrize("iterations", [100, pytest.param(300, marks=pytest.mark.slow)])
def test_average_of_linear_cfr_in_leduc(iterations):
    """Its strategies as DREAM stores them at epsilon 0.5, in expectation: 0.0345 after 100 iterations and 0.0162 after
    300. Without the weights they would be 0.0437 and 0.0218.
    """
    tree = mccfr_plus.compile_game("leduc_poker")
    histories = Histories(tree)
    solver = mccfr_plus.Solver(tree, "full", "linear")
    means, plain = ([Mean(histories, player) for player in range(2)] for _ in range(2))
    for iteration in range(1, iterations + 1):
        strategy = solver.current_strategy()
        for explorer in range(2):
            other = 1 - explorer
            paths, means[other].reach = histories.sampled(strategy, (explorer,))
            plain[other].reach = means[other].reach
            average_with(tree, means).add_strategies(other, paths, iteration)
            rows = plain[other].rows
            plain[other].add(Samples(None, None, paths.strategies[rows], np.ones(len(rows))), iteration)
        solver.run(iterations=1)
    right, wrong = average_of(histories, means), average_of(histories, plain)
    assert right == pytest.approx(solver.exploitability(), abs=1e-10)
    assert wrong > 1.2 * right


def test_three_players():
    """Where both others explore, each strategy counts by its own reach alone, whatever the others play."""
    tree = mccfr_plus.compile_game("kuhn_poker(players=3)")
    histories, draws = Histories(tree), np.random.default_rng(1)
    for player in range(3):
        found = []
        for _ in range(2):
            strategy = np.zeros(tree.num_slots)
            for infoset in range(tree.num_infosets):
                slots = tree.slots(infoset)
                row = np.random.default_rng(infoset).dirichlet([1, 1])  # the player's are the same both times
                if tree.arrays.infosets["player"][infoset] != player:
                    row = draws.permutation([0.0, 1.0])  # the others leave out half of the tree
                strategy[slots] = row
            others = tuple(other for other in range(3) if other != player)
            paths, reach = histories.sampled(strategy, others)
            means = {player: Mean(histories, player)}
            means[player].reach = reach
            average_with(tree, means).add_strategies(player, paths, 1)
            found.append(means[player].sums)
        np.testing.assert_allclose(*found, atol=1e-12)
        assert (found[0].sum(1) > 0).sum() == (tree.arrays.infosets["player"] == player).sum()


def test_a_single_player():
    """Its strategies are stored, too: the best policy walks around the cliff in four steps, a uniform one gets -68."""
    game = mccfr_plus.load_game("cliff_walking(height=2,width=3,horizon=6)")
    small = TrainingConfig(hidden_layers=(16,), train_steps=60, learning_rate=0.01)
    config = DREAMConfig(traversals=60, hidden_layers=(16,), learning_rate=0.01, policy_training=small)
    solver = DREAM(game, config, representation="batched", seed=1).run(6)
    assert solver.evaluate().values[0] > -40
