"""What `mccfr-plus compare` shows while it runs: a line per run under way, and how far all of them are."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from tqdm import tqdm

from mccfr_plus.experiments.comparison import Directory
from mccfr_plus.experiments.run_all import STOPPED, RunEvent, in_order

_OVERALL = "{desc} {percentage:3.0f}%|{bar}| {n:.1f} of {total_fmt} runs, {elapsed} gone, {remaining} left"
_ONE = "{desc} {percentage:3.0f}%|{bar:20}|"


class View:
    """Progress bars on a terminal, otherwise a line for each run that has ended.

    Args:
        directories: The comparisons that are run.
        quiet: Show nothing.
    """

    def __init__(self, directories: Sequence[Directory], *, quiet: bool):
        self._names = [f"{run.game}  {run.algorithm}  seed {run.seed}" for run in in_order(directories)]
        self._quiet = quiet
        self._is_terminal = not quiet and sys.stderr.isatty()
        self._progress = [0.0] * len(self._names)
        self._bars: dict[int, tqdm] = {}
        self._num_ended = 0
        self._overall = tqdm(
            total=len(self._names), desc="all", bar_format=_OVERALL, leave=False, disable=not self._is_terminal
        )

    def name_of(self, number: int) -> str:
        """Returns what a run is called."""
        return self._names[number]

    def show(self, event: RunEvent) -> None:
        """Shows what has happened."""
        name = self._names[event.number]
        self._progress[event.number] = 0.0 if event.outcome == STOPPED else event.progress
        if event.outcome is None:
            if self._is_terminal:
                bar = self._bars.get(event.number) or self._new_bar(event.number)
                bar.n = event.progress
                bar.refresh()
        else:
            self._num_ended += 1
            bar = self._bars.pop(event.number, None)
            if bar is not None:
                bar.close()
            if not self._quiet:
                what = f"failed: {event.failure}" if event.failure else event.outcome
                tqdm.write(f"{self._num_ended}/{len(self._names)}  {name}  {what}", file=sys.stderr)
        self._overall.n = sum(self._progress)
        self._overall.refresh()

    def _new_bar(self, number: int) -> tqdm:
        self._bars[number] = tqdm(total=1.0, desc=self._names[number], bar_format=_ONE, leave=False)
        return self._bars[number]

    def __enter__(self) -> View:
        return self

    def __exit__(self, *_: object) -> None:
        for bar in (*self._bars.values(), self._overall):
            bar.close()
