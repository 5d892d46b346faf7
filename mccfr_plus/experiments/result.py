"""`compare`, which runs a comparison, and `Result`, which holds its curves."""

import contextlib
import itertools
import json
import logging
import operator
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, TypeAlias

import pyspiel
from tqdm.auto import tqdm

from mccfr_plus.cluster.cluster import Cluster
from mccfr_plus.display import data_frame, html_table
from mccfr_plus.errors import RecordError
from mccfr_plus.experiments.comparison import UNITS, about_here, comparison_of, directory_of, limit_of
from mccfr_plus.experiments.curves import Curve, curves_of, plot_curves
from mccfr_plus.experiments.run_all import run_all
from mccfr_plus.experiments.runs import DONE, STOPPED, Point, RunEvent
from mccfr_plus.files.atomic_write import atomic_write
from mccfr_plus.files.json_files import read_json_lines
from mccfr_plus.solver.config import SolverConfig
from mccfr_plus.solver.solver import Solver
from mccfr_plus.trees.game_tree import GameTree

logger = logging.getLogger("mccfr_plus")

Game: TypeAlias = str | pyspiel.Game | GameTree
AlgorithmLike: TypeAlias = str | Solver | SolverConfig | Callable[[Any, int], Any]

_BAR = "{percentage:3.0f}%|{bar}| {n:.1f} of {total_fmt} runs, {elapsed} elapsed, {remaining} left"
_COLUMNS = ("iterations", "nodes", "seconds", "cpu_seconds", "nash_conv")
_numbers = operator.attrgetter(*_COLUMNS)


@dataclass(frozen=True)
class Result:
    """The curves of a comparison.

    Attributes:
        curves: One per game and algorithm, in the order of the arguments.
        failed: The error of each failed run, by the run's name.
        path: Directory of the records; None if it was temporary.
        about: Plain values that `save` stores; by default the command, versions, machine and time of `compare`.
    """

    curves: list[Curve]
    failed: dict[str, str] = field(default_factory=dict)
    path: Path | None = None
    about: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def load(cls, path: str | os.PathLike) -> Self:
        """Returns the result in a directory of `compare` or a file of `save`. Raises RecordError if it is neither."""
        path = Path(path)
        if path.is_file() or path.suffix == ".jsonl":
            entries = read_json_lines(path, RecordError)
            about = entries.pop(0)["about"] if entries and "about" in entries[0] else {}
            return cls([_curve_of(path, entry) for entry in entries], about=about)
        return cls(curves_of(path), path=path)

    def save(self, path: str | os.PathLike) -> None:
        """Writes `about` and the curves, without wall times, to a file of JSON lines. RecordError if that fails."""
        lines: list[dict[str, Any]] = [{"about": self.about}]
        for curve in self.curves:
            what = {"game": curve.game, "algorithm": curve.algorithm, "players": curve.num_players}
            lines.append(what | {"runs": [[_short_row(point) for point in run] for run in curve.runs]})
        with atomic_write(Path(path), RecordError) as file:
            file.writelines(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines)

    def to_dataframe(self) -> Any:
        """Returns a pandas data frame with a row per evaluation; raises ConfigError if pandas is not installed.

        Columns: ``game``, ``algorithm``, ``seed``, ``iterations``, ``nodes``, ``seconds``, ``cpu_seconds``,
        ``nash_conv``, ``exploitability``.
        """
        columns = ("game", "algorithm", "seed", *_COLUMNS, "exploitability")
        rows = [
            (curve.game, curve.algorithm, seed, *_numbers(point), point.nash_conv / curve.num_players)
            for curve in self.curves
            for seed, run in zip(curve.seeds or itertools.count(1), curve.runs, strict=False)
            for point in run
        ]
        return data_frame({name: [row[column] for row in rows] for column, name in enumerate(columns)})

    def plot(
        self, unit: str = "seconds", band: str = "quantiles", ax: Any = None, *, measure: str = "exploitability"
    ) -> Any:
        """Draws one panel per game, with the mean and a band over seeds, and returns matplotlib's figure.

        Args:
            unit: Unit of the horizontal axis; see `Curve.x`.
            band: ``"quantiles"`` or ``"mean"``; see `Curve.interval`.
            ax: Axes to draw on, or a list with one per game. Default: a new figure.
            measure: See `Curve.y`.

        Raises:
            ConfigError: If there is nothing to draw, an argument is unknown, or matplotlib is missing.
        """
        return plot_curves(self.curves, unit, band, measure, ax)

    def final_rows(self) -> list[dict[str, Any]]:
        """Returns a row per curve: its mean cost, and the mean and ``"quantiles"`` band of the final exploitability."""
        rows = []
        for curve in self.curves:
            mean, low, high = curve.interval("quantiles")
            row = {"game": curve.game, "algorithm": curve.algorithm, "seeds": curve.num_seeds}
            cost = {unit: float(curve.x(unit)[-1]) for unit in UNITS}
            rows.append(row | cost | {"exploitability": mean, "low": low, "high": high})
        return rows

    def __repr__(self) -> str:
        return f"Result({len(self.curves)} curves, {len(self.failed)} failed runs)"

    def _repr_html_(self) -> str:
        heading = ["game", "algorithm", "seeds", *UNITS, "exploitability", "low", "high"]
        cells = [[x if isinstance(x, str) else f"{x:,.4g}" for x in row.values()] for row in self.final_rows()]
        return html_table(heading, cells, numbers_from=2)


