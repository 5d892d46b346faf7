"""Sizes of a player's strategy space: M_i, M_i(sigma), the largest plan, the number of pure strategies.

A plan x gives every sequence (slot) of a player its reach; x of the empty sequence is 1. A linear function of plans is
largest at a pure strategy, which one pass over the infosets, children before parents, finds.

References: Lanctot et al. 2009, section 4 (M_i); Gibson et al. 2012, Theorem 5 (M_i(sigma)).
"""

from __future__ import annotations

import math

import numpy as np

from mccfr_plus.errors import ConfigError
from mccfr_plus.evaluation.kernels import own_reach
from mccfr_plus.kernels.compile import kernel
from mccfr_plus.tree.game_tree import GameTree


def m_value(tree: GameTree, player: int) -> float:
    """Returns M_i = sum over B of sqrt(|B|), B the infosets that the same own actions lead to.

    Reference: Lanctot et al. 2009, section 4.
    """
    return tree.statistics().m_values[check_player(tree, player)]


def m_value_of(tree: GameTree, player: int, strategy: np.ndarray) -> float:
    """Returns M_i(strategy) = sum over B of sqrt(sum over I in B of reach(I)^2), at most M_i.

    reach(I) is the probability that the player's own actions lead to I. Where it is the same throughout B, as with B
    made of the same own infosets *and* actions, this is sum over B of reach(B) sqrt(|B|), the definition of the paper.
    Blocks of actions alone, as in M_i, are larger and give a smaller sum; that regret is still bounded is
    Cauchy-Schwarz: sum over I in B of reach(I) R(I) <= sqrt(sum of reach(I)^2) sqrt(sum of R(I)^2).

    Args:
        tree: The game.
        player: Whose.
        strategy: ``[num_slots]`` float64; only the player's part is read.

    Raises:
        ConfigError: If there is no such player.
        GameError: If a player forgets.

    Reference: Gibson et al. 2012, Theorem 5, with blocks as in Lanctot et al. 2009.
    """
    first, last = infosets_of(tree, player)
    reach = np.empty(tree.num_slots + tree.num_players)
    own_reach(tree.arrays, np.ascontiguousarray(strategy, np.float64), reach)
    squares = reach[tree.arrays.infosets["parent_slot"][first:last]] ** 2
    return float(np.sqrt(np.bincount(action_sequences(tree, player), squares)).sum())


def largest_m_value(tree: GameTree, player: int) -> float:
    """Returns the largest M_i(sigma) of all strategies sigma, with the blocks of Gibson et al. 2012.

    A block is the set of infosets right below one own sequence s, so that M_i(sigma) is the linear function
    sum over s of x[s] sqrt(number of infosets right below s) of the plan x, whose largest value is exact here. It
    bounds the regret of any run, as the best strategy in hindsight is one of those. Neither it nor M_i is always
    smaller: the blocks of M_i are larger, but all of them count.

    Reference: derived from Gibson et al. 2012, Theorem 5.
    """
    infosets_of(tree, player)
    return vertex_maximum(tree, player, np.zeros(tree.num_infosets), np.sqrt(_children(tree)))


def plan_norm(tree: GameTree, player: int) -> float:
    """Returns M_Q, the largest sum of a plan's entries, the empty sequence left out.

    Reference: Kroer et al. 2020.
    """
    infosets_of(tree, player)
    sequences = np.ones(tree.num_slots + tree.num_players)
    sequences[tree.num_slots :] = 0.0
    return vertex_maximum(tree, player, np.zeros(tree.num_infosets), sequences)


def log_pure_strategies(tree: GameTree, player: int) -> float:
    """Returns the natural logarithm of the number of the player's reduced pure strategies: the corners of the plans."""
    first, last = infosets_of(tree, player)
    worth = np.zeros(tree.num_slots + tree.num_players)
    _count_corners(tree.arrays.infosets, first, last, worth)
    return float(worth[tree.num_slots + player])


