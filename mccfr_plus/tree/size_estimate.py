"""The size of a game that need not fit memory, from a sample of its histories.

1. Pilot beams (`tree.beam`) teach the `Foresight` what lies below which actions, and measure the speed.
2. Twenty beams of one width, or more, as wide as the time allows, then give independent unbiased estimates of each sum
   over histories; their mean is the estimate, and their spread its interval (`tree.interval`).
3. Infosets cannot be estimated without bias from single histories: how many histories share one is not seen. So there
   are a lower limit, from how often independent beams met the same ones (`tree.sightings`), and the upper limit of the
   number of decision nodes, of which each infoset has at least one.

A game whose levels all fit a beam is counted, not estimated.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np
import pyspiel
from tqdm import tqdm

from mccfr_plus.errors import ConfigError
from mccfr_plus.games import PyspielGame
from mccfr_plus.kernels.random_numbers import new_state
from mccfr_plus.tree.arrays import CHANCE, TERMINAL
from mccfr_plus.tree.game import load_game
from mccfr_plus.tree.infoset_counts import Sightings
from mccfr_plus.tree.interval import Interval, exactly, interval_of
from mccfr_plus.tree.pilot_estimate import Foresight
from mccfr_plus.tree.size import InfosetBounds, SizeEstimate, log10_of
from mccfr_plus.tree.stratified_beam import ALL, CHANCE_SAMPLED, EXTERNAL, PLAYED, Run, run_beam

_LOG10 = math.log(10.0)
_FIRST_WIDTH = 4
_MAX_WIDTH = 20_000  # states in memory
_PILOTS = 4  # of one width, before a wider beam is tried
_PILOT_SHARE = 0.3  # of the time
_COUNT_SHARE = 0.5  # of the time left: a game that by a pilot's estimate takes less is counted
_RUNS = 20  # what intervals are planned to be made of; with more of them each beam would be narrower
_MOST_OVERHEAD = 8.0  # times what a beam's width costs
_LARGEST_LOG = 700.0  # whose exponential is a float
_MIN_RUNS = 5  # are finished even where time is up
_PATIENCE = 4.0  # times as long as asked for, after which that is given up too


def estimate_size(
    game: pyspiel.Game | str,
    *,
    seconds: float = 5.0,
    confidence: float = 0.95,
    seed: int | np.random.Generator | None = None,
    progress: bool | None = False,
) -> SizeEstimate:
    """Returns an estimate of the size of a game, whatever the size: nothing is compiled.

    Args:
        game: A `pyspiel.Game` or a game string, as for `compile_game`.
        seconds: How long to sample, in seconds; less if the game is small enough to be counted, up to four times as
            long if a few samples take that. 0.3 will do for an order of magnitude.
        confidence: Of the intervals, between 0 and 1.
        seed: Seed of the sample. As the time decides on its size, two calls do not give the same bits.
        progress: Whether to show a progress bar on work over a second; None: if standard error is a terminal.

    Raises:
        GameError: If the game is unknown or of a kind that cannot be compiled.
        ConfigError: If `seconds` or `confidence` is out of range, or the seed is none.

    Example:
        >>> import mccfr_plus
        >>> estimate = mccfr_plus.estimate_size("kuhn_poker", seed=1)
        >>> estimate.is_exact, round(estimate.histories.value), [round(x.value, 2) for x in estimate.external]
        (True, 58, [8.0, 6.5])
        >>> estimate.fits(max_nodes=50_000_000, max_bytes=8 << 30)
        True

    References: Knuth 1975; Chen 1992; Vaisman, Kroese 2017 (histories; see `mccfr_plus.tree.stratified_beam`). Chao 1987
    (infosets; see `mccfr_plus.tree.infoset_counts`).
    """
    for name, value, is_right, allowed in (
        ("seconds", seconds, lambda x: 0 < x < math.inf, "a positive number"),
        ("confidence", confidence, lambda x: 0 < x < 1, "a number above 0 and below 1"),
    ):
        is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        if not is_number or not is_right(value):
            raise ConfigError(f"{name}={value!r}: must be {allowed}.")
    rng = np.random.default_rng(int(new_state(seed)[0]))
    begin = time.monotonic()
    loaded = load_game(game)
    sample = _Sample(loaded, rng, float(seconds), progress)
    estimate = sample.summary(sample.runs(), confidence)
    return replace(estimate, seconds=time.monotonic() - begin)


class _Sample:
    """Beams through a game until the time is up."""

    def __init__(self, game: pyspiel.Game, rng: np.random.Generator, seconds: float, progress: bool | None):
        self._game, self._rng, self._seconds = game, rng, seconds
        self._begin = time.monotonic()
        self._foresight = Foresight(EXTERNAL + game.num_players())
        self._sightings = Sightings(game.num_players())
        self._players_forget = False  # by what was seen before these
        self._num_nodes, self._cpu_seconds, self._width = 0, 0.0, _FIRST_WIDTH
        self._costs: dict[int, float] = {}  # least seconds of a pilot, per width
        disable = None if progress is None else not progress
        self._bar = tqdm(
            total=100,
            desc="sampling the game",
            bar_format="{l_bar}{bar}| {elapsed}",
            delay=1.0,
            disable=disable,
            leave=False,
        )

    def runs(self) -> list[Run]:
        """Returns the beams to estimate from: complete ones, unless there is none."""
        with self._bar:
            pilot = self._pilots()
            if pilot.is_exact or not pilot.is_complete:
                return [pilot]
            left = max(self._seconds - self._spent(), 0.0)
            seconds_per_node = self._costs[self._width] / pilot.num_nodes
            if math.exp(min(pilot.measures[ALL], _LARGEST_LOG)) * seconds_per_node < _COUNT_SHARE * left:
                self._width = _MAX_WIDTH  # there is time to count
            else:
                self._width = self._width_for(left / _RUNS)
            self._forget_sightings()  # those of pilots of other widths are not alike
            found: list[Run] = []
            while self._spent() < self._seconds or len(found) < _MIN_RUNS:
                found.append(self._run(learn=False))
                if found[-1].is_exact or not found[-1].is_complete:
                    break
        complete = [run for run in found if run.is_complete]
        if complete and complete[-1].is_exact:
            return complete[-1:]
        return complete or [pilot]

    def _pilots(self) -> Run:
        """Returns the last pilot; `_width` is set to its width."""
        enough = _PILOT_SHARE * self._seconds
        while True:
            for _ in range(_PILOTS):
                begin = self._spent()
                run = self._run(learn=True)
                cost = self._spent() - begin
                self._costs[self._width] = min(cost, self._costs.get(self._width, math.inf))
                if run.is_exact or not run.is_complete or self._spent() + cost > enough:
                    return run
            self._width = min(4 * self._width, self._width_for((enough - self._spent()) / _PILOTS))

    def _width_for(self, seconds: float) -> int:
        """Returns the width of a beam that takes so many seconds, by what those of other widths took.

        Each level costs something whatever its width, so that the seconds are a line in the width. It is not
        believed to be much flatter than through the origin, as widths to come are far from those measured.
        """
        (width, cost), *narrower = sorted(self._costs.items(), reverse=True)
        slope = cost / width / _MOST_OVERHEAD
        if narrower:
            slope = max(slope, (cost - narrower[0][1]) / (width - narrower[0][0]))
        return min(max(int(width + (seconds - cost) / slope), _FIRST_WIDTH), _MAX_WIDTH)

    def _run(self, *, learn: bool) -> Run:
        if learn:
            self._forget_sightings()
        run = run_beam(
            self._game,
            self._width,
            self._rng,
            self._foresight,
            self._sightings,
            learn=learn,
            deadline=self._begin + _PATIENCE * self._seconds,
        )
        self._num_nodes += run.num_nodes
        self._cpu_seconds += run.seconds
        self._bar.update(min(100.0, 100 * self._spent() / self._seconds) - self._bar.n)
        return run

    def _forget_sightings(self) -> None:
        """Begins to count infosets anew; that players forget is proven by a single pair of runs, and stays so."""
        self._players_forget |= not self._sightings.perfect_recall
        self._sightings = Sightings(self._game.num_players())

    def _spent(self) -> float:
        return time.monotonic() - self._begin

    def summary(self, runs: list[Run], confidence: float) -> SizeEstimate:
        """Returns what the beams say together."""
        game, is_exact, is_complete = self._game, runs[0].is_exact, runs[0].is_complete
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
        seen = self._sightings.seen
        return SizeEstimate(
            game=str(game),
            confidence=confidence,
            is_exact=is_exact,
            is_complete=is_complete,
            histories=histories,
            decision_nodes=decision_nodes,
            chance_nodes=kind(CHANCE),
            terminal_nodes=kind(TERMINAL),
            infosets=tuple(
                InfosetBounds(
                    seen(player),
                    float(seen(player)) if is_exact else self._sightings.at_least(player, confidence),
                    log10_of(seen(player)) if is_exact else decision_nodes[player].high,
                )
                for player in players
            ),
            mean_actions=mean_actions,
            most_actions=tuple(int(max(run.most_actions[p] for run in runs)) for p in players),
            mean_length=played.value - 1,
            longest_seen=max(run.depth for run in runs),
            perfect_recall=self._sightings.perfect_recall and not self._players_forget,
            external=tuple(measure(EXTERNAL + player) for player in players),
            chance_sampled=measure(CHANCE_SAMPLED),
            played=played,
            slots_per_infoset=self._sightings.mean_actions,
            text_length=self._sightings.mean_text_length,
            nodes_per_second=self._num_nodes / max(self._cpu_seconds, 1e-6),
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
