"""The record of a figure in one small file, from which its rows, its picture and the verdicts on claims follow.

A line of JSON per game and algorithm: at each measuring point the iterations, histories, NashConv and CPU seconds, per
seed. Numbers have five digits. Records of before have no CPU seconds.
"""

import json
from collections.abc import Sequence
from pathlib import Path

from mccfr_plus.errors import RecordError
from mccfr_plus.experiments.curves import Curve
from mccfr_plus.experiments.record import Point, record_errors
from mccfr_plus.files.atomic_write import atomic_write


def write_curves(path: Path, curves: Sequence[Curve]) -> None:
    """Writes curves.

    Raises:
        RecordError: If the file cannot be written.
    """
    with atomic_write(path, RecordError) as file:
        for curve in curves:
            runs = [[_row(point) for point in run] for run in curve.runs]
            line = {"game": curve.game, "algorithm": curve.algorithm, "players": curve.num_players, "runs": runs}
            file.write(json.dumps(line, separators=(",", ":")).encode() + b"\n")


def read_curves(path: Path) -> list[Curve]:
    """Returns the curves of a file that `write_curves` wrote; wall times and values are not in it.

    Raises:
        RecordError: If it cannot be read, or is none.
    """
    with record_errors(path, "read"):
        lines = path.read_text(encoding="utf-8").splitlines()
    try:
        return [_curve(**json.loads(line)) for line in lines]
    except (ValueError, TypeError, KeyError):
        raise RecordError(f"{path} is no record of a figure: delete it, and give the same command again.") from None


def _curve(game: str, algorithm: str, players: int, runs: list[list[list[float]]]) -> Curve:
    return Curve(game, algorithm, tuple(tuple(_point(*row) for row in run) for run in runs), players)


def _point(iterations: float, nodes: float, nash_conv: float, cpu_seconds: float = 0.0) -> Point:
    return Point(nodes, int(iterations), int(nodes), 0.0, nash_conv, (), (), cpu_seconds)


def _row(point: Point) -> list[float]:
    return [point.iterations, *map(_short, (point.nodes, point.nash_conv, point.cpu_seconds))]


def _short(number: float) -> float:
    return float(f"{number:.5g}")
