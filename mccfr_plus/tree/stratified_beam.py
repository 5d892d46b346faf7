"""Stratified beams through a game tree: unbiased estimates of sums over all histories from few per level.

1. A level of the tree is kept as at most `width` histories, each with a factor by which it stands for those that were
   left out. The root stands for itself.
2. All children of the kept histories are candidates. If there are more than `width`, some are drawn: a candidate of
   weight q is kept with probability pi = min(1, q / c), with the c for which these sum to `width`, by systematic
   sampling, which keeps the share of each kind of action. A kept candidate counts 1 / pi times as much.
3. So the sum over the kept histories of (factor x f) has the expectation "sum of f over the level" for any f and any
   weights. It is exact where a level is no wider than the beam.

With width 1 this is Knuth's estimate, whose variance grows exponentially with the depth; a beam averages in each level.

One beam serves several sums at once, the *measures*: f is the probability of the history when some kinds of nodes are
sampled and the others all visited: all histories (nothing sampled), those of a traversal of chance sampling, of outcome
sampling, and of external sampling for each player. A candidate's weight is its mean share of these sums times what the
`PilotEstimate` expects below it. Everything is kept as logarithms: the numbers of chess do not fit a float.

References: Knuth 1975, "Estimating the efficiency of backtrack programs", theorem 1. Chen 1992, "Heterogeneous
sampling: a method for predicting the size of search trees". Fearnhead, Clifford 2003, "On-line inference for hidden
Markov models via particle filters", section 3 (step 2). Vaisman, Kroese 2017, "Stochastic enumeration method for
counting trees" (levels of bounded width, equal weights).
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import NamedTuple, NoReturn

import numpy as np
import pyspiel

from mccfr_plus.tree.arrays import CHANCE, TERMINAL
from mccfr_plus.tree.game_error import (
    checked_outcomes,
    checked_returns,
    game_error,
    unknown_mover,
    wrong_number_of_actions,
)
from mccfr_plus.tree.infoset_counts import InfosetCounts
from mccfr_plus.tree.pilot_estimate import Level, PilotEstimate, log_sum

# Measures; those of external sampling, one per player, come last.
ALL, CHANCE_SAMPLED, PLAYED, EXTERNAL = 0, 1, 2, 3

_SHARE_OF_ALL = 0.5  # of a weight that is for the number of histories, from which most of the others are derived
_PLAIN_SHARE = 0.2  # of a weight that ignores the pilot estimate, so that a wrong one costs a bounded factor


@dataclass
class Run:
    """What one beam found; logarithms to base e.

    Attributes:
        measures: ``[3 + num_players]``, the estimate of each measure.
        kinds: ``[2 + num_players]``, the estimated number of terminal nodes, chance nodes, and each player's nodes.
        children: ``[num_players]``, the estimated number of children of each player's nodes.
        most_actions: ``[num_players]`` int64, most actions seen at a node of each player.
        is_exact: Whether no level was wider than the beam, so that all numbers are counts.
        num_nodes: Histories visited.
        seconds: Time spent in pyspiel.
        depth: Longest history seen, in actions of players and chance.
        is_complete: False if time was up: then the levels below are missing.
    """

    measures: np.ndarray
    kinds: np.ndarray
    children: np.ndarray
    most_actions: np.ndarray
    is_exact: bool = True
    num_nodes: int = 0
    seconds: float = 0.0
    depth: int = 0
    is_complete: bool = True


class StratifiedBeam:
    """Runs beams through a turn-based game.

    Args:
        game: A game that `load_game` has accepted.
        rng: Random numbers.

    Attributes:
        pilot: What earlier runs expect below a candidate.
        counts: The infosets that the runs met.
    """

    def __init__(self, game: pyspiel.Game, rng: np.random.Generator):
        players = game.num_players()
        self._game, self._rng, self._most_actions = game, rng, game.num_distinct_actions()
        self.pilot = PilotEstimate(EXTERNAL + players)
        self.counts = InfosetCounts(players)
        # Which measures multiply by the probability of an action, per kind of node.
        self._samples = np.zeros((2 + players, EXTERNAL + players))
        self._samples[CHANCE - TERMINAL, CHANCE_SAMPLED:] = 1.0
        self._samples[-TERMINAL:, PLAYED] = 1.0
        self._samples[-TERMINAL:, EXTERNAL:] = 1.0 - np.eye(players)

    def run(self, width: int, *, learn: bool = False, deadline: float = float("inf")) -> Run:
        """Returns what one beam finds.

        Args:
            width: The largest number of histories to keep per level, at least 1.
            learn: Whether to update `pilot`.
            deadline: When to stop, on the clock of `time.monotonic`.
        """
        players, none = self._game.num_players(), np.zeros(0, np.int64)
        found = Run(
            np.full(EXTERNAL + players, -np.inf),
            np.full(2 + players, -np.inf),
            np.full(players, -np.inf),
            np.zeros(players, np.int64),
        )
        self.counts.begin_run()
        states = [self._root()]
        pasts: list[tuple[int, ...]] = [(0,) * players]  # per state, a hash of each player's own actions and infosets
        logs = np.zeros((1, EXTERNAL + players))
        levels = [Level(logs, np.zeros(1, np.int64), none, none, np.zeros((0, EXTERNAL + players)))]
        while True:
            begin = time.perf_counter()
            nodes = [self._node_of(state) for state in states]
            found.seconds += time.perf_counter() - begin
            found.num_nodes += len(nodes)
            kinds = np.array([node.kind for node in nodes]) - TERMINAL
            num_actions = np.array([len(node.actions) for node in nodes])
            _add_up(found, logs, kinds, num_actions)
            for node, past in zip(nodes, pasts, strict=True):
                if node.kind >= 0:
                    self.counts.add(node.kind, node.info_state, past[node.kind], len(node.actions))
            if not num_actions.any():
                break
            if time.monotonic() > deadline:
                found.is_complete = found.is_exact = False
                break
            below = found.depth + 1
            level, parents, actions, is_drawn = self._next_level(nodes, logs, kinds, num_actions, width, below)
            found.is_exact = found.is_exact and not is_drawn
            levels.append(level)
            logs = level.logs
            begin = time.perf_counter()
            states, pasts = self._play(nodes, states, pasts, parents, actions)
            found.seconds += time.perf_counter() - begin
            found.depth = below
        if learn:
            self.pilot.learn(levels)
        return found

    def _next_level(self, nodes, logs, kinds, num_actions, width, depth):
        """Returns the level below, each kept history's parent and action index, and whether candidates were drawn."""
        parents = np.repeat(np.arange(len(nodes)), num_actions)
        indices = np.arange(len(parents)) - np.repeat(np.cumsum(num_actions) - num_actions, num_actions)
        probabilities = np.concatenate([node.log_probabilities for node in nodes])
        factors = probabilities[:, None] * self._samples[kinds[parents]]
        logs = logs[parents] + factors
        features = PilotEstimate.features(kinds[parents], num_actions[parents], indices)
        is_drawn = len(logs) > width
        kept = np.arange(len(logs))
        if is_drawn:
            kept, inclusion = draw(_weights(logs, self.pilot.of(features, depth)), features, width, self._rng)
            logs = logs[kept] - np.log(inclusion)[:, None]
        level = Level(logs, features[kept], parents, features, factors)
        return level, parents[kept].tolist(), indices[kept].tolist(), is_drawn

    def _play(self, nodes, states, pasts, parents, indices):
        """Returns the states and pasts of the next level; the last child of a parent takes over its state."""
        next_states, next_pasts = [], []
        for child, (parent, index) in enumerate(zip(parents, indices, strict=True)):
            node, past, state = nodes[parent], pasts[parent], states[parent]
            action = node.actions[index]
            if node.kind >= 0:
                own = hash((past[node.kind], node.info_state, action))
                past = (*past[: node.kind], own, *past[node.kind + 1 :])
            try:
                if child + 1 < len(parents) and parents[child + 1] == parent:
                    state = state.child(action)
                else:
                    state.apply_action(action)
            except Exception as error:
                self._raise([*state.history(), action], error)
            next_states.append(state)
            next_pasts.append(past)
        return next_states, next_pasts

    def _root(self) -> pyspiel.State:
        try:
            return self._game.new_initial_state()
        except Exception as error:
            self._raise([], error)

    def _node_of(self, state: pyspiel.State) -> _Node:
        try:
            kind = state.current_player()
            if kind >= 0:
                actions = state.legal_actions()
                count = len(actions)
                if not 0 < count <= self._most_actions:
                    raise wrong_number_of_actions(count, self._most_actions)
                return _Node(kind, state.information_state_string(), actions, np.full(count, -np.log(count)))
            if kind == pyspiel.PlayerId.CHANCE:
                outcomes = checked_outcomes(state.chance_outcomes())
                probabilities = np.log([probability for _, probability in outcomes])
                return _Node(CHANCE, "", [action for action, _ in outcomes], probabilities)
            if kind != pyspiel.PlayerId.TERMINAL:
                raise unknown_mover(kind)
            checked_returns(state.returns(), self._game.num_players())
            return _Node(TERMINAL, "", [], np.zeros(0))
        except Exception as error:
            self._raise(state.history(), error)

    def _raise(self, history: list[int], problem: Exception) -> NoReturn:
        error = game_error(self._game, history, problem)
        raise error from error.__cause__


