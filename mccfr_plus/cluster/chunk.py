"""A chunk: a fixed number of traversals with a random stream of their own, and the sparse sums that come out of them.

Sums are sparse, as a chunk may touch little of a large table: the first slots of the information sets that it has
touched, and the values at their slots one after another.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mccfr_plus.estimators import Estimator
from mccfr_plus.estimators.estimate import estimate
from mccfr_plus.kernels.compile import kernel, rebind
from mccfr_plus.kernels.loop import estimator_kernel_of
from mccfr_plus.kernels.no_refcount import no_refcount
from mccfr_plus.kernels.scratch import (
    NODES_TOUCHED,
    NUM_VISITS,
    STAMP,
    Scratch,
    at,
    begin_gradient,
    begin_traversal,
    enter,
)
from mccfr_plus.tree.arrays import TreeArrays


class Sums(NamedTuple):
    """What a chunk has sampled for one player."""

    firsts: np.ndarray  # [infosets] int32: first slots of the infosets touched, parents before children
    values: np.ndarray  # [slots of these] float64: sum of the gradients of all traversals
    visited: np.ndarray  # [visits] int32: slots whose average is_lazy; see `take_visits`
    visit_weights: np.ndarray  # [visits] float64


class Chunk(NamedTuple):
    """What comes out of a chunk."""

    sums: tuple[Sums, ...]  # per player of the turn
    nodes: int  # histories touched
    seconds: float  # that it took

    @property
    def nbytes(self) -> int:
        """Bytes that are sent."""
        return sum(array.nbytes for sums in self.sums for array in sums)


@kernel
def traverse_chunk(
    tree, scratch, strategy, parameters, sampling_weights, player, all_players, traversals, visit_mode, weights, visited
):
    """Makes the traversals of a chunk for a player; returns how many entries of `visited` are in use.

    Args:
        tree: `TreeArrays`.
        scratch: `Scratch`. Modified in place: the gradient is the sum over the traversals.
        strategy: ``[num_slots]``.
        parameters: See `Estimator.parameters`.
        sampling_weights: See `SamplingWeights`.
        player: For whom.
        all_players: Whether a traversal serves all players.
        traversals: How many.
        visit_mode: What traversals list.
        weights: ``[num_slots]`` float64, zeros; or empty, if traversals list nothing. Modified in place: sums of weights.
        visited: ``[num_slots]`` int32, or empty. Modified in place: where `weights` is not 0.
    """
    tree, scratch = no_refcount(tree), no_refcount(scratch)
    strategy, sampling_weights = no_refcount(strategy), no_refcount(sampling_weights)
    num_players, num_visited = len(tree.slot_range) - 1, 0
    for other in range(num_players):
        if all_players or other == player:
            begin_gradient(tree, scratch, other)
    for _ in range(traversals):
        begin_traversal(scratch)
        estimate(parameters, sampling_weights, tree, strategy, scratch, player, visit_mode)
        if len(weights) > 0:
            for visit in range(scratch.counts[NUM_VISITS]):
                entry = scratch.visits[at(visit)]
                slot, weight = entry["first_slot"], entry["weight"]
                if weights[slot] == 0.0 and weight != 0.0:
                    visited[num_visited] = slot
                    num_visited += 1
                weights[slot] += weight
    return num_visited


@kernel
def copy_touched(touched, gradient, firsts, values):
    """Copies first slots, and the gradient at all slots of what was touched. `firsts` and `values` are outputs."""
    count = 0
    for position in range(len(touched)):
        first = touched[position]["first_slot"]
        firsts[position] = first
        for slot in range(first, first + touched[position]["num_actions"]):
            values[count] = gradient[slot]
            count += 1


@kernel
def add_sums(tree, scratch, infoset_of_slot, player, firsts, values):
    """Adds a chunk's sums to a player's gradient. `scratch` is modified in place.

    Args:
        tree: `TreeArrays`; of it, only what belongs to infosets is read.
        scratch: `Scratch`, after `begin_gradient`.
        infoset_of_slot: ``[num_slots]`` int32.
        player: The player.
        firsts: See `Sums`.
        values: Likewise.
    """
    tree, scratch = no_refcount(tree), no_refcount(scratch)
    gradient, stamp, place = scratch.gradient, scratch.counts[STAMP], 0
    for first in firsts:
        infoset = tree.infosets[infoset_of_slot[first]]
        count = infoset["num_actions"]
        is_new = enter(tree, scratch, player, first, count, infoset["parent_slot"], stamp)
        for slot in range(first, first + count):
            if is_new:
                gradient[slot] = 0.0
            gradient[slot] += values[place]
            place += 1


@kernel
def take_visits(infosets, infoset_of_slot, strategy, average, visited, weights, scale, is_drawn):
    """Adds what a chunk has visited to the sums of the average, modified in place.

    Args:
        infosets: ``[num_infosets]`` INFOSET.
        infoset_of_slot: ``[num_slots]`` int32.
        strategy: ``[num_slots]``.
        average: See `averaging.accumulate`.
        visited: First slots of infosets, or with `is_drawn` slots of the actions that were drawn.
        weights: Theirs.
        scale: What all weights are multiplied by.
        is_drawn: Whether what was drawn counts, and not the strategy.
    """
    for visit in range(len(visited)):
        first, weight = visited[visit], scale * weights[visit]
        if is_drawn:
            average[first] += weight
            continue
        for slot in range(first, first + infosets[infoset_of_slot[first]]["num_actions"]):
            average[slot] += weight * strategy[slot]


def traverser(estimator: Estimator) -> Callable:
    """Returns `traverse_chunk`, or a twin of it with the kernel of an estimator that is not built in.

    Raises:
        ConfigError: If such an estimator has no kernel.
    """
    own = estimator_kernel_of(estimator)
    return traverse_chunk if own is None else rebind(traverse_chunk, estimate=own)


def sums_of(tree: TreeArrays, scratch: Scratch, player: int, visited: np.ndarray, weights: np.ndarray) -> Sums:
    """Returns what has been summed up for a player, and clears the weights of visits.

    Args:
        tree: The tree.
        scratch: After `traverse_chunk`.
        player: The player.
        visited: The part of `visited` that is in use.
        weights: See `traverse_chunk`. Modified in place: zeros again.
    """
    begin = int(tree.infoset_range[player])
    touched = scratch.touched[begin : begin + int(scratch.num_touched[player])]
    firsts = np.empty(len(touched), np.int32)
    values = np.empty(int(touched["num_actions"].sum(dtype=np.int64)))
    copy_touched(touched, scratch.gradient, firsts, values)
    found = weights[visited]
    weights[visited] = 0.0
    return Sums(*map(as_read, (firsts, values, visited.copy(), found)))


def as_read(array: np.ndarray) -> np.ndarray:
    """Returns a view that cannot be written, as arrays in shared memory cannot: kernels are compiled for these."""
    view = array.view()
    view.flags.writeable = False
    return view


def nodes_of(scratch: Scratch) -> int:
    """Returns how many histories a scratch's traversals have touched so far."""
    return int(scratch.counts[NODES_TOUCHED])
