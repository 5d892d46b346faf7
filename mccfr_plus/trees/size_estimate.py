"""The size of a game, estimated by beams of sampled histories: nothing is compiled.

The next level of a beam consists of the children of all its histories; of n > `width`, `width` are drawn uniformly
without replacement, and the weight of the level grows by the factor n / width. Weight x (sum of f over the sample)
has the expectation "sum of f over the level", for any f. Sums of f = 1 count nodes; for what a traversal visits, f is
the probability that it comes to the history. All numbers are logarithms: those of chess do not fit a float.

References: Knuth 1975, "Estimating the efficiency of backtrack programs", theorem 1 (width 1). Chen 1992, "Heuristic
sampling: a method for predicting the performance of tree searching programs". Vaisman and Kroese 2017, "Stochastic
enumeration method for counting trees" (this one).
"""

import math
import time
import weakref
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
import pyspiel
from numpy.typing import ArrayLike
from tqdm.auto import tqdm

from mccfr_plus.parameters import LARGEST, check_choice, check_number, check_whole, new_state
from mccfr_plus.trees import loading

# Bytes that `Solver(tree, "external", "rm")` takes on top: `bytes_on_top` per slot and infoset.
SOLVER_BYTES_PER_SLOT = 50  # strategy, average, what was seen of it, regrets, gradient, reach: 8 each; a stamp: 2
SOLVER_BYTES_PER_INFOSET = 12  # the list of touched infosets

ESTIMATORS = ("full", "chance", "external", "outcome")

CONFIDENCE, _RESAMPLES = 0.95, 1_000
_LARGEST = 300.0  # log10 of the largest number that is returned as a float
_MOST_SPREAD = 1.3  # standard deviation of log10 up to which an upper limit is given: a factor of 20

_BEAMS, _PROBE_BEAMS = 20, 10
_PILOT_WIDTH, _MAX_WIDTH = 8, 20_000  # states in memory
_PROBE_SIZE, _PROBE_SECONDS = 10_000, 3.0


class Interval(NamedTuple):
    """An estimate and the limits of its 95% confidence interval, as logarithms to base 10.

    Attributes:
        log10: Of the estimate; minus infinity for 0.
        low: Of the lower limit; equal to `log10`, like `high`, if the number is exact.
        high: Of the upper limit; infinite if none can be given.
    """

    log10: float
    low: float
    high: float

    @property
    def value(self) -> float:
        """The estimate, at most 1e300."""
        return number_of(self.log10)

    @property
    def is_exact(self) -> bool:
        """Whether the number is a count."""
        return self.low == self.high

    def times(self, factor: float) -> "Interval":
        """Returns the interval of a multiple."""
        return Interval(*(log + math.log10(factor) for log in self))

    def __str__(self) -> str:
        limits = "" if self.is_exact else f" ({as_text(self.low)} to {as_text(self.high)})"
        return as_text(self.log10) + limits


def interval_of(logs: ArrayLike, *, is_exact: bool = False) -> Interval:
    """Returns the mean of independent unbiased estimates, given by log10, with its percentile bootstrap interval.

    A single estimate has no upper limit; its lower limit is from Markov's inequality, P(estimate >= a mu) <= 1 / a.
    """
    estimates, tail = np.asarray(logs), (1 - CONFIDENCE) / 2
    mean = float(log_sum(estimates)) - math.log10(len(estimates))
    if is_exact or mean == -math.inf:
        return Interval(mean, mean, mean)
    if len(estimates) == 1:
        return Interval(mean, mean + math.log10(tail), math.inf)
    draws = np.random.default_rng(0).integers(len(estimates), size=(_RESAMPLES, len(estimates)))
    means = log_sum(estimates[draws]) - math.log10(len(estimates))
    low, high = np.quantile(means, (tail, 1 - tail), method="nearest")  # which does not add infinities
    is_certain = np.std(estimates[np.isfinite(estimates)]) <= _MOST_SPREAD
    return Interval(mean, min(float(low), mean), max(float(high), mean) if is_certain else math.inf)


def log_sum(logs: ArrayLike) -> np.ndarray:
    """Returns log10 of the sum along the last axis of numbers given by their log10."""
    factor = math.log(10.0)
    return np.logaddexp.reduce(np.asarray(logs) * factor, axis=-1) / factor


