"""Episodes on a compiled tree, in which each player follows its best response or its average policy throughout.

What a kernel records of them are transitions, for the best responses to learn from, and decisions of best responses,
for the average policies to learn from (Heinrich, Silver 2016, algorithm 1).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mccfr_plus.estimators.draws import draw_action, draw_coin, draw_outcome, draw_uniform
from mccfr_plus.kernels.compile import announce_compilation, kernel
from mccfr_plus.kernels.no_refcount import no_refcount
from mccfr_plus.kernels.scratch import at
from mccfr_plus.tree.arrays import CHANCE, TERMINAL
from mccfr_plus.tree.game_tree import GameTree

TERMINAL_ROW = -1  # `TRANSITION.next_row` after a player's last decision of an episode

# From a player's decision to its next one, or to the end of the episode.
TRANSITION = np.dtype(
    [
        ("row", np.int32),  # of `Features`
        ("action", np.int32),  # OpenSpiel's
        ("next_row", np.int32),  # the player's next information set, or `TERMINAL_ROW`
        ("reward", np.float32),  # the payoff at the end of the episode, 0 before
    ]
)

# What a best response did at an information set.
DECISION = np.dtype([("row", np.int32), ("action", np.int32)])

_TRANSITIONS, _DECISIONS = 0, 1  # columns of `Buffer.counts`
_MIN_RECORDS = 1 << 12  # of a buffer: enough to make a call from Python cheap, few enough to stay in the cache


class Tables(NamedTuple):
    """What everybody would do everywhere."""

    average: np.ndarray  # [num_slots] float64, the average policies
    best: np.ndarray  # [num_infosets] int32, the best response's action as an index into an infoset's slots


class Buffer(NamedTuple):
    """What episodes are recorded in."""

    transitions: np.ndarray  # [num_players, capacity] TRANSITION
    decisions: np.ndarray  # [num_players, capacity] DECISION
    counts: np.ndarray  # [num_players, 2] int64: how many of either
    last: np.ndarray  # [num_players] DECISION: the player's last in the present episode; row -1: none yet
    is_best: np.ndarray  # [num_players] bool: whether the player follows its best response in it


class Episodes:
    """Plays and records episodes.

    Args:
        tree: The game. Of perfect recall, so that a player's next information set is one.
        anticipatory: Probability with which a player follows its best response in an episode.
        rng: ``[1]`` uint64, the state of the random generator; kept, not copied.
    """

    def __init__(self, tree: GameTree, anticipatory: float, rng: np.ndarray):
        self._tree, self._anticipatory, self._rng = tree, float(anticipatory), rng
        self._nodes_touched = np.zeros(1, np.int64)
        self.steps = np.zeros(tree.num_players, np.int64)  # of each player: decisions and ends of episodes
        self._infoset_of_slot = tree.infoset_of_slot
        capacity = max(_MIN_RECORDS, 2 * tree.shape.max_depth)
        players = tree.num_players
        self._buffer = Buffer(
            np.zeros((players, capacity), TRANSITION),
            np.zeros((players, capacity), DECISION),
            np.zeros((players, 2), np.int64),
            np.zeros(players, DECISION),
            np.zeros(players, bool),
        )

    @property
    def nodes_touched(self) -> int:
        """Histories visited so far."""
        return int(self._nodes_touched[0])

    def state(self) -> dict[str, np.ndarray]:
        """Returns the arrays that carry from one call to the next, by name: views."""
        return {"rng": self._rng, "nodes": self._nodes_touched, "steps": self.steps}

    def prepare(self) -> None:
        """Compiles the kernel, if that is to be done."""
        tables = Tables(self._tree.uniform_strategy(), np.zeros(self._tree.num_infosets, np.int32))
        with announce_compilation(play):
            self.play(tables, np.zeros(self._tree.num_players), self.steps, 0)

    def play(self, tables: Tables, epsilon: np.ndarray, due: np.ndarray, episodes: int) -> int:
        """Plays episodes until a player has made as many steps as are due, or the buffer is full.

        Args:
            tables: What is played.
            epsilon: ``[num_players]`` float64: how likely a best response is to play any action instead.
            due: ``[num_players]`` int64: after the episode in which some player's `steps` reach this the work stops.
            episodes: How many are wanted at most.

        Returns:
            How many episodes were played, at least one if any are wanted. See `transitions` and `decisions`.
        """
        tree = self._tree
        done, nodes = play(
            tree.arrays,
            tables,
            (self._infoset_of_slot, tree.slot_action),
            self._anticipatory,
            epsilon,
            due,
            episodes,
            tree.shape.max_depth,
            self._rng,
            self.steps,
            self._buffer,
        )
        self._nodes_touched[0] += nodes
        return int(done)

    def transitions(self, player: int) -> np.ndarray:
        """Returns a player's transitions in the last call of `play`, ``[n]`` TRANSITION: a view."""
        return self._buffer.transitions[player, : self._buffer.counts[player, _TRANSITIONS]]

    def decisions(self, player: int) -> np.ndarray:
        """Returns what a player's best response did in the last call of `play`, ``[n]`` DECISION: a view."""
        return self._buffer.decisions[player, : self._buffer.counts[player, _DECISIONS]]


