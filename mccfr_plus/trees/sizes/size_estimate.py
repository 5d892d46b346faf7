"""The size of a game of any size, from a sample of its histories.

1. Pilot beams (`stratified_beam`) teach the `PilotEstimate` what lies below which actions.
2. Twenty beams of one width, or more, then give independent unbiased estimates of each sum over histories. Their mean
   is the estimate, and their spread gives its interval (`size.interval_of`).
3. Infosets cannot be estimated without bias from single histories: how many histories share one is not seen. So there
   are a lower limit, from how often independent beams met the same ones (`infoset_counts`), and an upper limit, the
   number of decision nodes.

A game whose levels all fit a beam is counted, not estimated.
"""

import math
import time
import weakref
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyspiel
from tqdm.auto import tqdm

from mccfr_plus.errors import ConfigError
from mccfr_plus.games import PyspielGame
from mccfr_plus.kernels.random_numbers import as_python, new_state
from mccfr_plus.trees.arrays import CHANCE, TERMINAL
from mccfr_plus.trees.game import load_game
from mccfr_plus.trees.sizes.size import InfosetBounds, Interval, SizeEstimate, exactly, interval_of, log10_of
from mccfr_plus.trees.sizes.stratified_beam import ALL, CHANCE_SAMPLED, EXTERNAL, PLAYED, Run, StratifiedBeam

_FIRST_WIDTH = 4
_MAX_WIDTH = 20_000  # states in memory
_PILOTS = 4  # of one width, before a wider beam is tried
_PILOT_SHARE = 0.3  # of the sample
_COUNT_SHARE = 0.5  # of the sample that is left: a game that has fewer histories, by a pilot's estimate, is counted
_RUNS = 20  # planned number of beams; with more of them each would be narrower
_MIN_RUNS = 5
_LARGEST_LOG = 700.0  # whose exponential is a float
_PROBE_SIZE = 10_000
# Of CPU time. All but a few games take a small part of it, so that the probe depends on the seed alone; one history of
# bridge takes half a second.
_PROBE_SECONDS = 3.0


def estimate_size(
    game: pyspiel.Game | str,
    *,
    sample_size: int = 100_000,
    seconds: float | None = None,
    confidence: float = 0.95,
    seed: int | np.random.Generator | None = None,
    progress: bool | None = False,
) -> SizeEstimate:
    """Returns an estimate of the size of a game, whatever the size: nothing is compiled.

    Args:
        game: A `pyspiel.Game` or a game string, as for `compile_game`.
        sample_size: Number of histories to visit, at least 1: about as many, fewer if the game is small enough to be
            counted, more if a few beams need them. 10,000 will do for an order of magnitude.
        seconds: Upper limit on the time, in seconds; None: no limit. If it ends the sample (`is_cut_off`), the estimate
            depends on the machine's speed; otherwise the seed alone decides.
        confidence: Of the intervals, between 0 and 1.
        seed: Seed of the sample.
        progress: Whether to show a progress bar on work over a second; None: if standard error is a terminal.

    Raises:
        GameError: If the game is unknown, of a kind that cannot be compiled, raises an error or contradicts itself.
        ConfigError: If `sample_size`, `seconds`, `confidence` or `seed` is out of range.

    Examples:
        >>> import mccfr_plus
        >>> estimate = mccfr_plus.estimate_size("kuhn_poker", seed=1)
        >>> estimate.is_exact, round(estimate.histories.value), [round(x.value, 2) for x in estimate.external]
        (True, 58, [8.0, 6.5])
        >>> estimate.fits(max_nodes=50_000_000, max_bytes=8 << 30)
        True

    References: Knuth 1975; Chen 1992; Vaisman, Kroese 2017 (histories; see `mccfr_plus.trees.sizes.stratified_beam`).
    Chao 1987 (infosets; see `mccfr_plus.trees.sizes.infoset_counts`).
    """
    sample_size, seconds, confidence = map(as_python, (sample_size, seconds, confidence))
    for name, value, is_right, allowed in (
        ("sample_size", sample_size, lambda x: 1 <= x < 2**63 and x == int(x), "a whole number above 0"),
        ("seconds", 1.0 if seconds is None else seconds, lambda x: 0 < x < math.inf, "a positive number"),
        ("confidence", confidence, lambda x: 0 < x < 1, "a number above 0 and below 1"),
    ):
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not is_right(value):
            raise ConfigError(f"{name}={value!r}: must be {allowed}.")
    rng = np.random.default_rng(int(new_state(seed)[0]))
    begin = time.monotonic()
    deadline = math.inf if seconds is None else begin + seconds
    sample = _Sample(load_game(game), rng, int(sample_size), lambda: time.monotonic() > deadline, progress)
    estimate = sample.summary(sample.runs(), confidence)
    return replace(estimate, seconds=time.monotonic() - begin)


def probe_size(game: pyspiel.Game) -> SizeEstimate:
    """Returns an estimate from 10,000 histories, for choices before a run; from fewer if they take too much CPU time.

    Several choices ask about one game, so that an estimate is kept as long as its game.

    Raises:
        GameError: See `estimate_size`.
    """
    found = _probes.get(id(game))
    if found is None:
        rng, end = np.random.default_rng(int(new_state(0)[0])), time.process_time() + _PROBE_SECONDS
        sample = _Sample(game, rng, _PROBE_SIZE, lambda: time.process_time() > end, progress=False)
        found = _probes[id(game)] = sample.summary(sample.runs(), confidence=0.95)
        weakref.finalize(game, _probes.pop, id(game))
    return found


_probes: dict[int, SizeEstimate] = {}  # by the identity of games, which have no hash