def number_of(log10: float) -> float:
    """Returns the number of a logarithm, at most 1e300."""
    return 10.0 ** min(log10, _LARGEST)


def as_text(log10: float) -> str:
    """Returns a power of ten as people write it: ``"12 million"``, ``"10^47"``."""
    if log10 == math.inf:
        return "unknown"
    for digits, word in ((12, ""), (9, " billion"), (6, " million")):
        if log10 >= digits:
            return f"10^{log10:.{0 if log10 >= 100 else 1}f}" if not word else f"{10 ** (log10 - digits):.3g}{word}"
    return f"{10**log10:,.0f}" if log10 >= 2 else f"{float(f'{10**log10:.3g}'):g}"


@dataclass(frozen=True)
class SizeEstimate:
    """The estimated size of a game.

    Attributes:
        game: OpenSpiel's string for the turn-based game.
        is_exact: Whether all histories were counted.
        histories: Number of nodes of the tree.
        decision_nodes: Number of decision nodes of each player.
        chance_nodes: Number of chance nodes.
        terminal_nodes: Number of terminal nodes.
        traversals: Number of histories that one traversal visits under the uniform strategy, for each estimator.
        infosets_seen: Number of distinct information states in the sample, per player; this is a lower bound on the
            number in the game.
        perfect_recall: False if an information state was reached through two different pasts of its player.
        depth: Length of the longest history seen, in actions of players and chance.
        compiled_bytes: Memory of the compiled tree and of a solver with external sampling and regret matching, as
            an interval whose upper end assumes one information set per decision node.
        visited: Number of histories visited.

    Examples:
        >>> import mccfr_plus
        >>> estimate = mccfr_plus.estimate_size("kuhn_poker")
        >>> estimate.histories.is_exact, round(estimate.histories.value)
        (True, 58)
    """

    game: str
    is_exact: bool
    histories: Interval
    decision_nodes: tuple[Interval, ...]
    chance_nodes: Interval
    terminal_nodes: Interval
    traversals: dict[str, Interval]
    infosets_seen: tuple[int, ...]
    perfect_recall: bool
    depth: int
    compiled_bytes: Interval
    visited: int

    def nodes_per_iteration(self, estimator: str) -> Interval:
        """Returns the number of histories that one iteration visits under uniform play, summed over all players.

        Args:
            estimator: ``"full"``, ``"chance"``, ``"external"`` or ``"outcome"``; any other name raises a ConfigError.
        """
        check_choice("estimator", estimator, ESTIMATORS)
        return self.traversals[estimator].times(len(self.decision_nodes))

    def fits(self, max_nodes: float, max_bytes: float) -> bool:
        """Returns whether the upper ends of the intervals for the tree and a solver are within the limits."""
        pairs = (self.histories, max_nodes), (self.compiled_bytes, max_bytes)
        return all(found.high <= math.log10(limit) + 1e-9 for found, limit in pairs)  # 1e-9: logarithms are rounded

    def as_dict(self) -> dict[str, Any]:
        """Returns all numbers as plain Python values, ready for JSON; an interval is ``{log10, low, high}``."""
        return _plain(asdict(self))


def _plain(value: Any) -> Any:
    if isinstance(value, Interval):
        return {name: number if math.isfinite(number) else None for name, number in value._asdict().items()}
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, tuple) else value


def estimate_size(
    game: pyspiel.Game | str,
    *,
    sample_size: int = 100_000,
    seconds: float | None = None,
    seed: int | np.random.Generator | None = None,
    progress: bool | None = False,
) -> SizeEstimate:
    """Returns an estimate of the size of a game, however large, without compiling it.

    Args:
        game: A `pyspiel.Game` or a game string, as for `compile_game`.
        sample_size: Approximate number of histories to visit, at least 1; fewer are visited if the game is small enough
            for all its histories to be counted. 10,000 is enough for an order of magnitude.
        seconds: Time limit; a sampling pass in progress is completed. Default: no limit.
        seed: Seed for the sample.
        progress: Whether to show a progress bar after a second. Default: only if standard error is a terminal.

    Raises:
        GameError: If the game is unknown, cannot be compiled, raises an error or is inconsistent.
        ConfigError: If `sample_size`, `seconds` or `seed` is out of range.

    Examples:
        >>> import mccfr_plus
        >>> estimate = mccfr_plus.estimate_size("kuhn_poker", seed=1)
        >>> round(estimate.traversals["external"].value, 2)
        7.25
        >>> estimate.fits(max_nodes=50_000_000, max_bytes=8 << 30)
        True
    """
    check_whole("sample_size", sample_size)
    if seconds is not None:
        check_number("seconds", seconds, 0, LARGEST, "must be a positive number")
    return _estimate(loading.load_game(game), sample_size, _BEAMS, seconds or math.inf, seed, progress)


