"""Pictures of curves and of final values against a parameter, for paper and screen: PNG, SVG, PDF."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mccfr_plus.checkpoints.atomic_write import atomic_write
from mccfr_plus.display import AXES, COLOURS, HIGH, LOW, MEASURE_LABELS, draw_line, finish_panel, require_library
from mccfr_plus.errors import ConfigError, RecordError
from mccfr_plus.experiments.curves import Curve


def plot_curves(
    curves: Sequence[Curve],
    paths: Sequence[str | os.PathLike],
    *,
    unit: str = "nodes",
    measure: str = "exploitability",
    algorithms: Sequence[str] | None = None,
    labels: Mapping[str, str] | None = None,
    styles: Mapping[str, tuple[int, int]] | None = None,
    titles: Mapping[str, str] | None = None,
    source: str = "",
) -> None:
    """Draws one panel per game, with mean and band over seeds, and writes it to files.

    Args:
        curves: Of one or more games.
        paths: Files to write; the ending says what: .png, .svg, .pdf.
        unit: What the horizontal axis shows: nodes, iterations or seconds.
        measure: exploitability or nash_conv.
        algorithms: In the order of their colours; None: as they come.
        labels: What the legend calls them; None: as they are written.
        styles: Numbers of colour and of dashes for each; None: a colour each, while there are any.
        titles: What games are called; None: as they are written.
        source: A line below the picture: where the numbers are from.

    Raises:
        ConfigError: If there is nothing to draw, or matplotlib is missing.
        RecordError: If a file cannot be written.
    """
    if not curves:
        raise ConfigError("no run has a measuring point yet: there is nothing to draw.")
    games = list(dict.fromkeys(curve.game for curve in curves))
    algorithms = list(algorithms or dict.fromkeys(curve.algorithm for curve in curves))
    columns = min(len(games), 2)
    rows = -(-len(games) // columns)
    figure = _figure(6.4 * columns, 4.4 * rows + 0.5)
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for panel in panels[len(games) :]:
        panel.set_visible(False)
    for panel, game in zip(panels, games, strict=False):
        for curve in curves:
            if curve.game == game:
                label = (labels or {}).get(curve.algorithm, curve.algorithm)
                number = algorithms.index(curve.algorithm)
                style = styles[curve.algorithm] if styles else (number, number // len(COLOURS))
                draw_line(panel, curve.x(unit), curve.y(measure), number, style, label)
        panel.set(xscale="log", yscale="log", xlabel=AXES[unit], ylabel=MEASURE_LABELS[measure])
        finish_panel(panel, (titles or {}).get(game, game))
    _write(figure, [curve.num_seeds for curve in curves], source, paths)


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
    figure = _figure(6.4, 4.9)
    panel = figure.subplots()
    for number, line in enumerate(lines):
        draw_line(panel, np.array(line.x), np.array(line.y).T, number, (number, 0), line.label)
    panel.set(xscale=xscale, yscale="log", xlabel=xlabel, ylabel=ylabel)
    finish_panel(panel, title)
    _write(figure, [len(lines[0].y[0])], source, paths)


def _figure(width: float, height: float) -> Any:
    require_library("matplotlib")
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _write(figure: Any, seeds: Sequence[int], source: str, paths: Sequence[str | os.PathLike]) -> None:
    """Writes a figure whole or not at all; the endings of the paths say as what."""
    note = f"line: mean of {' to '.join(map(str, sorted({min(seeds), max(seeds)})))} seeds"
    if max(seeds) > 1:
        note += f"; band: {LOW:.0%} to {HIGH:.0%} of them"
    figure.supxlabel(f"{note}. {source}".strip(), fontsize=7, color="#444444")
    for path in map(Path, paths):
        with atomic_write(path, RecordError) as file:
            figure.savefig(file, dpi=150, format=path.suffix[1:])
