"""`Curve`: one algorithm on one game, as mean and interval over seeds."""

import itertools
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mccfr_plus.display import BANDS
from mccfr_plus.errors import ConfigError
from mccfr_plus.experiments.comparison import RUNS, read_comparison
from mccfr_plus.experiments.evaluation_points import UNITS
from mccfr_plus.experiments.record import Point, read_record
from mccfr_plus.experiments.run_loop import run_file

MEASURES = ("exploitability", "nash_conv")
_ALL_UNITS = (*UNITS, "cpu_seconds")


class Interval(NamedTuple):
    """A mean over seeds and an interval around it; of one seed, the mean alone."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:.4g} ({self.low:.4g} .. {self.high:.4g})" if self.low < self.high else f"{self.mean:.4g}"


def interval_of(values: Sequence[float] | np.ndarray, band: str = "mean") -> Interval:
    """Returns mean and interval of ``[seeds]``; see `Curve.interval`."""
    low, high = BANDS[checked("band", band, BANDS)](np.asarray(values, float)[:, None])
    return Interval(float(np.mean(values)), float(low[0]), float(high[0]))


def checked(name: str, value: str, allowed: Any) -> str:
    """Returns a value, or raises ConfigError if it is not one of those allowed."""
    if value not in allowed:
        raise ConfigError(f"{name}={value!r}: give one of {', '.join(allowed)}.")
    return value


@dataclass(frozen=True)
class Curve:
    """One algorithm on one game over its seeds, at the points that all of its runs have reached.

    A method raises ConfigError for an unknown unit, measure or band.

    Attributes:
        game: Name of the game.
        algorithm: Name of the algorithm.
        runs: Evaluations of each run; all runs have the same targets.
        num_players: Number of players.
        seeds: Seeds of the runs; empty if they are not recorded.

    Examples:
        >>> from mccfr_plus.experiments import compare
        >>> result = compare("kuhn_poker", "external", seeds=2, iterations=100, processes=1, progress=False)
        >>> (curve,) = result.curves
        >>> curve.y().shape == (2, len(curve.x("iterations")))
        True
        >>> 0.0 < curve.interval("mean").mean < 0.5
        True
    """

    game: str
    algorithm: str
    runs: tuple[tuple[Point, ...], ...]
    num_players: int
    seeds: tuple[int, ...] = ()

    @property
    def num_seeds(self) -> int:
        """Number of runs."""
        return len(self.runs)

    def x(self, unit: str = "nodes") -> np.ndarray:
        """Returns the mean over seeds of the cost at each point, ``[points]``.

        Args:
            unit: ``"nodes"`` (histories touched), ``"iterations"``, ``"seconds"`` or ``"cpu_seconds"``.
        """
        checked("unit", unit, _ALL_UNITS)
        return np.array([[getattr(point, unit) for point in run] for run in self.runs], float).mean(axis=0)

    def y(self, measure: str = "exploitability") -> np.ndarray:
        """Returns the measure of each run at each point, ``[seeds, points]``, in the game's payoffs.

        Args:
            measure: ``"exploitability"`` (NashConv / players) or ``"nash_conv"``.
        """
        checked("measure", measure, MEASURES)
        nash_conv = np.array([[point.nash_conv for point in run] for run in self.runs], float)
        return nash_conv / self.num_players if measure == "exploitability" else nash_conv

    def mean(self, measure: str = "exploitability") -> np.ndarray:
        """Returns the mean over seeds at each point, ``[points]``."""
        return self.y(measure).mean(axis=0)

    def band(self, kind: str = "quantiles", measure: str = "exploitability") -> tuple[np.ndarray, np.ndarray]:
        """Returns lower and upper end of the interval at each point, ``[points]`` each; see `interval`."""
        return BANDS[checked("band", kind, BANDS)](self.y(measure))

    def value_at(self, x: float, unit: str = "nodes", measure: str = "exploitability") -> np.ndarray:
        """Returns the measure of each run after `x` histories, iterations or seconds, ``[seeds]``.

        Between two points it is interpolated on logarithmic axes. Outside of them it is that of the nearest point.
        """
        at, y = np.log(np.maximum(self.x(unit), 1e-300)), np.log(np.maximum(self.y(measure), 1e-300))
        return np.exp([np.interp(math.log(x), at, run) for run in y])

    def crossing(self, target: float, unit: str = "nodes", measure: str = "exploitability") -> float:
        """Returns the first `x` at which the mean over seeds is below a target; infinity if it never is.

        It is interpolated on logarithmic axes, or the first point if that is already below.
        """
        x, mean = self.x(unit), self.mean(measure)
        below = np.flatnonzero(mean < target)
        if not len(below):
            return math.inf
        at = below[0]
        if at == 0:
            return float(x[0])
        share = math.log(mean[at - 1] / target) / math.log(mean[at - 1] / mean[at])
        return float(x[at - 1] * (x[at] / x[at - 1]) ** share)

    def interval(
        self, band: str = "mean", *, at: float | None = None, unit: str = "nodes", measure: str = "exploitability"
    ) -> Interval:
        """Returns mean over seeds and interval at the end of the runs, or earlier.

        Args:
            band: ``"mean"``, Student's 95 % interval of the mean; or ``"quantiles"``, 5 % and 95 % of the seeds.
            at: Where, in the unit (see `value_at`); None: at the last point.
            unit, measure: See `x` and `y`.
        """
        return interval_of(self.y(measure)[:, -1] if at is None else self.value_at(at, unit, measure), band)


def curves_of(path: str | os.PathLike) -> list[Curve]:
    """Returns the curves of a comparison's directory, without those that have no point yet."""
    comparison, curves = read_comparison(path), []
    for game, algorithm in itertools.product(comparison["games"], comparison["algorithms"]):
        runs = {}
        for seed in comparison["seeds"]:
            file = run_file(Path(path) / RUNS, game, algorithm, seed, "jsonl")
            if file.exists() and (points := read_record(file)[1]):
                runs[seed] = points
        # Points that all runs have: a run may be under way, or its first iteration may pass more of them.
        targets = set.intersection(*({point.target for point in run} for run in runs.values())) if runs else set()
        if targets:
            common = tuple(tuple(point for point in run if point.target in targets) for run in runs.values())
            curves.append(Curve(game, algorithm, common, len(common[0][0].values), tuple(runs)))
    return curves