def probe_size(game: pyspiel.Game) -> SizeEstimate:
    """Returns an estimate from about 10,000 histories, for choices before a run; it is kept as long as its game."""
    if id(game) not in _probes:
        _probes[id(game)] = _estimate(game, _PROBE_SIZE, _PROBE_BEAMS, _PROBE_SECONDS, seed=0, progress=False)
        weakref.finalize(game, _probes.pop, id(game))
    return _probes[id(game)]


_probes: dict[int, SizeEstimate] = {}  # by the identity of games, which have no hash


def _estimate(
    game: pyspiel.Game, sample_size: int, num_beams: int, seconds: float, seed: Any, progress: bool | None
) -> SizeEstimate:
    sampler, end = Sampler(game, np.random.default_rng(int(new_state(seed)[0]))), time.monotonic() + seconds
    beams = [sampler.beam(_PILOT_WIDTH)]
    width = int(_PILOT_WIDTH * sample_size / (num_beams * sampler.visited))
    if not beams[0].is_exact and beams[0].logs[-4] < math.log10(sample_size / 2):
        beams = [sampler.beam(_MAX_WIDTH)]  # small enough to be counted
    if not beams[0].is_exact:
        disable, bar = None if progress is None else not progress, "{l_bar}{bar}| {elapsed}"
        for _ in tqdm(range(num_beams), "sampling the game", bar_format=bar, delay=1.0, disable=disable, leave=False):
            if time.monotonic() < end:
                beams.append(sampler.beam(min(max(width, 1), _MAX_WIDTH)))
        beams = beams[1:] or beams
    is_exact = beams[0].is_exact
    intervals = [interval_of(logs, is_exact=is_exact) for logs in np.transpose([beam.logs for beam in beams])]
    (terminal_nodes, chance_nodes, *decision_nodes), visits = intervals[:-4], intervals[-4:]
    return SizeEstimate(
        game=str(game),
        is_exact=is_exact,
        histories=visits[0],
        decision_nodes=tuple(decision_nodes),
        chance_nodes=chance_nodes,
        terminal_nodes=terminal_nodes,
        traversals=dict(zip(ESTIMATORS, visits, strict=True)),
        infosets_seen=tuple(map(len, sampler.met)),
        perfect_recall=sampler.perfect_recall,
        depth=max(beam.depth for beam in beams),
        compiled_bytes=sampler.compiled_bytes(is_exact, visits[0], decision_nodes),
        visited=sampler.visited,
    )


class Beam(NamedTuple):
    """Estimates of one beam."""

    # log10 of the numbers of terminal nodes, chance nodes and each player's decision nodes, then of what a traversal
    # visits, in the order of `ESTIMATORS` (external: the mean over players)
    logs: np.ndarray  # [2 + num_players + 4]
    depth: int  # longest history, in actions of players and chance
    is_exact: bool  # whether all numbers are counts


class _Node(NamedTuple):
    state: pyspiel.State
    pasts: tuple[int, ...]  # per player, a hash of their own information states and actions
    kind: int  # the player to move, CHANCE or TERMINAL
    actions: list[int]
    probabilities: list[float]  # of the actions, in random play
    info_state: str  # of the player to move


