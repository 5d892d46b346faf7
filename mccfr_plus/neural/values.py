"""Values of histories and actions under the current strategies: exact, or learned by a network."""

from typing import Any

import numpy as np

from mccfr_plus.estimators.escher import refresh_values
from mccfr_plus.games.rules import CHANCE, TERMINAL
from mccfr_plus.kernels.compile import announce_compilation, kernel
from mccfr_plus.neural.memory import Examples
from mccfr_plus.neural.network import Learner, Modules
from mccfr_plus.neural.paths import Paths, value_targets
from mccfr_plus.trees.batches import histories_of


class ValueLearner(Learner):
    """A network of values of actions at histories; one player's, if payoffs of two players sum to a constant."""

    def __init__(
        self, representation: Any, inputs: np.ndarray, num_actions: int, config: Any, rngs: Any, modules: Modules
    ):
        self._sum = representation.constant_sum if representation.num_players == 2 else None
        heads = representation.num_players if self._sum is None else 1
        self._units = np.array([representation.unit_of(player) for player in range(heads)])
        self._shape = (heads, num_actions)
        name = f"loss of the values of {representation.name}"
        super().__init__(inputs, heads * num_actions, config, rngs, name, "values", modules)

    def values_of(self, outputs: np.ndarray) -> np.ndarray:
        """Returns the values of outputs, ``[n, num_players, num_actions]``."""
        values = outputs.reshape(-1, *self._shape) * self._units[:, None]
        return values if self._sum is None else np.concatenate([values, self._sum - values], axis=1)

    def fit_values(self, infosets: np.ndarray, rows: Any, actions: Any, values: Any, iteration: int) -> None:
        """Trains on values of actions, ``[n, num_players]``, at ``rows`` of the infosets."""
        targets, weights = np.zeros((2, len(infosets), *self._shape), np.float32)
        targets[rows, :, actions] = values[:, : len(self._units)] / self._units
        weights[rows, :, actions] = 1.0
        flat = (len(infosets), self._sizes[1])
        self.fit(Examples(infosets, targets.reshape(flat), weights.reshape(flat)), iteration)


class PathValues:
    """A network with an output per action, without a model whatever ``uses_model`` is. See `TreeValues`."""

    def __init__(self, representation: Any, uses_model: bool, *training: Any):
        no_inputs = np.zeros((0, representation.observer.history_size), np.float32)
        self.learner = ValueLearner(representation, no_inputs, representation.num_actions, *training)
        self._trained = np.zeros(1, np.int64)  # iteration of the last training
        self.evict()

    def at(self, paths: Paths) -> np.ndarray:
        """Returns action values, ``[num_decisions, num_players, num_actions]``; 0 if untrained."""
        if not self._trained[0]:
            return np.zeros((len(paths.masks), paths.returns.shape[1], paths.masks.shape[1]))
        return self.learner.values_of(self.learner.outputs(paths.histories))

    def evict(self) -> None:
        self._samples: list[tuple[np.ndarray, ...]] = []

    def note(self, paths: Paths, values: np.ndarray) -> None:
        self._samples.append((paths.histories, paths.actions, value_targets(paths, values)))

    def learn(self, iteration: int) -> None:
        histories, actions, found = (np.concatenate(arrays) for arrays in zip(*self._samples, strict=True))
        self.learner.fit_values(histories, np.arange(len(actions)), actions, found, iteration)
        self._trained[0] = iteration if self.learner.losses else self._trained[0]

    def parts(self) -> dict[str, Any]:
        return {"network": self.learner, "trained": self._trained}


