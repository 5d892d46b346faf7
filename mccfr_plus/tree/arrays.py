"""The flat arrays of a game tree, as the kernels see them.

Names of indices: a *node* is a history; an *infoset* is an information set of a player; a *slot* is one
(infoset, action) pair, which is the same as a non-empty sequence of the player. Infosets, and with them slots, are
numbered player by player, and within a player in the order of first visit, so that a parent comes before its
children. Slot ``num_slots + p`` stands for the empty sequence of player p.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

# Values of the column KIND; a decision node has its player there, 0 or more.
CHANCE = -1
TERMINAL = -2

# Columns of `nodes`: one 16-byte record per node, so that a visit costs one cache line.
KIND = 0
NUM_CHILDREN = 1
FIRST_CHILD = 2  # children are contiguous
PAYLOAD = 3  # decision: its infoset's first slot; chance: first row of `chance`; terminal: row of `payoffs`

# Columns of `infosets`.
FIRST_SLOT = 0
NUM_ACTIONS = 1
PARENT_SLOT = 2  # the player's last slot before the infoset; `num_slots + player` where there is none
PLAYER = 3

# Columns of `chance`: Vose's alias table, so that drawing an outcome costs the same for 2 and for 2000.
PROBABILITY = 0
ACCEPT = 1
ALIAS = 2


class TreeArrays(NamedTuple):
    """Every array a kernel reads of a tree. Never written after the tree is built."""

    nodes: np.ndarray  # [num_nodes, 4] int32, columns above; parents before children
    payoffs: np.ndarray  # [num_distinct_payoffs, num_players] float64
    chance: np.ndarray  # [num_outcomes, 3] float64, columns above
    infosets: np.ndarray  # [num_infosets, 4] int32, columns above
    infoset_of_slot: np.ndarray  # [num_slots] int32
    infoset_range: np.ndarray  # [num_players + 1] int64: infosets of player p are range[p] .. range[p+1] - 1
    slot_range: np.ndarray  # [num_players + 1] int64, the same for slots
    leaf_start: np.ndarray  # [num_slots + num_players + 1] int64: leaves whose last slot of the row's player it is
    leaf_others: np.ndarray  # [num_players * num_leaves, num_players - 1] int32: last slots of the other players
    leaf_value: np.ndarray  # [num_players * num_leaves] float64: chance's probability x the row's player's payoff
