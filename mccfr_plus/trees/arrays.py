"""The flat arrays of a game tree, as the kernels see them.

Names of indices: a *node* is a history; an *infoset* is an information set of a player; a *slot* is one
(infoset, action) pair, which is the same as a non-empty sequence of the player. Infosets, and with them slots, are
numbered player by player, and within a player in the order of first visit, so that a parent comes before its
children. Slot ``num_slots + p`` stands for the empty sequence of player p.
"""

from typing import NamedTuple

import numpy as np

# One 16-byte record per node, so that a visit costs one cache line. Parents come before children.
NODE = np.dtype(
    [
        ("kind", np.int32),  # the player to move, or `games.rules.CHANCE` or `TERMINAL`
        ("num_children", np.int32),
        ("first_child", np.int32),  # children are contiguous
        ("payload", np.int32),  # decision: its infoset's first slot; chance: first of `chance`; terminal: of `payoffs`
    ]
)

INFOSET = np.dtype(
    [
        ("first_slot", np.int32),
        ("num_actions", np.int32),
        ("parent_slot", np.int32),  # the player's last slot before it; `num_slots + player` where there is none
        ("player", np.int32),
    ]
)

# Vose's alias table, so that drawing an outcome costs the same for 2 and for 2000.
OUTCOME = np.dtype([("probability", np.float64), ("accept", np.float64), ("alias", np.int64)])

# Rows of the leaf tables that are summed side by side.
BLOCK = 4

NUM_EXPANSION = 32  # entries of `TreeArrays.expansion`
NUM_SLOTS = NUM_EXPANSION - 1  # the entry of the slots found so far; the others are in `expansion`


def read_only(array: np.ndarray) -> np.ndarray:
    """Returns a read-only view. All trees have these: a writable array would be another type for kernels."""
    view = array.view()
    view.flags.writeable = False
    return view


def no(shape: int | tuple[int, ...], dtype: type | np.dtype) -> np.ndarray:
    """Returns an array of zeros, in the place of one that a tree does not have."""
    return read_only(np.zeros(shape, dtype))


class TreeArrays(NamedTuple):
    """All arrays of a tree that kernels read. Those of a compiled tree are never written."""

    nodes: np.ndarray  # [num_nodes] NODE
    payoffs: np.ndarray  # [num_distinct_payoffs, num_players] float64
    chance: np.ndarray  # [num_outcomes] OUTCOME
    infosets: np.ndarray  # [num_infosets] INFOSET
    infoset_range: np.ndarray  # [num_players + 1] int64: infosets of player p are range[p] .. range[p+1] - 1
    slot_range: np.ndarray  # [num_players + 1] int64, the same for slots
    listed: np.ndarray = no(0, INFOSET)  # [any] INFOSET: those with rows in the leaf tables, player by player
    listed_range: np.ndarray = no(1, np.int64)  # [num_players + 1]: the same as `infoset_range` for `listed`
    leaf_range: np.ndarray = no(1, np.int64)  # [num_players + 1] int64, the same for blocks; see `flattening`
    leaf_start: np.ndarray = no(1, np.int64)  # [num_blocks + 1]: entries of block b are start[b] .. start[b+1] - 1
    leaf_row: np.ndarray = no(0, np.int32)  # [BLOCK * num_blocks] int32: the slots that a block sums for
    leaf_term: np.ndarray = no(0, np.int32)  # [num_entries]: the player's term; none where entries are the terms
    term_range: np.ndarray = no(1, np.int64)  # [num_players + 1]: the same as `leaf_range` for terms
    leaf_others: np.ndarray = no(0, np.int32)  # [num_terms * (num_players - 1)]: last slots of the other players
    leaf_value: np.ndarray = no(0, np.float64)  # [num_terms]: chance's probability x payoff
    segments: np.ndarray = no((0, 13), np.int64)  # [any, 13]: threads' parts and the top; see `parts`
    expansion: np.ndarray = no(NUM_EXPANSION, np.int64)  # all zeros, but in lazy trees; see `expansion`


class Shape(NamedTuple):
    """What a traversal over the tree needs to know before it starts."""

    max_depth: int  # longest history, in actions of players and chance
    max_stack: int  # pending nodes of a depth-first traversal that visits everything
    perfect_recall: bool
    max_moves: int = 0  # longest history, in actions of players alone; 0 for lazy trees