class ExactValues:
    """Values of the histories of a tree, ``table``, ``[num_players, num_nodes]``, by a pass over it."""

    def __init__(self, representation: Any):
        self._representation, tree = representation, representation.tree
        self.table = np.zeros((tree.num_players, tree.num_nodes))
        leaves = np.flatnonzero(tree.arrays.nodes["kind"] == TERMINAL)
        self.table[:, leaves] = tree.arrays.payoffs[tree.arrays.nodes["payload"][leaves]].T

    def at(self, paths: Paths) -> np.ndarray:
        """Returns action values, ``[num_decisions, num_players, num_actions]``; 0 at illegal ones."""
        children = np.where(paths.masks, self._representation.observer.children(paths.histories), 0)
        return np.where(paths.masks, self.table[:, children], 0.0).swapaxes(0, 1)

    def refresh(self, player: int) -> None:
        tree, strategy = self._representation.tree.arrays, self._representation.strategy
        with announce_compilation(refresh_values):
            refresh_values(tree, strategy, self.table[player], player)

    def parts(self) -> dict[str, Any]:
        return {}


class TreeValues(ExactValues):
    """A network that learns values from sampled histories, for all histories of a tree.

    With the model (ESCHER), a sampled history's target is the expected value of its children: their targets where they
    were sampled, else the network's values. Without it (DREAM) they are values of actions, in the table at the history
    after the action, and the value of a chance node is the mean of the sampled outcomes.
    """

    def __init__(self, representation: Any, uses_model: bool, *training: Any):
        super().__init__(representation)
        tree, self._uses_model = representation.tree, uses_model
        self._targets = np.zeros_like(self.table)
        self.visited = np.zeros(tree.num_nodes, np.int64)  # samples of leaves since `evict`, of prefixes since `learn`
        observer, kinds = representation.observer, tree.arrays.nodes["kind"]
        rows = np.cumsum(kinds != TERMINAL) - 1  # of the inputs
        # The nodes that have an output, and where: row of the inputs, action.
        self._nodes = np.flatnonzero(kinds != TERMINAL)
        self._rows, self._actions = rows[self._nodes], np.zeros(len(self._nodes), np.int64)
        if not uses_model:
            self.table[:] = 0.0
            nodes = np.flatnonzero(kinds >= 0)
            places, self._actions = np.nonzero(observer.masks[observer.numbers(nodes)])
            self._nodes, self._rows = observer.children(nodes)[places, self._actions], rows[nodes[places]]
        num_actions = int(self._actions.max(initial=0)) + 1
        inputs = histories_of(tree, representation.name)
        self.learner = ValueLearner(representation, inputs, num_actions, *training)

    def evict(self) -> None:
        self.visited[:] = 0

    def note(self, paths: Paths, values: np.ndarray) -> None:
        self.visited += np.bincount(paths.ends, minlength=len(self.visited))

    def learn(self, iteration: int) -> None:
        """Trains on the histories sampled since `evict`, and fills the table."""
        arrays, strategy = self._representation.tree.arrays, self._representation.strategy
        with announce_compilation(back_up):
            back_up(arrays, strategy, self.visited, self._uses_model, self.table, self._targets)
        seen = self.visited[self._nodes] > 0
        rows, places = np.unique(self._rows[seen], return_inverse=True)
        targets = self._targets[:, self._nodes[seen]].T
        self.learner.fit_values(rows, places, self._actions[seen], targets, iteration)
        values = self.learner.values_of(self.learner.outputs())
        self.table[:, self._nodes] = values[self._rows, :, self._actions].T

    def parts(self) -> dict[str, Any]:
        return {"table": self.table, "network": self.learner}


@kernel
def back_up(tree, strategy, visited, uses_model, values, targets):
    """Backs up the values of sampled histories to ``targets``, or ``values``, both ``[num_players, num_nodes]``.

    ``visited``, ``[num_nodes]`` int64, has the number of samples of each leaf; those of prefixes are written to it.
    """
    nodes = tree.nodes
    for node in range(len(nodes) - 1, -1, -1):
        record = nodes[node]
        kind, child, payload = record["kind"], record["first_child"], record["payload"]
        if kind != TERMINAL:
            visited[node] = visited[child : child + record["num_children"]].sum()
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
