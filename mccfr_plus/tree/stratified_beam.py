"""A beam through a game tree: unbiased estimates of sums over all histories from a bounded number per level.

1. A level of the tree is kept as at most `width` histories, each with the factor by which it stands for those that were
   left out. The root stands for itself.
2. All children of the kept histories are candidates. If there are more than `width`, some are drawn: a candidate of
   weight q is kept with probability pi = min(1, q / c), with the c for which these add up to `width`, by systematic
   sampling, which keeps its share of each kind of action; what is kept counts 1 / pi times as much.
3. So the sum over the kept histories of (factor x f) has the expectation "sum of f over the level" for any f, whatever
   the weights; where a level is no wider than the beam, it is exact.

With width 1 this is Knuth's estimate, whose variance is_lazy exponentially with the depth; a beam averages in each level.

One beam serves several sums at once, the *measures*: f is the probability of the history when some kinds of nodes are
sampled and the others all visited: all histories (nothing sampled), those of a traversal of chance sampling, of outcome
sampling, of external sampling for each player. A candidate's weight is its mean share of these sums times what the
`Foresight` of earlier runs expects below it. Everything is kept as logarithms: the numbers of chess do not fit a float.

References: Knuth 1975, "Estimating the efficiency of backtrack programs", theorem 1. Chen 1992, "Heterogeneous
sampling: a method for predicting the size of search trees" (one history stands for its like). Fearnhead, Clifford 2003,
"On-line inference for hidden Markov models via particle filters", section 3 (step 2). Vaisman, Kroese 2017,
"Stochastic enumeration method for counting trees" (levels of bounded width; equal weights, no foresight).
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
from mccfr_plus.tree.infoset_counts import Sightings
from mccfr_plus.tree.pilot_estimate import Foresight, Level, log_sum

# Measures; those of external sampling, one per player, come behind.
ALL, CHANCE_SAMPLED, PLAYED, EXTERNAL = 0, 1, 2, 3

_SHARE_OF_ALL = 0.5  # of the beam that goes to the number of histories, which most of the others are derived from
_PLAIN_SHARE = 0.2  # of the beam that is spent without foresight, so that a wrong one costs a bounded factor


@dataclass
class Run:
    """What one beam found; logarithms to base e.

    Attributes:
        measures: ``[3 + num_players]``, the estimate of each measure.
        kinds: ``[2 + num_players]``, the estimated number of terminal nodes, chance nodes, and each player's nodes.
        children: ``[num_players]``, the estimated number of children of each player's nodes.
        most_actions: ``[num_players]`` int64, most actions seen at a node of each player.
        is_exact: Whether no level was wider than the beam, so that all numbers are counts.
        num_nodes: Histories that it looked at.
        seconds: CPU time spent in pyspiel.
        depth: Longest history seen, in actions of players and chance.
        is_complete: False if it ran out of time: then the levels below are missing.
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


def run_beam(
    game: pyspiel.Game,
    width: int,
    rng: np.random.Generator,
    foresight: Foresight,
    sightings: Sightings,
    *,
    learn: bool = False,
    deadline: float = float("inf"),
) -> Run:
    """Returns what one beam through a turn-based game finds.

    Args:
        game: A game that `load_game` has accepted.
        width: The largest number of histories to keep per level, at least 1.
        rng: Draws.
        foresight: What earlier runs expect below a candidate.
        sightings: Is told the infosets that the beam meets. Modified in place.
        learn: Whether to add to `foresight`, which is modified in place then.
        deadline: When to give up, on the clock of `time.monotonic`.
    """
    return _Beam(game, width, rng, foresight, sightings).run(learn, deadline)


