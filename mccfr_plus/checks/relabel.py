"""A game with its actions, chance outcomes and infosets in another order."""

from typing import NamedTuple

import numpy as np

from mccfr_plus.games.rules import CHANCE, TERMINAL
from mccfr_plus.trees.game_tree import GameTree, build_tree
from mccfr_plus.trees.order import chance_events, depth_first
from mccfr_plus.trees.recording import Recording


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
    arrays, infosets = tree.arrays, tree.arrays.infosets
    slots = _shuffled(infosets["first_slot"], infosets["num_actions"], rng)
    outcomes = _shuffled(*chance_events(arrays), rng)
    payoffs = [tuple(row) for row in arrays.payoffs.tolist()]
    recording = Recording(tree.num_players, tree.shape.max_depth, payoffs=payoffs)
    numbers: dict[tuple[bool, int], int] = {}
    for kind, count, _, payload in arrays.nodes[depth_first(tree, slots, outcomes)[0]].tolist():
        recording.kinds.append(kind)
        key = (kind == CHANCE, payload)
        rows = (outcomes if kind == CHANCE else slots)[payload : payload + count]
        if kind == TERMINAL:
            recording.payloads.append(payload)
            continue
        if key not in numbers and kind == CHANCE:
            numbers[key] = len(recording.distributions)
            actions, chances = tree.outcome_action[rows].tolist(), arrays.chance["probability"][rows].tolist()
            recording.distributions.append(tuple(zip(actions, chances, strict=True)))
        elif key not in numbers:
            numbers[key] = len(recording.infoset_key)
            recording.infoset_player.append(kind)
            recording.infoset_key.append(tree.info_states[tree.infoset_of_slot[payload]])
            recording.infoset_actions.append(tree.slot_action[rows].tolist())
        recording.payloads.append(numbers[key])
    other = build_tree(tree.game, recording)
    old_slot = np.arange(tree.num_slots + tree.num_players)
    for infoset, text in enumerate(other.info_states):
        before = tree.infoset(text, int(other.arrays.infosets[infoset]["player"]))
        assert before is not None
        old_slot[other.slots(infoset)] = slots[tree.slots(before)]
    return Relabelling(other, old_slot)


def _shuffled(firsts: np.ndarray, counts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Returns the rows of each group in a random order, and not the usual one."""
    rows = np.arange(counts.sum())
    for first, count in zip(firsts.tolist(), counts.tolist(), strict=True):
        order = rng.permutation(count)
        rows[first : first + count] = first + (order[::-1] if (order == np.arange(count)).all() else order)
    return rows
