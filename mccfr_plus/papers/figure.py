"""The runs of a figure: one or more comparisons, each with a directory of its own beside the picture."""

from __future__ import annotations

from collections.abc import Mapping

from mccfr_plus.errors import RecordError
from mccfr_plus.experiments.comparison import Comparison, Directory
from mccfr_plus.experiments.curves import Curve, curves_of
from mccfr_plus.experiments.plot import matplotlib
from mccfr_plus.experiments.workers import DONE, STOPPED, run_all
from mccfr_plus.papers.item import Setting


def run_figure(setting: Setting, figure: str, comparisons: Mapping[str, Comparison]) -> list[Curve]:
    """Runs what is not recorded yet of a figure's comparisons, one after the other, and returns all curves.

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
    curves: list[Curve] = []
    for label, comparison in comparisons.items():
        problems = []
        with Directory(folder / label, comparison) as directory, setting.watch(comparison) as view:
            for news in run_all(directory, setting.about, setting.processes):
                view.show(news)
                if news.outcome not in (None, DONE, STOPPED):
                    problems.append(news.outcome)
        if problems:
            raise RecordError(f"{len(problems)} runs of {figure} failed, such as: {problems[0]}")
        curves += curves_of(folder / label)[1]
    return curves