def compare(
    games: Game | Iterable[Game],
    algorithms: AlgorithmLike | Sequence[AlgorithmLike] | Mapping[str, AlgorithmLike],
    *,
    seeds: int | Iterable[int] = 5,
    nodes: float | None = None,
    iterations: float | None = None,
    seconds: float | None = None,
    num_evaluations: int | None = None,
    out: str | os.PathLike | None = None,
    processes: int | None = None,
    cluster: Cluster | None = None,
    progress: bool = True,
) -> Result:
    """Runs algorithms on games with several seeds and returns curves of their average policies' exploitability.

    Args:
        games: Strings as for `pyspiel.load_game`, games, or a `GameTree`.
        algorithms: Any of the following, or a mapping from names to them.

            - A spec: ``"external"``, ``"outcome(epsilon=0.3, minimizer=rm+, averaging=linear)"``, ``"cfr+"``; neural:
              ``"dream(traversals=200)"``, ``"neural:escher"``; OpenSpiel's: ``"openspiel:cfr+"`` (C++),
              ``"openspiel_python:external"``.
            - A `Solver` or a `SolverConfig`, whose settings are used with every seed.
            - A function ``factory(game, seed)``, where `game` is a `GameTree`, or a pyspiel game if its tree does not
              fit into memory. It returns an object with ``run``, ``evaluate``, ``iterations``, ``nodes_touched`` and
              ``seconds`` like those of `Solver`.
        seeds: Number of runs per game and algorithm (seeds 1, 2, ...), or the seeds. Deterministic algorithms run once.
        nodes: Length of a run in histories touched. Give exactly one of nodes, iterations and seconds.
        iterations: Length of a run in iterations.
        seconds: Length of a run in seconds.
        num_evaluations: Maximum number of evaluations per run, evenly spaced on a logarithmic axis. Default: as many as
            fit into a few percent of the run time.
        out: Directory of the records. Default: a temporary directory. The same call resumes an interrupted comparison;
            factories are compared by name.
        processes: Number of parallel runs. Default: one per core. With 1, everything runs in this process, which is
            also the default for a `GameTree` and for objects that cannot be pickled or are defined in ``__main__``. A
            script must use 1 or call this function under ``if __name__ == "__main__":``, because each process imports
            the script.
        cluster: A connected `mccfr_plus.cluster.Cluster` to run on. Default: this machine.
        progress: Whether to show a progress bar on a terminal or in a notebook.

    Raises:
        ConfigError, GameError: If an argument is invalid, or an algorithm or a game is unknown.
        RecordError: If `out` holds other files or cannot be written, or if all runs failed. If only some runs failed,
            they are logged and listed in `Result.failed`.

    Examples:
        >>> from mccfr_plus.experiments import compare
        >>> result = compare("kuhn_poker", ["cfr+", "openspiel:cfr+"], iterations=100, processes=1, progress=False)
        >>> [(curve.algorithm, curve.num_seeds) for curve in result.curves]
        [('cfr+', 1), ('openspiel:cfr+', 1)]
        >>> all(curve.mean()[-1] < 0.01 for curve in result.curves)
        True
    """
    limit = limit_of(nodes=nodes, iterations=iterations, seconds=seconds)
    comparison = comparison_of(games, algorithms, seeds, limit, num_evaluations)
    with contextlib.ExitStack() as stack:
        folder = out or stack.enter_context(tempfile.TemporaryDirectory(prefix="mccfr_plus_"))
        runs = stack.enter_context(directory_of(comparison, folder))
        names = [str(run) for run in runs]
        disable = None if progress else True  # None: only on a terminal
        bar = stack.enter_context(tqdm(total=len(names), bar_format=_BAR, leave=False, disable=disable))
        done, failed = [0.0] * len(names), {}

        def show(event: RunEvent) -> None:
            done[event.number] = 0.0 if event.outcome == STOPPED else event.progress
            if event.outcome not in (None, DONE, STOPPED):
                failed[names[event.number]] = event.outcome
                logger.warning("%s failed: %s", names[event.number], event.outcome)
            bar.n = sum(done)
            bar.refresh()

        about = about_here()
        run_all(runs, about, show, processes, cluster)
        result = Result(curves_of(folder), dict(sorted(failed.items())), None if out is None else Path(out), about)
    if len(failed) == len(names):
        name, why = next(iter(result.failed.items()))
        raise RecordError(f"all {len(names)} runs failed, for example {name}: {why}")
    return result


def _short_row(point: Point) -> list[float]:
    return [point.iterations, *(float(f"{x:.5g}") for x in (point.nodes, point.nash_conv, point.cpu_seconds))]


def _curve_of(path: Path, entry: dict[str, Any]) -> Curve:
    try:
        runs = tuple(tuple(_point(*row) for row in run) for run in entry["runs"])
        return Curve(entry["game"], entry["algorithm"], runs, entry["players"])
    except (TypeError, KeyError, ValueError):
        raise RecordError(
            f"{path} is not a file written by `Result.save`: delete it, or choose another file."
        ) from None


def _point(iterations: float, nodes: float, nash_conv: float, cpu_seconds: float = 0.0) -> Point:
    return Point(nodes, int(iterations), int(nodes), 0.0, nash_conv, (), (), cpu_seconds)
