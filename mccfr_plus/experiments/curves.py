"""What a comparison's records say: curves of mean and spread over seeds, and a table of how runs ended."""

import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mccfr_plus.display import quantile_band
from mccfr_plus.experiments.comparison import Comparison, Directory, read_comparison
from mccfr_plus.experiments.evaluation_points import UNITS
from mccfr_plus.experiments.record import Point, read_record


@dataclass(frozen=True)
class Curve:
    """One algorithm on one game, over its seeds, at the points that all of its runs have reached."""

    game: str
    algorithm: str
    runs: tuple[tuple[Point, ...], ...]  # per seed, all with the same targets
    num_players: int

    @property
    def num_seeds(self) -> int:
        """How many runs have a record."""
        return len(self.runs)

    def x(self, unit: str) -> np.ndarray:
        """Returns the mean over seeds of iterations, nodes, seconds or CPU seconds at each point."""
        return np.array([[getattr(point, unit) for point in run] for run in self.runs], float).mean(axis=0)

    def y(self, measure: str) -> np.ndarray:
        """Returns ``[seeds, points]``: NashConv, or exploitability (NashConv / players)."""
        nash_conv = np.array([[point.nash_conv for point in run] for run in self.runs], float)
        return nash_conv / self.num_players if measure == "exploitability" else nash_conv

    def mean(self, measure: str = "exploitability") -> np.ndarray:
        """Returns the mean over seeds at each point."""
        return self.y(measure).mean(axis=0)

    def band(self, measure: str = "exploitability") -> tuple[np.ndarray, np.ndarray]:
        """Returns the quantiles `LOW` and `HIGH` over seeds at each point."""
        return quantile_band(self.y(measure))

    def end(self) -> tuple[float, float, float]:
        """Returns mean and quantiles of the exploitability at the last point."""
        low, high = self.band()
        return float(self.mean()[-1]), float(low[-1]), float(high[-1])


def curves_of(path: str | Path) -> tuple[Comparison, list[Curve]]:
    """Returns a comparison and its curves, those without any point left out.

    Raises:
        RecordError: If the directory holds no comparison, or a record is damaged.
    """
    comparison = read_comparison(path)
    directory, curves = Directory(path, comparison), []
    for game, algorithm in itertools.product(comparison.games, comparison.algorithms):
        files = [directory.run_of(game, algorithm, seed).record for seed in comparison.seeds]
        runs = [points for file in files if file.exists() and (points := read_record(file)[1])]
        # Those that all runs have: one may be under way, or its first iteration pass more of them.
        targets = set.intersection(*({point.target for point in run} for run in runs)) if runs else set()
        if targets:
            common = tuple(tuple(point for point in run if point.target in targets) for run in runs)
            curves.append(Curve(game, algorithm, common, len(common[0][0].values)))
    return comparison, curves


def final_rows(curves: list[Curve]) -> list[dict[str, Any]]:
    """Returns a row per curve: where it ended, mean and band of the exploitability, means of what it took."""
    return [
        {
            "game": curve.game,
            "algorithm": curve.algorithm,
            "seeds": curve.num_seeds,
            **{unit: float(curve.x(unit)[-1]) for unit in UNITS},
            **dict(zip(("exploitability", "low", "high"), curve.end(), strict=True)),
        }
        for curve in curves
    ]
