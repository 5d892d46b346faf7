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

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, NoReturn

import numpy as np
import pyspiel

from mccfr_plus.trees.arrays import CHANCE, TERMINAL
from mccfr_plus.trees.game import (
    WrongAnswerError,
    checked_actions,
    checked_outcomes,
    checked_returns,
    game_error,
    require_end,
    unknown_mover,
)
from mccfr_plus.trees.sizes.infoset_counts import InfosetCounts

# Measures; those of external sampling, one per player, come last.
ALL, CHANCE_SAMPLED, PLAYED, EXTERNAL = 0, 1, 2, 3

_SHARE_OF_ALL = 0.5  # of a weight that is for the number of histories, from which most of the others are derived
_PLAIN_SHARE = 0.2  # of a weight that ignores the pilot estimate, so that a wrong one costs a bounded factor

_FEATURES = 1 << 14  # number of different features; a collision costs accuracy, but no bias
_MOST = 10.0  # logarithm of the largest ratio to the average of a level
_TINY = 1e-300  # in place of what is too small beside its level for a float
_NEWEST = 0.3  # weight of the newest run in the average size below a level


@dataclass
class Run:
    """What one beam found; logarithms to base e.

    Attributes:
        measures: ``[3 + num_players]``, the estimate of each measure.
        kinds: ``[2 + num_players]``, the estimated number of terminal nodes, chance nodes, and each player's nodes.
        children: ``[num_players]``, the estimated number of children of each player's nodes.
        paying: The estimated number of terminal nodes at which not all payoffs are 0.
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
    paying: float = float("-inf")
    is_exact: bool = True
    num_nodes: int = 0
    seconds: float = 0.0
    depth: int = 0
    is_complete: bool = True


class StratifiedBeam:
    """Runs beams through a turn-based game.

    Attributes:
        pilot: What earlier runs expect below a candidate.
        counts: The infosets that the runs met.
    """

    def __init__(self, game: pyspiel.Game, rng: np.random.Generator):
        players = game.num_players()
        self._game, self._rng = game, rng
        self.pilot = PilotEstimate(EXTERNAL + players)
        self.counts = InfosetCounts(players)
        # Which measures multiply by the probability of an action, per kind of node.
        self._samples = np.zeros((2 + players, EXTERNAL + players))
        self._samples[CHANCE - TERMINAL, CHANCE_SAMPLED:] = 1.0
        self._samples[-TERMINAL:, PLAYED] = 1.0
        self._samples[-TERMINAL:, EXTERNAL:] = 1.0 - np.eye(players)

    def run(self, width: int, *, learn: bool = False, is_over: Callable[[], bool] = lambda: False) -> Run:
        """Returns what one beam finds.

        Args:
            width: The largest number of histories to keep per level, at least 1.
            learn: Whether to update `pilot`.
            is_over: Whether to stop; it is called before each history is played.
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
            pays = np.array([node.pays for node in nodes])
            if pays.any():
                found.paying = float(np.logaddexp(found.paying, log_sum(logs[pays, ALL])))
            for node, past in zip(nodes, pasts, strict=True):
                if node.kind >= 0:
                    self.counts.add(node.kind, node.info_state, past[node.kind], len(node.actions))
            if not num_actions.any():
                break
            below = found.depth + 1
            level, parents, actions, is_drawn = self._next_level(nodes, logs, kinds, num_actions, width, below)
            found.is_exact = found.is_exact and not is_drawn
            begin = time.perf_counter()
            played = self._play(nodes, states, pasts, parents, actions, is_over)
            found.seconds += time.perf_counter() - begin
            if played is None:
                found.is_complete = found.is_exact = False
                break
            states, pasts = played
            levels.append(level)
            logs = level.logs
            found.depth = below
            try:
                require_end(self._game, below)
            except WrongAnswerError as error:
                raise game_error(self._game, [], error) from None
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
        features = ((kinds[parents] * 1_000_003 + num_actions[parents]) * 7_919 + indices) % _FEATURES
        is_drawn = len(logs) > width
        kept = np.arange(len(logs))
        if is_drawn:
            kept, inclusion = draw(_weights(logs, self.pilot.of(features, depth)), features, width, self._rng)
            logs = logs[kept] - np.log(inclusion)[:, None]
        level = Level(logs, features[kept], parents, features, factors)
        return level, parents[kept].tolist(), indices[kept].tolist(), is_drawn

    def _play(self, nodes, states, pasts, parents, indices, is_over):
        """Returns the states and pasts of the next level, or None if it is over before.

        The last child of a parent takes over its state.
        """
        next_states, next_pasts = [], []
        for child, (parent, index) in enumerate(zip(parents, indices, strict=True)):
            if is_over():
                return None
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

    def _node_of(self, state: pyspiel.State) -> "_Node":
        try:
            kind = state.current_player()
            if kind >= 0:
                actions = checked_actions(state.legal_actions(), self._game.num_distinct_actions())
                log_probabilities = np.full(len(actions), -np.log(len(actions)))
                return _Node(kind, state.information_state_string(), actions, log_probabilities)
            if kind == pyspiel.PlayerId.CHANCE:
                outcomes = checked_outcomes(state.chance_outcomes())
                probabilities = np.log([probability for _, probability in outcomes])
                return _Node(CHANCE, "", [action for action, _ in outcomes], probabilities)
            if kind != pyspiel.PlayerId.TERMINAL:
                raise unknown_mover(kind)
            payoffs = checked_returns(state.returns(), self._game.num_players())
            return _Node(TERMINAL, "", [], np.zeros(0), any(payoffs))
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
    pays: bool = False  # whether it is terminal with payoffs that are not all 0


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