def action_sequences(tree: GameTree, player: int) -> np.ndarray:
    """Returns the number of each of the player's infosets' own action sequence, ``[infosets of the player]`` int64.

    They are the blocks B of M_i: actions count, and not the infosets they were taken at. Numbers are 0, 1, ... without
    gaps.
    """
    first, last = infosets_of(tree, player)
    numbers: dict[tuple[int, int], int] = {}
    blocks = np.zeros(last - first, np.int64)
    infoset_of_slot, actions = tree.infoset_of_slot, tree.slot_action
    for infoset, parent in enumerate(tree.arrays.infosets["parent_slot"][first:last].tolist()):
        key = (-1, -1) if parent >= tree.num_slots else (blocks[infoset_of_slot[parent] - first], actions[parent])
        blocks[infoset] = numbers.setdefault(key, len(numbers))
    return blocks


def vertex_maximum(tree: GameTree, player: int, infoset_gain: np.ndarray, sequence_gain: np.ndarray) -> float:
    """Returns the largest sum over I of x[parent(I)] infoset_gain[I] + sum over s of x[s] sequence_gain[s].

    Args:
        tree: The game, in which nobody forgets.
        player: Whose plans x.
        infoset_gain: ``[num_infosets]`` float64.
        sequence_gain: ``[num_slots + num_players]`` float64, the empty sequences last.
    """
    worth = np.array(sequence_gain, np.float64)
    first, last = tree.arrays.infoset_range[player], tree.arrays.infoset_range[player + 1]
    _add_best(tree.arrays.infosets, first, last, np.asarray(infoset_gain, np.float64), worth)
    return float(worth[tree.num_slots + player])


def check_player(tree: GameTree, player: int) -> int:
    """Returns the player as an integer.

    Raises:
        ConfigError: If the game has no such player.
    """
    if isinstance(player, bool) or not isinstance(player, int | np.integer) or not 0 <= player < tree.num_players:
        raise ConfigError(f"player={player!r}: {tree.game} has players 0 to {tree.num_players - 1}.")
    return int(player)


def infosets_of(tree: GameTree, player: int) -> tuple[int, int]:
    """Returns the first of a player's infosets and the one after the last.

    Raises:
        ConfigError: If the game has no such player.
        GameError: If a player forgets: then infosets have no single parent.
    """
    player = check_player(tree, player)
    tree.require_perfect_recall("a regret bound")
    ranges = tree.arrays.infoset_range
    return int(ranges[player]), int(ranges[player + 1])


def _children(tree: GameTree) -> np.ndarray:
    """Returns how many infosets lie right below each sequence, ``[num_slots + num_players]``."""
    return np.bincount(tree.arrays.infosets["parent_slot"], minlength=tree.num_slots + tree.num_players)


def _log_actions(tree: GameTree) -> np.ndarray:
    return np.log(tree.arrays.infosets["num_actions"])


def entropy_and_blocks(tree: GameTree, player: int, entropy: float, block: float) -> float:
    """Returns the largest entropy * (sum of x[parent(I)] log n_I) + block * (sum of x[s], s with infosets below)."""
    infosets_of(tree, player)
    return vertex_maximum(tree, player, entropy * _log_actions(tree), block * (_children(tree) > 0))


def weighted_entropy(tree: GameTree, player: int, weights: np.ndarray) -> float:
    """Returns the largest sum over I of x[parent(I)] weights[I] log n_I."""
    infosets_of(tree, player)
    return vertex_maximum(tree, player, weights * _log_actions(tree), np.zeros(tree.num_slots + tree.num_players))


@kernel
def _add_best(infosets, first, last, infoset_gain, worth):
    """Adds to each sequence's worth the best that follows it. `worth` is modified in place."""
    for infoset in range(last - 1, first - 1, -1):
        begin = infosets[infoset]["first_slot"]
        best = worth[begin]
        for slot in range(begin + 1, begin + infosets[infoset]["num_actions"]):
            best = max(best, worth[slot])
        worth[infosets[infoset]["parent_slot"]] += infoset_gain[infoset] + best


@kernel
def _count_corners(infosets, first, last, worth):
    """Adds up logarithms of numbers of pure strategies: sums over actions, products over infosets below one action.

    `worth`, zeros at first, is modified in place.
    """
    for infoset in range(last - 1, first - 1, -1):
        begin = infosets[infoset]["first_slot"]
        end = begin + infosets[infoset]["num_actions"]
        largest = worth[begin]
        for slot in range(begin + 1, end):
            largest = max(largest, worth[slot])
        total = 0.0
        for slot in range(begin, end):
            total += math.exp(worth[slot] - largest)
        worth[infosets[infoset]["parent_slot"]] += largest + math.log(total)
