"""Values of histories and actions under the current strategies: exact, or learned by a network."""

from __future__ import annotations

from typing import Any

import numpy as np

from mccfr_plus.estimators.escher import refresh_values
from mccfr_plus.kernels.compile import announce_compilation, kernel
from mccfr_plus.neural.config import TrainingConfig
from mccfr_plus.neural.features import Histories, histories_of
from mccfr_plus.neural.learner import Learner
from mccfr_plus.neural.memory import Batch
from mccfr_plus.neural.network import Modules
from mccfr_plus.neural.sampling.paths import Paths
from mccfr_plus.tree.arrays import CHANCE, TERMINAL
from mccfr_plus.tree.game_tree import GameTree


class TreeValues:
    """Values of the histories of a tree.

    Args:
        env: A `TreeEnv`, with the strategies.

    Attributes:
        table: ``[num_players, num_nodes]`` float64; at leaves the payoffs.
    """

    def __init__(self, env: Any):
        self._env, tree = env, env.tree
        self.table = np.zeros((tree.num_players, tree.num_nodes))
        leaves = np.flatnonzero(tree.arrays.nodes["kind"] == TERMINAL)
        self.table[:, leaves] = tree.arrays.payoffs[tree.arrays.nodes["payload"][leaves]].T

    def at(self, paths: Paths) -> np.ndarray:
        """Returns the action values at decisions, ``[num_decisions, num_players, num_actions]``; 0 at illegal ones."""
        children = np.where(paths.masks, self._env.observer.children(paths.histories), 0)
        return np.where(paths.masks, self.table[:, children], 0.0).swapaxes(0, 1)


class ExactValues(TreeValues):
    """Values computed by a pass over the tree."""

    def state(self) -> dict[str, np.ndarray]:
        """Returns the state between calls: none, as each turn refreshes the table."""
        return {}

    def prepare(self) -> None:
        """Compiles the kernels."""
        with announce_compilation(refresh_values):
            self.refresh(0)

    def refresh(self, player: int) -> None:
        """Writes a player's values under the current strategies to the table."""
        refresh_values(self._env.tree.arrays, self._env.strategy, self.table[player], player)


class LearnedValues(TreeValues):
    """A network that learns values from sampled histories. See `StateValues` and `ActionValues`.

    Args:
        env: A `TreeEnv`, with the strategies.
        config: Shape of the network and how it is trained.
        rngs: ``[2]`` uint64, states of the generators of initial parameters and of batches. Modified in place.
        solver_name: For error messages.
        modules: Factories of the network and of its optimizer, and the device.

    Attributes:
        table: ``[num_players, num_nodes]`` float64, the network's values; 0 before it is trained.
        visited: ``[num_nodes]`` int64, how often histories were sampled since `evict`.
    """

    uses_model: bool  # whether chance probabilities and the payoffs of unvisited leaves come from the game

    def __init__(self, env: Any, config: TrainingConfig, rngs: np.ndarray, solver_name: str, modules: Modules):
        super().__init__(env)
        tree = env.tree
        if not self.uses_model:
            self.table[:] = 0.0
        self.visited, self._targets = np.zeros(tree.num_nodes, np.int64), np.zeros_like(self.table)
        histories = histories_of(tree, solver_name)
        # The nodes that have an output, and where: row of the inputs, action.
        self._nodes, self._rows, self._actions = self._outputs(tree, histories)
        self._num_actions = int(self._actions.max(initial=0)) + 1
        # One output serves both players where payoffs sum to a constant.
        self._is_shared = tree.num_players == 2 and tree.is_constant_sum
        self._heads = slice(0, 1 if self._is_shared else tree.num_players)
        self._sum = float(tree.arrays.payoffs[0].sum())
        ranges = np.asarray(tree.payoff_range, np.float64)
        self._units = np.where(ranges > 0.0, ranges / 2.0, 1.0)[self._heads, None]
        num_outputs, name = len(self._units) * self._num_actions, f"loss of the values of {solver_name}"
        self.learner = Learner(histories.tensors, num_outputs, config, rngs, name, modules)

    def _outputs(self, tree: GameTree, histories: Histories) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        raise NotImplementedError

    def state(self) -> dict[str, np.ndarray]:
        """Returns the state between calls: views, by name."""
        return {"table": self.table} | self.learner.state()

    def prepare(self) -> None:
        """Compiles the kernels."""
        with announce_compilation(back_up):
            self._back_up()
            add_to_prefixes(self._env.tree.arrays.nodes, np.zeros_like(self.visited))

    def evict(self) -> None:
        """Drops the sampled histories."""
        self.visited[:] = 0

    def note(self, paths: Paths, values: np.ndarray) -> None:
        """Adds sampled histories to what is learned from."""
        visited = np.bincount(paths.ends, minlength=len(self.visited))
        add_to_prefixes(self._env.tree.arrays.nodes, visited)
        self.visited += visited

    def learn(self, iteration: int) -> None:
        """Trains on the histories sampled since `evict`, and fills the table.

        Raises:
            TrainingError: If the network diverges.
        """
        self._back_up()
        self.learner.fit(self._batch(), iteration)
        outputs = self.learner.predict(iteration).astype(np.float64)
        outputs = outputs.reshape(len(outputs), len(self._units), -1)[self._rows, :, self._actions]
        self.table[self._heads, self._nodes] = outputs.T * self._units
        if self._is_shared:
            self.table[1, self._nodes] = self._sum - self.table[0, self._nodes]

    def _back_up(self) -> None:
        env = self._env
        back_up(env.tree.arrays, env.strategy, self.visited, self.uses_model, self.table, self._targets)

    def _batch(self) -> Batch:
        """Returns the targets of the sampled histories."""
        seen = self.visited[self._nodes] > 0
        rows, places = np.unique(self._rows[seen], return_inverse=True)
        targets = np.zeros((len(rows), len(self._units), self._num_actions), np.float32)
        weights = np.zeros_like(targets)
        targets[places, :, self._actions[seen]] = (self._targets[self._heads, self._nodes[seen]] / self._units).T
        weights[places, :, self._actions[seen]] = 1.0
        shape = (len(rows), len(self._units) * self._num_actions)
        return Batch(rows.astype(np.int64), targets.reshape(shape), weights.reshape(shape))