class Level(NamedTuple):
    """The kept histories of a level and the candidates that they were drawn from; logarithms to base e."""

    logs: np.ndarray  # [kept, measures], the mass of each
    features: np.ndarray  # [kept]
    parents: np.ndarray  # [candidates], index in the level above, ascending
    candidates: np.ndarray  # [candidates], their features
    factors: np.ndarray  # [candidates, measures], a candidate's mass over its parent's


class PilotEstimate:
    """How much lies below a candidate, relative to its level.

    Candidates are told apart by the mover, its number of actions and the action's index: enough to know that a fold
    ends the game, and that a high bid leaves few higher ones. What was seen of them at the same depth counts more.

    What lies below a history is estimated as its own mass and what is expected below *all* its children, not as what a
    run happened to find there. So the ends of the game are learned first, and the rest follows from the bottom up.
    """

    def __init__(self, num_measures: int):
        # Anywhere, and at a depth; what was never seen counts as average.
        self._sums, self._counts = np.zeros((2, _FEATURES, num_measures)), np.zeros((2, _FEATURES, 1))
        self._sums[0], self._counts[0] = 1.0, 1.0
        self._means: list[np.ndarray] = []  # per depth, logarithm of the average size below a history there

    def of(self, features: np.ndarray, depth: int) -> np.ndarray:
        """Returns what is expected below each, ``[candidates, measures]``; 1 is the average of the level."""
        anywhere = self._sums[0, features] / self._counts[0, features]
        here = _at_depth(features, depth)
        return (self._sums[1, here] + anywhere) / (self._counts[1, here] + 1.0)

    def learn(self, levels: list[Level]) -> None:
        """Adds what one run saw of its levels, from the last level up. Modified in place."""
        num_measures = self._sums.shape[2]
        self._means += [np.zeros(num_measures) for _ in range(len(levels) - len(self._means))]
        for depth in range(len(levels) - 1, 0, -1):
            level = levels[depth]
            size = np.ones_like(level.logs)
            shift = 0.0
            if depth + 1 < len(levels):
                next_level = levels[depth + 1]
                expected = np.log(self.of(next_level.candidates, depth + 1)) + self._means[depth + 1]
                expected += next_level.factors
                shift = np.maximum(expected.max(axis=0), 0.0)
                size = np.exp(-shift) * size
                np.add.at(size, next_level.parents, np.exp(expected - shift))
            below = np.log(np.maximum(size, _TINY)) + shift
            mean = log_sum(level.logs + below) - log_sum(level.logs)
            relative = np.exp(np.clip(below - mean, -_MOST, _MOST))
            for kind, places in enumerate((level.features, _at_depth(level.features, depth))):
                np.add.at(self._sums[kind], places, relative)
                np.add.at(self._counts[kind], places, 1.0)
            self._means[depth] += (mean - self._means[depth]) * (_NEWEST if self._means[depth].any() else 1.0)


def log_sum(logs: np.ndarray) -> np.ndarray:
    """Returns the logarithm of the sum over the first axis of numbers given by their logarithms."""
    top = logs.max(axis=0)
    return top + np.log(np.exp(logs - top).sum(axis=0))


def _at_depth(features: np.ndarray, depth: int) -> np.ndarray:
    return (features * 31 + depth * 1_009) % _FEATURES