@kernel
def play(tree, tables, labels, anticipatory, epsilon, due, episodes, most, rng, steps, buffer):
    """Plays and records episodes; see `Episodes.play`.

    Args:
        tree: `TreeArrays`.
        tables: `Tables`.
        labels: The infoset of each slot, ``[num_slots]`` int32, and its action, ``[num_slots]`` int64.
        anticipatory: Probability with which a player follows its best response in an episode.
        epsilon: ``[num_players]``.
        due: ``[num_players]``.
        episodes: How many at most.
        most: The largest number of decisions of an episode: with less room than that none is begun.
        rng: ``[1]`` uint64. Modified in place.
        steps: ``[num_players]`` int64. Modified in place.
        buffer: `Buffer`. Modified in place.

    Returns:
        How many episodes were played, and how many nodes were visited.
    """
    tree, tables, buffer = no_refcount(tree), no_refcount(tables), no_refcount(buffer)
    infoset_of_slot, slot_action = no_refcount(labels[0]), no_refcount(labels[1])
    nodes, chance, counts, last = tree.nodes, tree.chance, buffer.counts, buffer.last
    num_players = len(steps)
    counts[:, :] = 0
    done, touched, is_due = 0, 0, False
    while done < episodes and not is_due and counts[:, _TRANSITIONS].max() + most <= buffer.transitions.shape[1]:
        for player in range(num_players):
            last[player]["row"] = -1
            buffer.is_best[player] = draw_coin(anticipatory, rng)
        node = 0
        while True:
            touched += 1
            record = nodes[at(node)]
            kind, first, width = record["kind"], record["payload"], record["num_children"]
            if kind == TERMINAL:
                break
            if kind == CHANCE:
                node = record["first_child"] + draw_outcome(chance, first, width, rng)
                continue
            infoset = infoset_of_slot[first]
            row = infoset - tree.infoset_range[kind]
            if not buffer.is_best[kind]:
                index = draw_action(tables.average, first, width, rng)
            elif draw_coin(epsilon[kind], rng):
                index = draw_uniform(width, rng)
            else:
                index = tables.best[infoset]
            action = slot_action[first + index]
            note_transition(buffer, kind, row, 0.0)
            last[kind]["row"] = row
            last[kind]["action"] = action
            if buffer.is_best[kind]:
                decision = buffer.decisions[kind, counts[kind, _DECISIONS]]
                decision["row"] = row
                decision["action"] = action
                counts[kind, _DECISIONS] += 1
            steps[kind] += 1
            node = record["first_child"] + index
        payoff = tree.payoffs[at(nodes[at(node)]["payload"])]
        for player in range(num_players):
            note_transition(buffer, player, TERMINAL_ROW, payoff[player])
            steps[player] += 1
            is_due = is_due or steps[player] >= due[player]
        done += 1
    return done, touched


@kernel
def note_transition(buffer, player, next_row, reward):
    """Records the transition from a player's last decision, if there was one. `buffer` is modified in place."""
    last = buffer.last[player]
    if last["row"] < 0:
        return
    transition = buffer.transitions[player, buffer.counts[player, _TRANSITIONS]]
    transition["row"] = last["row"]
    transition["action"] = last["action"]
    transition["next_row"] = next_row
    transition["reward"] = reward
    buffer.counts[player, _TRANSITIONS] += 1
