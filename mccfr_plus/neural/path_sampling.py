"""Outcome sampling with a table of history values, for ESCHER and DREAM: records the regrets of each infoset."""

from __future__ import annotations

import numpy as np

from mccfr_plus.estimators.draws import draw_action, draw_exploring, draw_outcome
from mccfr_plus.kernels.compile import announce_compilation, kernel
from mccfr_plus.kernels.no_refcount import no_refcount
from mccfr_plus.kernels.scratch import NODES_TOUCHED, at
from mccfr_plus.neural.sampling import Sampler, Samples
from mccfr_plus.tree.arrays import CHANCE, TERMINAL
from mccfr_plus.tree.game_tree import GameTree

_MIN_CAPACITY = 1 << 14  # samples of a buffer


class PathSampler(Sampler):
    """Samples single trajectories from the root to a leaf.

    Args:
        tree: The game. Of perfect recall.
        rng: ``[1]`` uint64, the state of the random generator. Modified in place.
        exploration: ``[num_slots]`` float64, the exploration strategy; empty: uniform.
        epsilon: Probability of drawing an own action from it.
    """

    def __init__(self, tree: GameTree, rng: np.ndarray, exploration: np.ndarray, epsilon: float):
        super().__init__(tree, rng)
        self.exploration, self._epsilon = exploration, epsilon
        depth = tree.shape.max_depth
        size = max(_MIN_CAPACITY, depth)
        max_actions = self._buffer.regrets.shape[1]
        self._samples = np.zeros(size, np.int32), np.zeros((size, max_actions)), np.zeros(size)
        self._trajectory = np.zeros(depth + 1, np.int32), np.zeros(depth + 1)
        self.visited = np.zeros(tree.num_nodes, np.int64)  # number of visits of each history since `evict`

    def evict(self) -> None:
        """Sets all numbers of visits to 0."""
        self.visited[:] = 0

    def prepare(self) -> None:
        super().prepare()
        strategy = self._tree.uniform_strategy()
        with announce_compilation(record_paths):
            self.sample_paths(strategy, np.zeros((self._tree.num_players, self._tree.num_nodes)), 0, 0, False)

    def sample_paths(
        self, strategy: np.ndarray, values: np.ndarray, player: int, traversals: int, corrected: bool
    ) -> tuple[int, Samples]:
        """Samples trajectories for a player until the buffer is full; see `record_paths`.

        Args:
            strategy: ``[num_slots]`` float64, the strategies of all players.
            values: ``[num_players, num_nodes]`` float64.
            player: The player whose regrets are sampled.
            traversals: The largest number of trajectories.
            corrected: Whether the values are baselines of sampled values, or replace them.

        Returns:
            See `Sampler.sample`.
        """
        rows, regrets, weights = self._samples
        infosets, options = self._tree.infoset_of_slot, (self._epsilon, corrected)
        done, count = record_paths(
            self._tree.arrays, strategy, self.exploration, values, self._scratch, player, traversals, options, infosets,
            self._trajectory, self.visited, self._samples,
        )  # fmt: skip
        return int(done), Samples(rows[:count], regrets[:count], weights[:count] if corrected else None)


@kernel
def record_paths(
    tree, strategy, exploration, values, scratch, player, traversals, options, infosets, trajectory, visited, samples
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
        values: ``[num_players, num_nodes]``; without correction payoffs replace the values of leaves.
        scratch: `Scratch`. Its generator and its count of nodes are modified in place.
        player: The player whose regrets are sampled.
        traversals: The largest number of trajectories.
        options: Epsilon, the probability of exploration at own infosets; and whether there is a correction.
        infosets: ``[num_slots]`` int32, the infoset of each slot.
        trajectory: Nodes, ``[max_depth + 1]`` int32, and probabilities, ``[max_depth + 1]`` float64: scratch.
        visited: ``[num_nodes]`` int64, numbers of visits. Modified in place.
        samples: Rows, regrets and weights, of length ``[capacity]``; see `Samples`. Modified in place.

    Returns:
        The number of trajectories and the number of samples.
    """
    tree, scratch = no_refcount(tree), no_refcount(scratch)
    strategy, values = no_refcount(strategy), no_refcount(values)
    nodes, rng, own = tree.nodes, scratch.rng, values[player]
    (path, probabilities), (rows, regrets, weights) = no_refcount(trajectory), no_refcount(samples)
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
                rows[count] = infosets[nodes[at(path[position])]["payload"]] - begin
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
            elif not corrected:
                continue
            drawn = path[position + 1]
            mean = 0.0
            for index in range(width):
                action_value = own[at(child + index)]
                if corrected:
                    if child + index == drawn:
                        action_value += (value - action_value) / probabilities[position]
                elif nodes[at(child + index)]["kind"] == TERMINAL:
                    action_value = tree.payoffs[at(nodes[at(child + index)]["payload"]), at(player)]
                mean += strategy[at(payload + index)] * action_value
                if kind == player:
                    regrets[back, index] = action_value
            if kind == player:
                for index in range(width):
                    regrets[back, index] -= mean
            value = mean
        done += 1
    scratch.counts[NODES_TOUCHED] += touched
    return done, count
