"""Samplers for memories: they record the sampled regrets of each infoset instead of adding them to a table.

`Sampler` is external sampling, for Deep CFR. `PathSampler` samples single trajectories, for DREAM and ESCHER.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mccfr_plus.estimators.draws import draw_action, draw_exploring, draw_outcome
from mccfr_plus.estimators.traversal import traversal
from mccfr_plus.estimators.visits import max_visits
from mccfr_plus.kernels.compile import announce_compilation, kernel
from mccfr_plus.kernels.scratch import (
    NODES_TOUCHED,
    at,
    begin_gradient,
    begin_traversal,
    new_scratch,
    refresh_reach,
)
from mccfr_plus.minimizers.infoset import expected_value
from mccfr_plus.neural.memory import Samples
from mccfr_plus.tree.arrays import CHANCE, TERMINAL
from mccfr_plus.tree.game_tree import GameTree

_MIN_CAPACITY = 1 << 14  # samples of a buffer: calls from Python stay cheap, and the buffer stays in the cache


class Sampler:
    """External sampling on a compiled tree (Brown et al. 2019, algorithm 2), and the exact average strategy.

    Args:
        tree: The game, or its arrays alone. Of perfect recall.
        rng: ``[1]`` uint64, the state of the random generator. Modified in place.
        num_actions: Number of distinct actions of the game; None: as the game says.

    Attributes:
        visited: ``[num_nodes]`` int64, how often trajectories visited each history; empty with external sampling.
    """

    def __init__(self, tree: GameTree, rng: np.ndarray, num_actions: int | None = None):
        self._tree = tree
        self._scratch = new_scratch(tree.arrays, tree.shape, rng)
        nodes = tree.arrays.nodes
        self._max_samples = [int(max_visits(nodes, p, True, False, True)) for p in range(tree.num_players)]
        size = max(_MIN_CAPACITY, *self._max_samples)
        width = tree.game.num_distinct_actions() if num_actions is None else num_actions
        self._buffer = np.zeros(size, np.int32), np.zeros((size, width)), np.zeros(size)
        self._labels = tree.infoset_of_slot, tree.slot_action
        self.visited = np.zeros(0, np.int64)

    @property
    def nodes_touched(self) -> int:
        """Histories visited so far."""
        return int(self._scratch.counts[NODES_TOUCHED])

    def state(self) -> dict[str, np.ndarray]:
        """Returns the state between calls: views, by name."""
        return {"rng": self._scratch.rng, "nodes": self._scratch.counts[NODES_TOUCHED : NODES_TOUCHED + 1]}

    def prepare(self) -> None:
        """Compiles the kernels."""
        strategy = self._tree.uniform_strategy()
        with announce_compilation(record_traversals):
            self._fill_buffer(strategy, 0, 0)
            self.add_to_average(strategy, np.zeros(len(strategy) + self._tree.num_players), 0, 0.0)

    def sample(self, strategy: np.ndarray, player: int, traversals: int, *options: Any) -> Iterator[Samples]:
        """Runs traversals for a player, and yields their samples: views of a buffer, which the next ones overwrite.

        Args:
            strategy: ``[num_slots]`` float64, the strategies of all players.
            player: The player whose regrets are sampled.
            traversals: How many.
            *options: Of trajectories: the values of histories to the player, ``[num_nodes]`` float64, or None for 0;
                epsilon, the probability of drawing an own action from the exploration strategy; and whether the values
                are baselines of sampled values, or replace them.
        """
        while traversals > 0:
            done, count, has_weights = self._fill_buffer(strategy, player, traversals, *options)
            rows, regrets, weights = (array[:count] for array in self._buffer)
            yield Samples({"rows": rows}, regrets, weights if has_weights else None)
            traversals -= done

    def _fill_buffer(self, strategy: np.ndarray, player: int, traversals: int) -> tuple[int, int, bool]:
        """Runs traversals until the buffer is full.

        Returns:
            The number of traversals (at least 1 if `traversals` is), of samples, and whether these have weights.
        """
        done, count = record_traversals(
            self._tree.arrays, strategy, self._scratch, player, traversals, self._max_samples[player], self._labels,
            *self._buffer[:2],
        )  # fmt: skip
        return int(done), int(count), False

    def add_to_average(self, strategy: np.ndarray, average: np.ndarray, player: int, weight: float) -> None:
        """Adds weight x own reach x strategy at all of a player's slots to ``average``, modified in place.

        Args:
            strategy: ``[num_slots]`` float64.
            average: ``[num_slots + num_players]`` float64; the last entries sum the weights.
            player, weight: The player and the weight.
        """
        add_player(self._tree.arrays, strategy, average, self._scratch, player, float(weight))


class PathSampler(Sampler):
    """Samples single trajectories from the root to a leaf; see `Sampler.sample` for the options.

    Args:
        tree: The game, or its arrays alone. Of perfect recall.
        rng: ``[1]`` uint64, the state of the random generator. Modified in place.
        num_actions: See `Sampler`.
        exploration: ``[num_slots]`` float64, the exploration strategy; None: uniform.
    """

    def __init__(
        self, tree: GameTree, rng: np.ndarray, num_actions: int | None = None, exploration: np.ndarray | None = None
    ):
        super().__init__(tree, rng, num_actions)
        self.exploration = np.zeros(0) if exploration is None else exploration
        depth = tree.shape.max_depth
        self._trajectory = np.zeros(depth + 1, np.int32), np.zeros(depth + 1)
        self.visited = np.zeros(tree.num_nodes, np.int64)
        self._no_values = np.zeros(tree.num_nodes)

    def prepare(self) -> None:
        super().prepare()
        with announce_compilation(record_paths):
            self._fill_buffer(self._tree.uniform_strategy(), 0, 0)

    def _fill_buffer(  # type: ignore[override]
        self,
        strategy: np.ndarray,
        player: int,
        traversals: int,
        values: np.ndarray | None = None,
        epsilon: float = 1.0,
        corrected: bool = False,
    ) -> tuple[int, int, bool]:
        done, count = record_paths(
            self._tree.arrays, strategy, self.exploration, self._no_values if values is None else values, self._scratch,
            player, traversals, (float(epsilon), corrected), self._labels, self._trajectory, self.visited, self._buffer,
        )  # fmt: skip
        return int(done), int(count), corrected


@kernel
def record_traversals(tree, strategy, scratch, player, traversals, max_samples, labels, rows, regrets):
    """Runs external-sampling traversals and records the sampled regrets of each touched infoset.

    With v(a) the sampled value of action a, the regrets are v(a) - sum_b strategy(b) v(b) (Brown et al. 2019,
    algorithm 2, line 9). The gradient holds v once the values of all later infosets are backed up.

    Args:
        tree: `TreeArrays`.
        strategy: ``[num_slots]``.
        scratch: `Scratch`. Modified in place.
        player, traversals: See `Sampler.sample`.
        max_samples: The largest number of infosets of a traversal: none starts with less room than that.
        labels: The infoset and the action of each slot, ``[num_slots]`` int32 and ``[num_slots]`` int64.
        rows: ``[capacity]`` int32. Modified in place.
        regrets: ``[capacity, num_actions]`` float64. Modified in place.

    Returns:
        The number of traversals and the number of samples.
    """
    gradient, touched, (infoset_of_slot, slot_action) = scratch.gradient, scratch.touched, labels
    begin = tree.infoset_range[player]
    done, count = 0, 0
    while done < traversals and count + max_samples <= len(rows):
        begin_gradient(tree, scratch, player)
        begin_traversal(scratch)
        traversal(strategy, strategy, tree, strategy, scratch, player)  # which uses no parameters and weights
        for position in range(begin + scratch.num_touched[player] - 1, begin - 1, -1):  # children before parents
            infoset = touched[at(position)]
            first, width = infoset["first_slot"], infoset["num_actions"]
            value = expected_value(gradient, strategy, first, first + width)
            rows[count] = infoset_of_slot[first] - begin
            for action in range(regrets.shape[1]):
                regrets[count, action] = 0.0
            for slot in range(first, first + width):
                regrets[count, slot_action[at(slot)]] = gradient[at(slot)] - value
            count += 1
            gradient[at(infoset["parent_slot"])] += value
        done += 1
    return done, count


@kernel
def add_player(tree, strategy, average, scratch, player, weight):
    """Adds a player's strategy to the sums of the average; see `Sampler.add_to_average`.

    `average` and `scratch` are modified in place.
    """
    scratch.reach_valid[player] = 0
    refresh_reach(tree, strategy, scratch, player)
    for slot in range(tree.slot_range[player], tree.slot_range[player + 1]):
        average[slot] += weight * scratch.reach[slot]
    average[tree.slot_range[-1] + player] += weight


@kernel
def record_paths(
    tree, strategy, exploration, values, scratch, player, traversals, options, labels, trajectory, visited, samples
):
    """Samples trajectories from the root to a leaf and records a player's regrets along them.

    Own actions are drawn from ``epsilon`` exploration + (1 - epsilon) strategy, all others on-policy. With v(h, a) the
    value of action a at history h to the player, the regrets are v(h, a) - sum_b strategy(b) v(h, b).

    * Without correction v(h, a) is the value of the child in the table (ESCHER: McAleer et al. 2023, section 4).
    * With it the table's value q(h, a) is a baseline: v(h, a) = q(h, a), and at the action that was drawn
      q + (v(child) - q) / (probability of the draw), where v(child) is computed likewise, from the leaf up. A sample's
      weight, 1 / (probability of all own draws before it), corrects for how often the infoset is sampled (DREAM:
      Steinberger, Lerer, Brown 2020, section 4.1; Schmid et al. 2019, equations 10 and 11).

    Args:
        tree: `TreeArrays`.
        strategy: ``[num_slots]``.
        exploration: ``[num_slots]``; empty: uniform.
        values: ``[num_nodes]``, to the player; without correction payoffs replace the values of leaves.
        scratch: `Scratch`. Its generator and its count of nodes are modified in place.
        player, traversals: See `Sampler.sample`.
        options: Epsilon, the probability of exploration at own infosets; and whether there is a correction.
        labels: See `record_traversals`.
        trajectory: Nodes, ``[max_depth + 1]`` int32, and probabilities, ``[max_depth + 1]`` float64: scratch.
        visited: ``[num_nodes]`` int64, numbers of visits. Modified in place.
        samples: Rows, ``[capacity]`` int32, regrets, ``[capacity, num_actions]``, and weights, ``[capacity]``. Modified
            in place.

    Returns:
        The number of trajectories and the number of samples.
    """
    nodes, rng, (infoset_of_slot, slot_action) = tree.nodes, scratch.rng, labels
    (path, probabilities), (rows, regrets, weights) = trajectory, samples
    epsilon, corrected = options
    begin = tree.infoset_range[player]
    done, count, touched = 0, 0, 0
    while done < traversals and count + len(path) <= len(rows):
        depth, node, reach = 0, 0, 1.0
        while True:
            path[depth] = node
            visited[at(node)] += 1
            record = nodes[at(node)]
            kind, width, payload = record["kind"], record["num_children"], record["payload"]
            if kind == TERMINAL:
                break
            probability = 1.0
            if kind == CHANCE:
                index = draw_outcome(tree.chance, payload, width, rng)
            elif kind == player:
                index = draw_exploring(strategy, exploration, payload, width, epsilon, rng)
                explored = exploration[at(payload + index)] if len(exploration) else 1.0 / width
                probability = epsilon * explored + (1.0 - epsilon) * strategy[at(payload + index)]
            else:
                index = draw_action(strategy, payload, width, rng)
                probability = strategy[at(payload + index)]
            probabilities[depth] = probability
            node = record["first_child"] + index
            depth += 1
        touched += depth + 1
        value = tree.payoffs[at(nodes[at(node)]["payload"]), at(player)]
        for position in range(depth):
            if nodes[at(path[position])]["kind"] == player:
                weights[count] = 1.0 / reach
                rows[count] = infoset_of_slot[nodes[at(path[position])]["payload"]] - begin
                reach *= probabilities[position]
                count += 1
        back = count
        for position in range(depth - 1, -1, -1):
            record = nodes[at(path[position])]
            kind, width, payload = record["kind"], record["num_children"], record["payload"]
            child = record["first_child"]
            if kind == CHANCE:
                continue
            if kind == player:
                back -= 1
                for action in range(regrets.shape[1]):
                    regrets[back, action] = 0.0
            elif not corrected:
                continue
            drawn = path[position + 1]
            mean = 0.0
            for index in range(width):
                action_value = values[at(child + index)]
                if corrected:
                    if child + index == drawn:
                        action_value += (value - action_value) / probabilities[position]
                elif nodes[at(child + index)]["kind"] == TERMINAL:
                    action_value = tree.payoffs[at(nodes[at(child + index)]["payload"]), at(player)]
                mean += strategy[at(payload + index)] * action_value
                if kind == player:
                    regrets[back, slot_action[at(payload + index)]] = action_value
            if kind == player:
                for index in range(width):
                    regrets[back, slot_action[at(payload + index)]] -= mean
            value = mean
        done += 1
    scratch.counts[NODES_TOUCHED] += touched
    return done, count