class _Sample:
    """Beams through a game until they have visited as many histories as asked for."""

    def __init__(
        self,
        game: pyspiel.Game,
        rng: np.random.Generator,
        size: int,
        is_over: Callable[[], bool],
        progress: bool | None,
    ):
        self._game, self._size, self._is_over = game, size, is_over
        self._beam = StratifiedBeam(game, rng)
        self._num_nodes, self._seconds, self._width = 0, 0.0, _FIRST_WIDTH
        self._is_cut_off = False
        disable, bar = None if progress is None else not progress, "{l_bar}{bar}| {elapsed}"
        self._bar = tqdm(total=size, desc="sampling the game", bar_format=bar, delay=1.0, disable=disable, leave=False)

    def runs(self) -> list[Run]:
        """Returns the beams to estimate from: complete ones, unless there is none."""
        with self._bar:
            pilot = self._pilots()
            if pilot.is_exact or self._is_cut_off:
                return [pilot]
            left = max(self._size - self._num_nodes, 0)
            is_countable = math.exp(min(pilot.measures[ALL], _LARGEST_LOG)) < _COUNT_SHARE * left
            self._width = _MAX_WIDTH if is_countable else self._width_for(left / _RUNS, pilot)
            self._beam.counts.clear()  # runs of another width are distributed differently
            found: list[Run] = []
            while self._num_nodes < self._size or len(found) < _MIN_RUNS:
                found.append(self._run(learn=False))
                if found[-1].is_exact or not found[-1].is_complete:
                    break
        complete = [run for run in found if run.is_complete]
        if complete and complete[-1].is_exact:
            return complete[-1:]
        return complete or [pilot]

    def _pilots(self) -> Run:
        """Returns the last complete pilot, if there is one; `_width` is set to its width."""
        enough, complete = _PILOT_SHARE * self._size, None
        while True:
            for _ in range(_PILOTS):
                self._beam.counts.clear()
                run = self._run(learn=True)
                if not run.is_complete:
                    return complete or run
                if run.is_exact or self._num_nodes + run.num_nodes > enough:
                    return run
                complete = run
            self._width = min(4 * self._width, self._width_for((enough - self._num_nodes) / _PILOTS, run))

    def _width_for(self, num_nodes: float, pilot: Run) -> int:
        """Returns the width of a beam that visits about so many histories, by what a pilot of `_width` has visited."""
        return min(max(int(self._width * num_nodes / pilot.num_nodes), _FIRST_WIDTH), _MAX_WIDTH)

    def _run(self, *, learn: bool) -> Run:
        run = self._beam.run(self._width, learn=learn, is_over=self._is_over)
        self._num_nodes += run.num_nodes
        self._seconds += run.seconds
        self._is_cut_off = not run.is_complete
        self._bar.update(min(self._size, self._num_nodes) - self._bar.n)
        return run

    def summary(self, runs: list[Run], confidence: float) -> SizeEstimate:
        """Returns the estimate from the beams."""
        game, is_exact = self._game, runs[0].is_exact
        players = range(game.num_players())

        def interval(numbers: list[float], least: float = -math.inf) -> Interval:
            return exactly(numbers[0]) if is_exact else interval_of(numbers, confidence, least=least)

        def measure(which: int) -> Interval:
            return interval([float(run.measures[which]) for run in runs], 0.0)

        def kind(which: int) -> Interval:
            return interval([float(run.kinds[which - TERMINAL]) for run in runs])

        distinct = max(run.num_nodes for run in runs)  # a beam keeps no history twice
        histories = interval([float(run.measures[ALL]) for run in runs], math.log(distinct))
        decision_nodes = tuple(kind(player) for player in players)
        played = measure(PLAYED)
        mean_actions = tuple(
            _ratio([run.children[player] for run in runs], [run.kinds[player - TERMINAL] for run in runs])
            for player in players
        )
        seen = self._beam.counts.seen
        return SizeEstimate(
            game=str(game),
            confidence=confidence,
            is_exact=is_exact,
            is_complete=runs[0].is_complete,
            is_cut_off=self._is_cut_off,
            histories=histories,
            decision_nodes=decision_nodes,
            chance_nodes=kind(CHANCE),
            terminal_nodes=kind(TERMINAL),
            paying_nodes=interval([run.paying for run in runs]),
            infosets=tuple(
                InfosetBounds(
                    seen(player),
                    float(seen(player)) if is_exact else self._beam.counts.at_least(player, confidence),
                    log10_of(seen(player)) if is_exact else decision_nodes[player].high,
                )
                for player in players
            ),
            mean_actions=mean_actions,
            most_actions=tuple(int(max(run.most_actions[p] for run in runs)) for p in players),
            mean_length=played.value - 1,
            longest_seen=max(run.depth for run in runs),
            perfect_recall=self._beam.counts.perfect_recall,
            external=tuple(measure(EXTERNAL + player) for player in players),
            chance_sampled=measure(CHANCE_SAMPLED),
            played=played,
            slots_per_infoset=self._beam.counts.mean_actions,
            text_length=self._beam.counts.mean_text_length,
            nodes_per_second=self._num_nodes / max(self._seconds, 1e-6),
            has_compiled_rules=isinstance(game, PyspielGame),
            num_runs=len(runs),
            width=self._width,
            num_nodes_seen=self._num_nodes,
            seconds=0.0,
        )


def _ratio(above: list[float], below: list[float]) -> float:
    """Returns the ratio of two sums of numbers given by their logarithms; 0 if there are none."""
    if max(below) == -math.inf:
        return 0.0
    return math.exp(float(np.logaddexp.reduce(above) - np.logaddexp.reduce(below)))
