"""A game with its actions, chance outcomes and infosets in another order."""

from typing import NamedTuple

import numpy as np

from mccfr_plus.games.rules import CHANCE, TERMINAL
from mccfr_plus.trees.game import Recording
from mccfr_plus.trees.game_tree import GameTree, build_tree


class Relabelling(NamedTuple):
    """A relabelled game."""

    tree: GameTree
    old_slot: np.ndarray  # [num_slots + num_players] int64: the former number of each slot and empty sequence

    def to_new(self, array: np.ndarray) -> np.ndarray:
        """Returns an array over the old slots, with or without the empty sequences, in the new order."""
        return array[self.old_slot[: len(array)]]


def relabelled(tree: GameTree, rng: np.random.Generator) -> Relabelling:
    """Returns a game with actions at every infoset, and outcomes at every chance node, in a random other order.

    Infosets are numbered by the first visit of a depth-first traversal, so that their order changes as well.
    """
    arrays = tree.arrays
    payoffs = [tuple(row) for row in arrays.payoffs.tolist()]
    recording = Recording(tree.num_players, tree.shape.max_depth, payoffs=payoffs)
    orders: dict[tuple[bool, int], np.ndarray] = {}
    numbers: dict[tuple[bool, int], int] = {}
    stack = [0]
    while stack:
        kind, count, child, payload = arrays.nodes[stack.pop()].tolist()
        recording.kinds.append(kind)
        if kind == TERMINAL:
            recording.payloads.append(payload)
            continue
        key = (kind == CHANCE, payload)
        if key not in orders:
            order = rng.permutation(count)
            orders[key] = order[::-1] if (order == np.arange(count)).all() else order  # not the usual one
            if kind == CHANCE:
                numbers[key] = len(recording.distributions)
                rows = payload + orders[key]
                actions, chances = tree.outcome_action[rows].tolist(), arrays.chance["probability"][rows].tolist()
                recording.distributions.append(tuple(zip(actions, chances, strict=True)))
            else:
                numbers[key] = len(recording.infoset_key)
                recording.infoset_player.append(kind)
                recording.infoset_key.append(tree.info_states[tree.infoset_of_slot[payload]])
                recording.infoset_actions.append(tree.slot_action[payload + orders[key]].tolist())
        recording.payloads.append(numbers[key])
        stack.extend(reversed((child + orders[key]).tolist()))
    other = build_tree(tree.game, recording)
    old_slot = np.arange(tree.num_slots + tree.num_players)
    for infoset, text in enumerate(other.info_states):
        before = tree.infoset(text, int(other.arrays.infosets[infoset]["player"]))
        assert before is not None
        first = tree.slots(before).start
        old_slot[other.slots(infoset)] = first + orders[False, first]
    return Relabelling(other, old_slot)