class _Beam:
    def __init__(
        self,
        game: pyspiel.Game,
        width: int,
        rng: np.random.Generator,
        foresight: Foresight,
        sightings: Sightings,
    ):
        players = game.num_players()
        self._game = game
        self._width, self._rng, self._foresight, self._sightings = width, rng, foresight, sightings
        self._found = Run(
            np.full(EXTERNAL + players, -np.inf),
            np.full(2 + players, -np.inf),
            np.full(players, -np.inf),
            np.zeros(players, np.int64),
        )
        # Which measures multiply by the probability of an action, per kind of node.
        self._samples = np.zeros((2 + players, EXTERNAL + players))
        self._samples[CHANCE - TERMINAL, CHANCE_SAMPLED:] = 1.0
        self._samples[-TERMINAL:, PLAYED] = 1.0
        self._samples[-TERMINAL:, EXTERNAL:] = 1.0 - np.eye(players)
        self._states = [game.new_initial_state()]
        self._pasts: list[tuple[int, ...]] = [(0,) * players]  # each player's own actions and infosets, as a hash
        self._logs = np.zeros((1, EXTERNAL + players))
        self._seconds_in_game = 0.0

    def run(self, learn: bool, deadline: float) -> Run:
        found = self._found
        self._sightings.begin_run()
        # The clock of CPU time is a call of the system, a millisecond on some machines: it is asked only twice.
        begin_run, cpu_begin = time.perf_counter(), time.process_time()
        none = np.zeros(0, np.int64)
        levels = [Level(self._logs, np.zeros(1, np.int64), none, none, np.zeros((0, self._logs.shape[1])))]
        while True:
            begin = time.perf_counter()
            looks = [self._look(state) for state in self._states]
            self._seconds_in_game += time.perf_counter() - begin
            found.num_nodes += len(looks)
            kinds = np.array([look.kind for look in looks]) - TERMINAL
            counts = np.array([len(look.actions) for look in looks])
            self._add_up(kinds, counts)
            for look, past in zip(looks, self._pasts, strict=True):
                if look.kind >= 0:
                    self._sightings.add(look.kind, look.key, past[look.kind], len(look.actions))
            if not counts.any():
                break
            if time.monotonic() > deadline:
                found.is_complete = found.is_exact = False
                break
            levels.append(self._descend(looks, kinds, counts))
            found.depth += 1
        cpu_share = (time.process_time() - cpu_begin) / max(time.perf_counter() - begin_run, 1e-9)
        found.seconds = self._seconds_in_game * cpu_share
        if learn:
            self._foresight.learn(levels)
        return found

    def _add_up(self, kinds: np.ndarray, counts: np.ndarray) -> None:
        found = self._found
        found.measures = np.logaddexp(found.measures, log_sum(self._logs))
        for kind in np.unique(kinds):
            here = kinds == kind
            logs, player = self._logs[here, ALL], kind + TERMINAL
            found.kinds[kind] = np.logaddexp(found.kinds[kind], log_sum(logs))
            if player >= 0 and counts[here].all():
                children = log_sum(logs + np.log(counts[here]))
                found.children[player] = np.logaddexp(found.children[player], children)
                found.most_actions[player] = max(found.most_actions[player], counts[here].max())

    def _descend(self, looks: list[_Look], kinds: np.ndarray, counts: np.ndarray) -> Level:
        """Replaces the level by the one below and returns what foresight learns from it."""
        parents = np.repeat(np.arange(len(looks)), counts)
        indices = np.arange(len(parents)) - np.repeat(np.cumsum(counts) - counts, counts)
        probabilities = np.concatenate([look.log_probabilities for look in looks])
        factors = probabilities[:, None] * self._samples[kinds[parents]]
        logs = self._logs[parents] + factors
        features = Foresight.features(kinds[parents], counts[parents], indices)
        if len(logs) <= self._width:
            kept = np.arange(len(logs))
        else:
            weights = _weights(logs, self._foresight.of(features, self._found.depth + 1))
            kept, inclusion = draw(weights, features, self._width, self._rng)
            logs = logs[kept] - np.log(inclusion)[:, None]
            self._found.is_exact = False
        level = Level(logs, features[kept], parents, features, factors)
        parents, indices = parents[kept], indices[kept]
        states, pasts = [], []
        begin = time.perf_counter()
        is_last = np.append(parents[1:] != parents[:-1], True)
        for parent, index, last in zip(parents.tolist(), indices.tolist(), is_last.tolist(), strict=True):
            look, past, state = looks[parent], self._pasts[parent], self._states[parent]
            action = look.actions[index]
            if look.kind >= 0:
                own = hash((past[look.kind], look.key, action))
                past = (*past[: look.kind], own, *past[look.kind + 1 :])
            pasts.append(past)
            try:
                if last:
                    state.apply_action(action)  # the parent's state has served
                    states.append(state)
                else:
                    states.append(state.child(action))
            except Exception as error:
                self._raise([*state.history(), action], error)
        self._seconds_in_game += time.perf_counter() - begin
        self._states, self._pasts, self._logs = states, pasts, logs
        return level

    def _look(self, state: pyspiel.State) -> _Look:
        """Returns what a node is and what may follow."""
        try:
            kind = state.current_player()
            if kind >= 0:
                actions = state.legal_actions()
                most = self._game.num_distinct_actions()
                if not 0 < len(actions) <= most:
                    raise wrong_number_of_actions(len(actions), most)
                return _Look(
                    kind, state.information_state_string(), actions, np.full(len(actions), -np.log(len(actions)))
                )
            if kind == pyspiel.PlayerId.CHANCE:
                outcomes = checked_outcomes(state.chance_outcomes())
                probabilities = np.log([probability for _, probability in outcomes])
                return _Look(CHANCE, "", [action for action, _ in outcomes], probabilities)
            if kind != pyspiel.PlayerId.TERMINAL:
                raise unknown_mover(kind)
            checked_returns(state.returns(), self._game.num_players())
            return _Look(TERMINAL, "", [], np.zeros(0))
        except Exception as error:
            self._raise(state.history(), error)

    def _raise(self, history: list[int], problem: Exception) -> NoReturn:
        error = game_error(self._game, history, problem)
        raise error from error.__cause__


class _Look(NamedTuple):
    kind: int
    key: str  # the information state of the player to move
    actions: list[int]
    log_probabilities: np.ndarray  # of the actions, in random play


def _weights(logs: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Returns how much of the beam each candidate deserves; adds up to 1.

    Args:
        logs: ``[n, measures]``, logarithm of each candidate's mass.
        expected: ``[n, measures]``, what is expected below it, relative to the others.
    """
    plain = np.exp(logs - log_sum(logs))
    foreseen = plain * expected
    shares = _PLAIN_SHARE * plain + (1 - _PLAIN_SHARE) * foreseen / foreseen.sum(axis=0)
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
