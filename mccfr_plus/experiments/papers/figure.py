"""The runs of a figure: one or more comparisons, each with a directory of its own beside the picture."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

from mccfr_plus.errors import RecordError
from mccfr_plus.experiments.comparison import Comparison, Directory
from mccfr_plus.experiments.curves import Curve, curves_of
from mccfr_plus.experiments.papers.item import Setting
from mccfr_plus.experiments.plot import matplotlib
from mccfr_plus.experiments.workers import DONE, STOPPED, run_all


def run_figure(setting: Setting, figure: str, comparisons: Mapping[str, Comparison]) -> list[Curve]:
    """Runs what is not recorded yet of a figure's comparisons, and returns all curves.

    Args:
        setting: How.
        figure: Its name; the comparisons are recorded in ``FIGURE-runs/LABEL``.
        comparisons: By label.

    Raises:
        ConfigError: If matplotlib is missing: before anything is run.
        RecordError: If a run failed, or a directory holds something else.
    """
    matplotlib()
    folder = setting.folder / f"{figure}-runs"
    folder.mkdir(exist_ok=True)
    problems = []
    with contextlib.ExitStack() as stack:
        directories = [
            stack.enter_context(Directory(folder / label, comparison)) for label, comparison in comparisons.items()
        ]
        view = stack.enter_context(setting.watch(directories))
        for news in run_all(directories, setting.about, setting.processes, setting.cluster):
            view.show(news)
            if news.outcome not in (None, DONE, STOPPED):
                problems.append(news.outcome)
    if problems:
        raise RecordError(f"{len(problems)} runs of {figure} failed, such as: {problems[0]}")
    return [curve for directory in directories for curve in curves_of(directory.path)[1]]
