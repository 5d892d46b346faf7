"""`Curve`: one algorithm on one game, as mean and interval over seeds; and pictures of curves, one panel per game."""

import itertools
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mccfr_plus.display import AXES, BANDS, MEASURE_LABELS, draw_line, finish_axes, name_of_band, require_library
from mccfr_plus.errors import ConfigError, RecordError
from mccfr_plus.experiments.comparison import RUNS, UNITS, read_comparison, run_file
from mccfr_plus.experiments.runs import Point, read_record
from mccfr_plus.files.atomic_write import atomic_write
from mccfr_plus.parameters import check_choice

_ALL_UNITS = (*UNITS, "cpu_seconds")


class Interval(NamedTuple):
    """A mean over seeds and an interval around it; with one seed, only the mean."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:.4g} ({self.low:.4g} .. {self.high:.4g})" if self.low < self.high else f"{self.mean:.4g}"


@dataclass(frozen=True)
class Curve:
    """One algorithm on one game over all seeds, at the points that all of its runs have reached.

    A method raises ConfigError for an unknown unit, measure or band.

    Examples:
        >>> from mccfr_plus.experiments import compare
        >>> result = compare("kuhn_poker", "external", seeds=2, iterations=100, processes=1, progress=False)
        >>> (curve,) = result.curves
        >>> curve.y().shape == (2, len(curve.x("iterations")))
        True
        >>> 0.0 < curve.interval("mean").mean < 0.5
        True
    """

    game: str  # its name
    algorithm: str  # its name
    runs: tuple[tuple[Point, ...], ...]  # evaluations of each run; all runs have the same targets
    num_players: int
    seeds: tuple[int, ...] = ()  # of the runs; empty if they are not recorded

    @property
    def num_seeds(self) -> int:
        """Number of runs."""
        return len(self.runs)

    def x(self, unit: str = "nodes") -> np.ndarray:
        """Returns the mean over seeds of the cost at each point, ``[points]``.

        Units are ``"nodes"`` (histories touched), ``"iterations"``, ``"seconds"`` and ``"cpu_seconds"``.
        """
        check_choice("unit", unit, _ALL_UNITS)
        return np.array([[getattr(point, unit) for point in run] for run in self.runs], float).mean(axis=0)

    def y(self, measure: str = "exploitability") -> np.ndarray:
        """Returns the measure of each run at each point, ``[seeds, points]``, in units of payoff.

        Measures are ``"exploitability"`` (NashConv / players) and ``"nash_conv"``.
        """
        check_choice("measure", measure, tuple(MEASURE_LABELS))
        nash_conv = np.array([[point.nash_conv for point in run] for run in self.runs], float)
        return nash_conv / self.num_players if measure == "exploitability" else nash_conv

    def mean(self, measure: str = "exploitability") -> np.ndarray:
        """Returns the mean over seeds at each point, ``[points]``."""
        return self.y(measure).mean(axis=0)

    def band(self, kind: str = "quantiles", measure: str = "exploitability") -> tuple[np.ndarray, np.ndarray]:
        """Returns the lower and upper ends of the interval at each point, ``[points]`` each; see `interval`."""
        check_choice("band", kind, tuple(BANDS))
        return BANDS[kind](self.y(measure))

    def value_at(self, x: float, unit: str = "nodes", measure: str = "exploitability") -> np.ndarray:
        """Returns the measure of each run after `x` histories, iterations or seconds, ``[seeds]``.

        Values are interpolated between points on logarithmic axes; outside the range, they are those of the nearest
        point.
        """
        at, y = np.log(np.maximum(self.x(unit), 1e-300)), np.log(np.maximum(self.y(measure), 1e-300))
        return np.exp([np.interp(math.log(x), at, run) for run in y])

    def crossing(self, target: float, unit: str = "nodes", measure: str = "exploitability") -> float:
        """Returns the first `x` at which the mean over seeds is below a target; infinity if it never is.

        The result is interpolated on logarithmic axes; it is the first point if the mean is already below the target
        there.
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
        """Returns the mean over seeds and its interval at the end of the runs, or after `at` in the given unit.

        `band` is ``"mean"``, Student's 95% interval of the mean, or ``"quantiles"``, the 5% and 95% quantiles over
        seeds (with at most three seeds, minimum and maximum).
        """
        check_choice("band", band, tuple(BANDS))
        values = self.y(measure)[:, -1] if at is None else self.value_at(at, unit, measure)
        low, high = BANDS[band](values[:, None])
        return Interval(float(values.mean()), float(low[0]), float(high[0]))


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


