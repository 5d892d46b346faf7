"""What a comparison's runs are called while they are run, and what is told of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from mccfr_plus.errors import RecordError
from mccfr_plus.experiments.comparison import Directory
from mccfr_plus.experiments.record import read_record
from mccfr_plus.experiments.run import Run

DONE, STOPPED = "done", "stopped"  # other outcomes are errors, as text


class News(NamedTuple):
    """What has happened to a run."""

    number: int  # of the run, in the order of `in_order`
    progress: float  # 0 .. 1
    outcome: str | None  # DONE, STOPPED, what went wrong, or None: it is under way


def in_order(directories: Sequence[Directory]) -> list[tuple[Directory, tuple[str, str, int]]]:
    """Returns game, algorithm and seed of all runs and where they belong, in the order in which they are begun.

    Runs on one game follow each other, so that a process builds its tree once.
    """
    games = list(dict.fromkeys(game for directory in directories for game in directory.comparison.games))
    runs = [(directory, key) for directory in directories for key in directory.comparison.runs()]
    return sorted(runs, key=lambda run: games.index(run[1][0]))


def has_ended(run: Run) -> bool:
    """Returns whether a run's record says so."""
    try:
        return run.record.exists() and read_record(run.record)[2] is not None
    except RecordError:
        return False  # it says why when it is run
