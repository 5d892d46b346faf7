"""Where runs end against a parameter: a picture of final values with bands over seeds, on a logarithmic axis."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mccfr_plus.errors import ConfigError
from mccfr_plus.experiments.curves import HIGH, LOW
from mccfr_plus.experiments.plot import MARKERS, colour_of, matplotlib, write_figure


class Line(NamedTuple):
    """Final values of one algorithm."""

    label: str
    x: tuple[float, ...]
    y: Sequence[np.ndarray]  # per x, ``[seeds]``


def plot_parameter(
    lines: Sequence[Line],
    paths: Sequence[str | os.PathLike],
    *,
    title: str,
    xlabel: str,
    ylabel: str,
    xscale: str = "log",
    source: str = "",
) -> None:
    """Draws lines of means with bands over seeds, and writes the picture to files.

    Args:
        lines: At least one.
        paths: Files to write; the ending says what: .png, .svg, .pdf.
        title: Above the picture.
        xlabel: The parameter.
        ylabel: What is measured, with its unit.
        xscale: Of the parameter's axis: log or linear.
        source: A line below the picture: where the numbers are from.

    Raises:
        ConfigError: If there is nothing to draw, or matplotlib is missing.
        RecordError: If a file cannot be written.
    """
    if not lines:
        raise ConfigError("there is nothing to draw.")
    matplotlib()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.9), layout="constrained")
    panel = figure.subplots()
    for number, line in enumerate(lines):
        low, high = np.quantile(np.array(line.y), [LOW, HIGH], axis=1)
        colour, mark = colour_of(number), MARKERS[number % len(MARKERS)]
        panel.plot(
            line.x,
            [ends.mean() for ends in line.y],
            color=colour,
            marker=mark,
            markersize=4,
            linewidth=1.5,
            label=line.label,
        )
        panel.fill_between(line.x, low, high, color=colour, alpha=0.18, linewidth=0)
    panel.set(xscale=xscale, yscale="log", xlabel=xlabel, ylabel=ylabel)
    panel.set_title(title, fontsize=10)
    panel.grid(True, which="major", alpha=0.35)
    panel.grid(True, which="minor", alpha=0.12)
    if len(lines) > 1:
        panel.legend(fontsize=8)
    seeds = len(lines[0].y[0])
    note = f"line: mean of {seeds} seeds; band: {LOW:.0%} to {HIGH:.0%} of them"
    figure.supxlabel(f"{note}. {source}".strip(), fontsize=7, color="#444444")
    for path in map(Path, paths):
        write_figure(figure, path)
