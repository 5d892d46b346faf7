"""External sampling that records the sampled regrets of each infoset instead of adding them to a table."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mccfr_plus.estimators.traversal import traversal
from mccfr_plus.estimators.visits import max_visits
from mccfr_plus.kernels.compile import announce_compilation, kernel
from mccfr_plus.kernels.no_refcount import no_refcount
from mccfr_plus.kernels.scratch import (
    NODES_TOUCHED,
    at,
    begin_gradient,
    begin_traversal,
    new_scratch,
    refresh_reach,
)
from mccfr_plus.minimizers.infoset import expected_value
from mccfr_plus.tree.game_tree import GameTree

_MIN_CAPACITY = 1 << 14  # samples of a buffer: calls from Python stay cheap, and the buffer stays in the cache


class Samples(NamedTuple):
    """Regrets sampled at information sets of one player, children before parents."""

    rows: np.ndarray  # [num_samples] int32, rows of `Features`
    # [num_samples, max_actions] float64, in the order of slots; entries beyond an infoset's actions are undefined.
    regrets: np.ndarray
    weights: np.ndarray | None = None  # [num_samples] float64; None: all are 1


class Sampler:
    """External sampling on a compiled tree (Brown et al. 2019, algorithm 2), and the exact average strategy.

    Args:
        tree: The game. Of perfect recall.
        rng: ``[1]`` uint64, the state of the random generator. Modified in place.
    """

    def __init__(self, tree: GameTree, rng: np.ndarray):
        self._tree = tree
        self._scratch = new_scratch(tree.arrays, tree.shape, rng)
        nodes, counts = tree.arrays.nodes, tree.arrays.infosets["num_actions"]
        self._max_samples = [int(max_visits(nodes, p, True, False, True)) for p in range(tree.num_players)]
        size = max(_MIN_CAPACITY, *self._max_samples)
        self._buffer = Samples(np.zeros(size, np.int32), np.zeros((size, int(counts.max(initial=1)))))

    @property
    def nodes_touched(self) -> int:
        """Histories visited so far."""
        return int(self._scratch.counts[NODES_TOUCHED])

    def state(self) -> dict[str, np.ndarray]:
        """Returns the arrays that carry from one call to the next, by name: views."""
        return {"rng": self._scratch.rng, "nodes": self._scratch.counts[NODES_TOUCHED : NODES_TOUCHED + 1]}

    def prepare(self) -> None:
        """Compiles the kernels."""
        strategy = self._tree.uniform_strategy()
        with announce_compilation(record_traversals):
            self.sample(strategy, 0, 0)
            self.add_to_average(strategy, np.zeros(len(strategy) + self._tree.num_players), 0, 0.0)

    def sample(self, strategy: np.ndarray, player: int, traversals: int) -> tuple[int, Samples]:
        """Runs traversals for a player until the buffer is full.

        Args:
            strategy: ``[num_slots]`` float64, the strategies of all players.
            player: The player whose regrets are sampled.
            traversals: The largest number of traversals.

        Returns:
            The number of traversals (at least 1 if `traversals` is), and their samples: views of the buffer, which the
            next call overwrites.
        """
        rows, regrets, _ = self._buffer
        infosets, max_samples = self._tree.infoset_of_slot, self._max_samples[player]
        done, count = record_traversals(
            self._tree.arrays, strategy, self._scratch, player, traversals, max_samples, infosets, rows, regrets
        )
        return int(done), Samples(rows[:count], regrets[:count])

    def add_to_average(self, strategy: np.ndarray, average: np.ndarray, player: int, weight: float) -> None:
        """Adds weight x own reach x strategy at all of a player's slots to ``average``, modified in place.

        Args:
            strategy: ``[num_slots]`` float64.
            average: ``[num_slots + num_players]`` float64; the last entries sum the weights.
            player: The player.
            weight: The weight.
        """
        add_player(self._tree.arrays, strategy, average, self._scratch, player, float(weight))


@kernel
def record_traversals(tree, strategy, scratch, player, traversals, max_samples, infoset_of_slot, rows, regrets):
    """Runs external-sampling traversals and records the sampled regrets of each touched infoset.

    With v(a) the sampled value of action a, the regrets are v(a) - sum_b strategy(b) v(b) (Brown et al. 2019,
    algorithm 2, line 9). The gradient holds v once the values of all later infosets are backed up.

    Args:
        tree: `TreeArrays`.
        strategy: ``[num_slots]``.
        scratch: `Scratch`. Modified in place.
        player: The player whose regrets are sampled.
        traversals: The largest number of traversals.
        max_samples: The largest number of infosets of a traversal: none starts with less room than that.
        infoset_of_slot: ``[num_slots]`` int32.
        rows: ``[capacity]`` int32. Modified in place.
        regrets: ``[capacity, max_actions]`` float64. Modified in place.

    Returns:
        The number of traversals and the number of samples.
    """
    tree, scratch, strategy = no_refcount(tree), no_refcount(scratch), no_refcount(strategy)
    gradient, touched = scratch.gradient, scratch.touched
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
            for action in range(width):
                regrets[count, action] = gradient[at(first + action)] - value
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
