"""Plays episodes of NFSP on a compiled tree (Heinrich, Silver 2016, algorithm 1).

In an episode each player follows either its best response or its average policy. A kernel records transitions, from
which best responses learn, and decisions of best responses, from which average policies learn.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mccfr_plus.estimators.draws import draw_action, draw_coin, draw_outcome, draw_uniform
from mccfr_plus.kernels.compile import announce_compilation, kernel
from mccfr_plus.kernels.scratch import at
from mccfr_plus.tree.arrays import CHANCE, TERMINAL
from mccfr_plus.tree.game_tree import GameTree

TERMINAL_ROW = -1  # `TRANSITION.next_row` after a player's last decision of an episode

# A step from a player's decision to its next one, or to the end of the episode.
TRANSITION = np.dtype(
    [
        ("row", np.int32),  # of `Features`
        ("action", np.int32),  # OpenSpiel's
        ("next_row", np.int32),  # the player's next information set, or `TERMINAL_ROW`
        ("reward", np.float32),  # the payoff at the end of the episode, 0 before
    ]
)

# An action of a best response.
DECISION = np.dtype([("row", np.int32), ("action", np.int32)])

_TRANSITIONS, _DECISIONS = 0, 1  # columns of `EpisodeBuffer.counts`
_MIN_RECORDS = 1 << 12  # of a buffer: calls from Python stay cheap, and the buffer stays in the cache


class Tables(NamedTuple):
    """The policies of all players."""

    average: np.ndarray  # [num_slots] float64, the average policies
    best: np.ndarray  # [num_infosets] int32, the best response's action as an index into an infoset's slots


class EpisodeBuffer(NamedTuple):
    """The records of episodes."""

    transitions: np.ndarray  # [num_players, capacity] TRANSITION
    decisions: np.ndarray  # [num_players, capacity] DECISION
    counts: np.ndarray  # [num_players, 2] int64: number of transitions, of decisions
    last: np.ndarray  # [num_players] DECISION: the player's last one in the current episode; row -1: none
    is_best: np.ndarray  # [num_players] bool: whether the player follows its best response in the current episode


class Episodes:
    """Plays and records episodes.

    Args:
        tree: The game. Of perfect recall, so that a player's next information set is one.
        anticipatory: Probability with which a player follows its best response in an episode.
        rng: ``[1]`` uint64, the state of the random generator. Modified in place.
    """

    def __init__(self, tree: GameTree, anticipatory: float, rng: np.ndarray):
        self._tree, self._anticipatory, self._rng = tree, float(anticipatory), rng
        self._nodes_touched = np.zeros(1, np.int64)
        self.steps = np.zeros(tree.num_players, np.int64)  # per player: number of decisions and ends of episodes
        self._infoset_of_slot = tree.infoset_of_slot
        capacity = max(_MIN_RECORDS, 2 * tree.shape.max_depth)
        players = tree.num_players
        self._buffer = EpisodeBuffer(
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
        """Returns the state between calls: views, by name."""
        return {"rng": self._rng, "nodes": self._nodes_touched, "steps": self.steps}

    def prepare(self) -> None:
        """Compiles the kernel."""
        tables = Tables(self._tree.uniform_strategy(), np.zeros(self._tree.num_infosets, np.int32))
        with announce_compilation(play):
            self.play(tables, np.zeros(self._tree.num_players), self.steps, 0)

    def play(self, tables: Tables, epsilon: np.ndarray, due: np.ndarray, episodes: int) -> int:
        """Plays episodes until a player's steps reach `due`, or the buffer is full.

        Args:
            tables: The policies.
            epsilon: ``[num_players]`` float64, probability with which a best response plays a uniform action instead.
            due: ``[num_players]`` int64: no episode starts once the `steps` of some player reach this.
            episodes: The largest number of episodes.

        Returns:
            The number of episodes, at least 1 if `episodes` is. See `transitions` and `decisions`.
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
        """Returns a player's best-response actions in the last call of `play`, ``[n]`` DECISION: a view."""
        return self._buffer.decisions[player, : self._buffer.counts[player, _DECISIONS]]


@kernel
def play(tree, tables, labels, anticipatory, epsilon, due, episodes, max_decisions, rng, steps, buffer):
    """Plays and records episodes; see `Episodes` and `Episodes.play`.

    Args:
        labels: The infoset and the action of each slot, ``[num_slots]`` int32 and ``[num_slots]`` int64.
        max_decisions: The largest number of decisions of an episode: none starts with less room than that.
        rng, steps, buffer: Modified in place.
        **others: See `Episodes.play`.

    Returns:
        The number of episodes and the number of visited nodes.
    """
    infoset_of_slot, slot_action = labels
    nodes, chance, counts, last = tree.nodes, tree.chance, buffer.counts, buffer.last
    num_players = len(steps)
    counts[:, :] = 0
    done, touched, is_due = 0, 0, False
    max_count = buffer.transitions.shape[1] - max_decisions
    while done < episodes and not is_due and counts[:, _TRANSITIONS].max() <= max_count:
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
