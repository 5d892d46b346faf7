"""Beams through a game tree: unbiased estimates of sums over all histories, from a bounded sample of each level.

1. The first level is the root, with weight 1.
2. The next level consists of the children of all histories of this one. Where there are n > `width` of them, `width`
   are drawn uniformly without replacement, and the weight of the level grows by the factor n / width.
3. So weight x (sum of f over the sample) has the expectation "sum of f over the level", for any f. The estimate is
   exact where no level is wider than the beam.

Sums of f = 1 count nodes. For what a sampled traversal visits, f is the probability that it comes to the history. All
numbers are logarithms: those of chess do not fit a float.

References: Knuth 1975, "Estimating the efficiency of backtrack programs", theorem 1 (width 1). Chen 1992, "Heuristic
sampling: a method for predicting the performance of tree searching programs". Vaisman, Kroese 2017, "Stochastic
enumeration method for counting trees" (this one).
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pyspiel

from mccfr_plus.trees.arrays import CHANCE, TERMINAL
from mccfr_plus.trees.game import (
    checked_actions,
    checked_outcomes,
    checked_returns,
    game_error,
    require_end,
    unknown_mover,
)


class Beam(NamedTuple):
    """Estimates of one beam; log10 of each sum.

    Attributes:
        kinds: ``[2 + num_players]``, terminal nodes, chance nodes, and each player's decision nodes.
        visits: ``[4]``, the histories that one traversal visits under the uniform strategy, in the order of
            `ESTIMATORS`; for external sampling the mean over the players.
        depth: Longest history, in actions of players and chance.
        is_exact: Whether all numbers are counts.
        is_complete: False if the beam was stopped: then the levels below are missing.
    """

    kinds: np.ndarray
    visits: np.ndarray
    depth: int
    is_exact: bool
    is_complete: bool


class _Node(NamedTuple):
    state: pyspiel.State
    pasts: tuple[int, ...]  # per player, a hash of their own information states and actions
    kind: int  # the player to move, CHANCE or TERMINAL
    actions: list[int]
    log_probabilities: list[float]  # of the actions, in random play
    info_state: str = ""  # of the player to move


class Sampler:
    """Draws beams, and collects the information states that they meet.

    Attributes:
        visited: Number of histories visited.
        perfect_recall: False once an information state was met after two different own pasts.
        num_slots: Number of actions at the information states met.
        text_length: Length of these, in characters.
    """

    def __init__(self, game: pyspiel.Game, rng: np.random.Generator):
        players = game.num_players()
        self._game, self._rng = game, rng
        self._met: list[dict[int, int]] = [{} for _ in range(players)]  # the past, by the information state's hash
        self.visited, self.perfect_recall, self.num_slots, self.text_length = 0, True, 0, 0
        # Whether a kind of node is sampled, by traversal: full, chance, outcome, and external for each player.
        self._is_sampled = np.zeros((2 + players, 3 + players), bool)
        self._is_sampled[CHANCE - TERMINAL, 1:] = True
        self._is_sampled[-TERMINAL:, 2] = True
        self._is_sampled[-TERMINAL:, 3:] = ~np.eye(players, dtype=bool)

    @property
    def infosets_seen(self) -> tuple[int, ...]:
        """The number of different information states met, per player."""
        return tuple(map(len, self._met))

    def beam(self, width: int, is_over: Callable[[], bool] = lambda: False) -> Beam:
        """Returns the estimates of a new beam.

        Args:
            width: Maximum number of histories per level, at least 1.
            is_over: Whether to stop; called before each visit of a history.

        Raises:
            GameError: If the game raises an error or contradicts itself.
        """
        num_kinds, num_traversals = self._is_sampled.shape
        depth, is_exact, is_complete = 0, True, True
        kind_sums, visits = np.full(num_kinds, -np.inf), np.full(num_traversals, -np.inf)  # all logarithms are natural
        nodes = [self._visit(None, 0, 0)]
        log_weight, reach = 0.0, np.zeros((1, num_traversals))  # of the level and of each history
        while True:
            kinds = np.array([node.kind for node in nodes]) - TERMINAL
            with np.errstate(divide="ignore"):
                counts = np.log(np.bincount(kinds, minlength=num_kinds))
            kind_sums = np.logaddexp(kind_sums, log_weight + counts)
            visits = np.logaddexp(visits, log_weight + np.logaddexp.reduce(reach))
            parents, indices, log_growth = self._draw_children(nodes, width)
            if not len(parents):
                break
            log_weight += log_growth
            is_exact = is_exact and log_growth == 0.0
            probabilities = np.array([nodes[i].log_probabilities[j] for i, j in zip(parents, indices, strict=True)])
            reach = reach[parents] + probabilities[:, None] * self._is_sampled[kinds[parents]]
            depth += 1
            is_last = np.append(np.diff(parents) > 0, True)  # the last child of a history takes over its state
            children = []
            for parent, index, last in zip(parents.tolist(), indices.tolist(), is_last.tolist(), strict=True):
                if is_over():
                    is_exact = is_complete = False
                    break
                children.append(self._visit(nodes[parent], index, depth, last))
            if not is_complete:
                break
            nodes = children
        external = np.logaddexp.reduce(visits[3:]) - math.log(len(visits) - 3)
        by_estimator = np.array([visits[0], visits[1], external, visits[2]])
        return Beam(kind_sums / math.log(10), by_estimator / math.log(10), depth, is_exact, is_complete)

    def _draw_children(self, nodes: list[_Node], width: int) -> tuple[np.ndarray, np.ndarray, float]:
        """Returns the parents' indices and the actions' indices of the next level, and by what its weight grows."""
        num_actions = [len(node.actions) for node in nodes]
        parents = np.repeat(np.arange(len(nodes)), num_actions)
        indices = np.concatenate([np.arange(number) for number in num_actions])
        if len(parents) <= width:
            return parents, indices, 0.0
        kept = np.sort(self._rng.choice(len(parents), width, replace=False))
        return parents[kept], indices[kept], math.log(len(parents) / width)

    def _visit(self, parent: _Node | None, index: int, depth: int, is_last: bool = False) -> _Node:
        """Returns a child of a node, or the root."""
        self.visited += 1
        try:
            if parent is None:
                return self._read(self._game.new_initial_state(), (0,) * self._game.num_players())
            require_end(self._game, depth)
            action, pasts = parent.actions[index], parent.pasts
            if parent.kind >= 0:
                own = hash((pasts[parent.kind], parent.info_state, action))
                pasts = (*pasts[: parent.kind], own, *pasts[parent.kind + 1 :])
            if not is_last:
                return self._read(parent.state.child(action), pasts)
            parent.state.apply_action(action)
            return self._read(parent.state, pasts)
        except Exception as problem:
            history = [*parent.state.history()[: depth - 1], parent.actions[index]] if parent else []
            error = game_error(self._game, history, problem)
            raise error from error.__cause__

    def _read(self, state: pyspiel.State, pasts: tuple[int, ...]) -> _Node:
        kind = state.current_player()
        if kind >= 0:
            actions = checked_actions(state.legal_actions(), self._game.num_distinct_actions())
            info_state = state.information_state_string()
            key, met = hash(info_state), self._met[kind]
            if key not in met:
                met[key] = pasts[kind]
                self.num_slots += len(actions)
                self.text_length += len(info_state)
            elif met[key] != pasts[kind]:
                self.perfect_recall = False
            return _Node(state, pasts, kind, actions, [-math.log(len(actions))] * len(actions), info_state)
        if kind == pyspiel.PlayerId.CHANCE:
            outcomes = checked_outcomes(state.chance_outcomes())
            logs = [math.log(probability) for _, probability in outcomes]
            return _Node(state, pasts, CHANCE, [action for action, _ in outcomes], logs)
        if kind != pyspiel.PlayerId.TERMINAL:
            raise unknown_mover(kind)
        checked_returns(state.returns(), self._game.num_players())
        return _Node(state, pasts, TERMINAL, [], [])