class Sampler:
    """Draws beams, and collects what they meet: information states, and the histories ``visited``."""

    def __init__(self, game: pyspiel.Game, rng: np.random.Generator):
        players = game.num_players()
        self._game, self._rng = game, rng
        self.met: list[dict[int, int]] = [{} for _ in range(players)]  # the past, by the information state's hash
        self.visited, self.perfect_recall = 0, True
        self._num_slots = self._text_length = 0  # of the information states met
        # Whether terminal nodes, chance nodes and each player's are sampled: full, chance, outcome, external by player.
        self._is_sampled = np.zeros((2 + players, 3 + players), bool)
        self._is_sampled[1, 1:] = True
        self._is_sampled[2:, 2] = True
        self._is_sampled[2:, 3:] = ~np.eye(players, dtype=bool)

    def beam(self, width: int) -> Beam:
        """Returns the estimates of a new beam; a game that raises an error or contradicts itself is a GameError."""
        num_kinds, num_traversals = self._is_sampled.shape
        depth, is_exact = 0, True
        sums = np.full(num_kinds + num_traversals, -np.inf)  # all logarithms are natural
        nodes = [self._visit(None, 0, 0)]
        log_weight, reach = 0.0, np.zeros((1, num_traversals))  # of the level and of each history
        while True:
            kinds = np.maximum([node.kind + 2 for node in nodes], 0)  # the row of `_is_sampled`
            with np.errstate(divide="ignore"):
                counts = np.log(np.bincount(kinds, minlength=num_kinds))
            sums = np.logaddexp(sums, log_weight + np.append(counts, np.logaddexp.reduce(reach)))
            num_actions = [len(node.actions) for node in nodes]
            parents = np.repeat(np.arange(len(nodes)), num_actions)
            if not len(parents):
                break
            indices = np.concatenate([np.arange(number) for number in num_actions])
            if len(parents) > width:
                kept = np.sort(self._rng.choice(len(parents), width, replace=False))
                log_weight, is_exact = log_weight + math.log(len(parents) / width), False
                parents, indices = parents[kept], indices[kept]
            edges = list(zip(parents.tolist(), indices.tolist(), strict=True))
            logs = np.log([nodes[parent].probabilities[index] for parent, index in edges])
            reach = reach[parents] + logs[:, None] * self._is_sampled[kinds[parents]]
            depth += 1
            nodes = [self._visit(nodes[parent], index, depth) for parent, index in edges]
        full, chance, outcome, *external = sums[num_kinds:]
        mean = np.logaddexp.reduce(external) - math.log(len(external))
        return Beam(np.append(sums[:num_kinds], [full, chance, mean, outcome]) / math.log(10), depth, is_exact)

    def _visit(self, parent: _Node | None, index: int, depth: int) -> _Node:
        """Returns a child of a node, or the root."""
        self.visited += 1
        try:
            if parent is None:
                return self._read(self._game.new_initial_state(), (0,) * self._game.num_players())
            loading.require_end(self._game, depth)
            action, pasts = parent.actions[index], parent.pasts
            if parent.kind >= 0:
                own = hash((pasts[parent.kind], parent.info_state, action))
                pasts = (*pasts[: parent.kind], own, *pasts[parent.kind + 1 :])
            return self._read(parent.state.child(action), pasts)
        except Exception as problem:
            history = [*parent.state.history(), parent.actions[index]] if parent else []
            error = loading.game_error(self._game, history, problem)
            raise error from error.__cause__

    def _read(self, state: pyspiel.State, pasts: tuple[int, ...]) -> _Node:
        kind, actions, probabilities = loading.read_node(self._game, state)
        info_state = state.information_state_string() if kind >= 0 else ""
        if kind >= 0:
            key, met = hash(info_state), self.met[kind]
            if key not in met:
                met[key] = pasts[kind]
                self._num_slots += len(actions)
                self._text_length += len(info_state)
            self.perfect_recall &= met[key] == pasts[kind]
        return _Node(state, pasts, kind, actions, probabilities, info_state)

    def compiled_bytes(self, is_exact: bool, histories: Interval, decision_nodes: list[Interval]) -> Interval:
        """Returns the memory of the compiled tree and a solver: between the infosets seen and all decision nodes."""
        seen = max(sum(map(len, self.met)), 1)
        texts_and_slots = self._text_length + self._num_slots * SOLVER_BYTES_PER_SLOT
        per_infoset = loading.COMPILED_BYTES_PER_INFOSET + SOLVER_BYTES_PER_INFOSET + texts_and_slots / seen
        low = math.log10(seen)
        middle, _, high = (float(log_sum(logs)) for logs in zip(*decision_nodes, strict=True))
        # Of a number that is known to a factor only, the middle of the factor.
        infosets = Interval(low, low, low) if is_exact else Interval((low + middle) / 2, low, high)
        pairs = zip(histories.times(loading.COMPILED_BYTES_PER_NODE), infosets.times(per_infoset), strict=True)
        return Interval(*(float(log_sum(pair)) for pair in pairs))