# --- pictures ---

_AXES = AXES | {"cpu_seconds": "CPU seconds (without evaluations)"}
_MOST_IN_PANEL = 6  # algorithms in a legend that leaves room for curves


def plot_curves(curves: Sequence[Curve], unit: str, band: str, measure: str, ax: Any) -> Any:
    """Draws curves and returns the figure; see `mccfr_plus.experiments.Result.plot`."""
    for name, value, allowed in (("unit", unit, _AXES), ("band", band, BANDS), ("measure", measure, MEASURE_LABELS)):
        check_choice(name, value, tuple(allowed))
    games = list(dict.fromkeys(curve.game for curve in curves))
    algorithms = list(dict.fromkeys(curve.algorithm for curve in curves))
    if not curves:
        raise ConfigError("no run has been evaluated yet, so there is nothing to plot.")
    panels = _panels(len(games), len(algorithms)) if ax is None else list(ax) if isinstance(ax, Sequence) else [ax]
    if len(panels) != len(games):
        raise ConfigError(f"{len(panels)} axes for {len(games)} games: give a list of axes, one per game, or None.")
    for panel, game in zip(panels, games, strict=True):
        for curve in curves:
            if curve.game == game:
                number = algorithms.index(curve.algorithm)
                draw_line(panel, curve.x(unit), curve.y(measure), number, curve.algorithm, BANDS[band])
        finish_axes(panel, game, _AXES[unit], MEASURE_LABELS[measure])
    figure = panels[0].figure
    if ax is None:
        seeds = sorted({min(curve.num_seeds for curve in curves), max(curve.num_seeds for curve in curves)})
        note = f"line: mean of {' to '.join(map(str, seeds))} seeds; band: {name_of_band(band, seeds[-1])}"
        figure.supxlabel(note if seeds[-1] > 1 else "line: one run", fontsize=7, color="#444444")
        if len(games) > 1 or len(algorithms) > _MOST_IN_PANEL:
            _share_legend(figure)
    return figure


def _panels(count: int, num_algorithms: int) -> list[Any]:
    """Returns the axes of a new figure, which is not one of pyplot's."""
    require_library("matplotlib")
    from matplotlib.figure import Figure

    columns = min(count, 2 if count < 5 else 3)
    rows = -(-count // columns)
    legend = 0.2 * -(-num_algorithms // (2 * columns))  # inches
    figure = Figure(figsize=(6.4 * columns, 4.4 * rows + legend + 0.4), dpi=120, layout="constrained")
    panels = list(figure.subplots(rows, columns, squeeze=False).ravel())
    for panel in panels[count:]:
        panel.remove()
    return panels[:count]


def _share_legend(figure: Any) -> None:
    """Replaces the legends of all panels by one above them."""
    handles: dict[str, Any] = {}
    for panel in figure.axes:
        handles |= {label: handle for handle, label in zip(*panel.get_legend_handles_labels(), strict=True)}
        if panel.get_legend() is not None:
            panel.get_legend().remove()
    columns = max(2, round(figure.get_figwidth() / 3.4))
    figure.legend(handles.values(), handles, loc="outside upper center", ncols=columns, fontsize=8, frameon=False)


def write_figure(figure: Any, path: str | os.PathLike) -> None:
    """Writes a figure of matplotlib whole or not at all; the ending says which format: .png, .svg or .pdf."""
    path = Path(path)
    with atomic_write(path, RecordError) as file:
        figure.savefig(file, format=path.suffix[1:])