class _Node(NamedTuple):
    kind: int
    info_state: str  # of the player to move
    actions: list[int]
    log_probabilities: np.ndarray  # of the actions, in random play


def _add_up(found: Run, logs: np.ndarray, kinds: np.ndarray, num_actions: np.ndarray) -> None:
    """Adds a level to a run. Modified in place."""
    found.measures = np.logaddexp(found.measures, log_sum(logs))
    for kind in np.unique(kinds):
        here = kinds == kind
        masses, player = logs[here, ALL], kind + TERMINAL
        found.kinds[kind] = np.logaddexp(found.kinds[kind], log_sum(masses))
        if player >= 0:
            children = log_sum(masses + np.log(num_actions[here]))
            found.children[player] = np.logaddexp(found.children[player], children)
            found.most_actions[player] = max(found.most_actions[player], num_actions[here].max())


def _weights(logs: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Returns the weight of each candidate; they sum to 1.

    Args:
        logs: ``[n, measures]``, logarithm of each candidate's mass.
        expected: ``[n, measures]``, what is expected below it, relative to the others.
    """
    plain = np.exp(logs - log_sum(logs))
    weighted = plain * expected
    shares = _PLAIN_SHARE * plain + (1 - _PLAIN_SHARE) * weighted / weighted.sum(axis=0)
    return _SHARE_OF_ALL * shares[:, ALL] + (1 - _SHARE_OF_ALL) * shares[:, CHANCE_SAMPLED:].mean(axis=1)


def draw(weights: np.ndarray, kinds: np.ndarray, width: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Returns which candidates are kept, ascending, and the probability with which each of them was.

    Args:
        weights: ``[n]`` positive, with n above `width`.
        kinds: ``[n]`` numbers; of candidates with one number about their share is kept.
        width: How many to keep, one more or less by rounding.
        rng: Draws.
    """
    descending = np.sort(weights)[::-1]
    rest = np.cumsum(descending[::-1])[::-1]  # the sum from each one on
    # The first `certain` are kept for sure; the others share the places that are left in proportion to their weights.
    unit = rest[:width] / (width - np.arange(width))
    certain = int(np.argmax(descending[:width] <= unit))
    probability = np.minimum(1.0, weights / unit[certain])
    # Systematic sampling needs an order without a period: in the order of the tree, every second candidate could be
    # the second child of every parent.
    order = np.lexsort((rng.random(len(weights)), kinds))
    marks = np.floor(np.cumsum(probability[order]) + rng.random())
    kept = np.sort(order[np.diff(marks, prepend=0.0) >= 1])
    return kept, probability[kept]
