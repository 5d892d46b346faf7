"""Callbacks that log a run: to a CSV file, and to TensorBoard."""

from __future__ import annotations

import csv
import os

from mccfr_plus.neural.backend import summary_writer
from mccfr_plus.solver.iterative import Progress


def scalars_of(progress: Progress) -> dict[str, float | None]:
    """Returns the numbers that are logged after an iteration, by name; None: not known."""
    found = None if progress.evaluation is None else progress.evaluation.exploitability
    known = {"nodes_touched": progress.nodes_touched, "seconds": progress.seconds, "exploitability": found}
    return known | {f"loss/player{player}": loss for player, loss in enumerate(progress.solver.losses)}


class CSVLogger:
    """Appends a row to a CSV file after each iteration: iterations, nodes_touched, seconds, exploitability, losses."""

    def __init__(self, path: str | os.PathLike):
        self.path = path

    def __call__(self, progress: Progress) -> None:
        row = {"iterations": progress.iterations, **scalars_of(progress)}
        with open(self.path, "a", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            if not file.tell():
                writer.writerow(row)
            writer.writerow(row.values())


class TensorBoardLogger:
    """Adds the numbers of `CSVLogger` to TensorBoard, ``tensorboard --logdir DIRECTORY``, after each iteration."""

    def __init__(self, directory: str | os.PathLike):
        self._writer = summary_writer(os.fspath(directory))

    def __call__(self, progress: Progress) -> None:
        for name, value in scalars_of(progress).items():
            if value is not None:
                self._writer.add_scalar(name, value, progress.iterations)
        self._writer.flush()