class StateValues(LearnedValues):
    """The network of history values of ESCHER: exact at leaves, and trained at chance nodes too.

    The target of a sampled history is the expected value of its children: their targets where they were sampled, the
    network's values elsewhere.
    """

    uses_model = True

    def _outputs(self, tree: GameTree, histories: Histories) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return histories.nodes, histories.row_of_node[histories.nodes], np.zeros(len(histories.nodes), np.int64)


class ActionValues(LearnedValues):
    """The network of action values of DREAM: the table holds an action's value at the history after it.

    Only samples are used: the value of a sampled chance node is the mean of the sampled outcomes. Actions that were not
    sampled have the network's value.
    """

    uses_model = False

    def _outputs(self, tree: GameTree, histories: Histories) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        observer, nodes = self._env.observer, np.flatnonzero(tree.arrays.nodes["kind"] >= 0)
        places, actions = np.nonzero(observer.masks[observer.numbers(nodes)])
        return observer.children(nodes)[places, actions], histories.row_of_node[nodes[places]], actions


@kernel
def add_to_prefixes(nodes, visited):
    """Adds to each history's visits, ``[num_nodes]``, those of all histories after it. Modified in place."""
    for node in range(len(nodes) - 1, -1, -1):
        first = nodes[node]["first_child"]
        for child in range(first, first + nodes[node]["num_children"]):
            visited[node] += visited[child]


@kernel
def back_up(tree, strategy, visited, uses_model, values, targets):
    """Backs up the values of sampled histories from the leaves.

    Args:
        tree: `TreeArrays`.
        strategy: ``[num_slots]`` float64, the strategies of all players.
        visited: ``[num_nodes]`` int64, number of samples of each history, its prefixes included.
        uses_model: Whether chance outcomes are weighted by their probabilities, or by their sampled frequencies.
        values: ``[num_players, num_nodes]``, used where nothing was sampled.
        targets: ``[num_players, num_nodes]``. Modified in place.
    """
    nodes = tree.nodes
    for node in range(len(nodes) - 1, -1, -1):
        record = nodes[node]
        kind, child, payload = record["kind"], record["first_child"], record["payload"]
        for player in range(len(targets)):
            if visited[node] == 0:
                targets[player, node] = values[player, node]
                continue
            if kind == TERMINAL:
                targets[player, node] = tree.payoffs[payload, player]
                continue
            value = 0.0
            for index in range(record["num_children"]):
                if kind != CHANCE:
                    probability = strategy[payload + index]
                elif uses_model:
                    probability = tree.chance[payload + index]["probability"]
                else:
                    probability = visited[child + index] / visited[node]
                value += probability * targets[player, child + index]
            targets[player, node] = value
