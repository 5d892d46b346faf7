"""Pictures of curves and of final values against a parameter, for paper and screen: PNG, SVG, PDF."""

import io
import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from mccfr_plus.display import (
    AXES,
    BANDS,
    COLOURS,
    MEASURE_LABELS,
    Band,
    draw_line,
    finish_panel,
    quantile_band,
    require_library,
)
from mccfr_plus.errors import ConfigError, RecordError
from mccfr_plus.experiments.curves import Curve
from mccfr_plus.files.atomic_write import atomic_write

_COLOURS = 128  # of a PNG
_LEGEND_LINE = 0.2  # inches
_AXES = AXES | {"cpu_seconds": "CPU seconds (without evaluations)"}


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
    band: Band = quantile_band,
    faint: Collection[tuple[str, str]] = (),
    levels: Mapping[str, float] | None = None,
    scale: float = 1.0,
    ylabel: str = "",
) -> None:
    """Draws one panel per game, with mean and band over seeds, and writes it to files.

    With two games or more and `labels`, one legend serves all panels; of an odd number, it takes the last place.

    Args:
        curves: Of one or more games.
        paths: Files to write; the ending says what: .png, .svg, .pdf.
        unit: What the horizontal axis shows: nodes, iterations, seconds or cpu_seconds.
        measure: exploitability or nash_conv.
        algorithms: In the order of their colours; None: as they come.
        labels: What the legend calls them, as written where one is missing; None: as written, a legend per panel.
        styles: Numbers of colour and of dashes for each; None: a colour each, while there are any.
        titles: What games are called; None: as they are written.
        source: A line below the picture: where the numbers are from.
        band: `quantile_band` or `mean_band`.
        faint: Games and algorithms of thin lines.
        levels: A dashed line for uniform play, by game, in the unit of the vertical axis.
        scale: What the measure is multiplied by.
        ylabel: What the vertical axis shows then; by default the measure's name.

    Raises:
        ConfigError: If there is nothing to draw, or matplotlib is missing.
        RecordError: If a file cannot be written.
    """
    if not curves:
        raise ConfigError("no run has a measuring point yet: there is nothing to draw.")
    games = list(dict.fromkeys(curve.game for curve in curves))
    algorithms = list(algorithms or dict.fromkeys(curve.algorithm for curve in curves))
    columns = min(len(games), 2 if len(games) < 5 else 3)
    rows = -(-len(games) // columns)
    is_shared = len(games) > 1 and labels is not None
    figure = _figure(6.4 * columns, 4.4 * rows + (1.2 if is_shared and len(games) == rows * columns else 0.5))
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    handles: dict[str, Any] = {}
    for panel, game in zip(panels, games, strict=False):
        for curve in sorted(curves, key=lambda curve: (curve.game, curve.algorithm) not in faint):
            if curve.game == game:
                label = (labels or {}).get(curve.algorithm, curve.algorithm)
                number = algorithms.index(curve.algorithm)
                style = styles[curve.algorithm] if styles else (number, number // len(COLOURS))
                y, is_faint = scale * curve.y(measure), (game, curve.algorithm) in faint
                draw_line(panel, curve.x(unit), y, number, style, label, band, is_faint=is_faint)
                if not is_faint:
                    handles[label] = panel.lines[-1]
                handles.setdefault(label, panel.lines[-1])
        if levels and game in levels:
            handles["uniform play"] = panel.axhline(levels[game], color="black", dashes=(6, 3), linewidth=1.0)
            panel.lines[-1].set_label("uniform play")
        panel.set(xscale="log", yscale="log", xlabel=_AXES[unit], ylabel=ylabel or MEASURE_LABELS[measure])
        finish_panel(panel, (titles or {}).get(game, game), has_legend=not is_shared)
    for panel in panels[len(games) + is_shared :]:
        panel.set_visible(False)
    if is_shared:
        in_order = {(labels or {}).get(name, name): None for name in algorithms} | {"uniform play": None}
        known = [label for label in in_order if label in handles]
        lines = [handles[label] for label in known]
        if len(games) < len(panels):
            panels[len(games)].set_axis_off()
            panels[len(games)].legend(lines, known, loc="center", fontsize=9, frameon=False)
        else:
            figure.legend(lines, known, loc="outside upper center", ncols=3, fontsize=9, frameon=False)
    _write(figure, [curve.num_seeds for curve in curves], source, paths, band)


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
    band: Band = quantile_band,
) -> None:
    """Draws lines of means with bands over seeds, and writes the picture to files.

    Args:
        paths: Files to write; the ending says what: .png, .svg, .pdf.
        xscale: Of the parameter's axis: log or linear.
        band: `quantile_band` or `mean_band`.

    Raises:
        ConfigError: If there is nothing to draw, or matplotlib is missing.
        RecordError: If a file cannot be written.
    """
    if not lines:
        raise ConfigError("there is nothing to draw.")
    figure = _figure(6.4, 4.7 + _LEGEND_LINE * len(lines))
    panel = figure.subplots()
    for number, line in enumerate(lines):
        draw_line(panel, np.array(line.x), np.array(line.y).T, number, (number, 0), line.label, band)
    panel.set(xscale=xscale, yscale="log", xlabel=xlabel, ylabel=ylabel)
    finish_panel(panel, title, has_legend=False)
    # Not in the panel, where long labels hide lines.
    figure.legend(*panel.get_legend_handles_labels(), loc="outside upper center", fontsize=9, frameon=False)
    _write(figure, [len(lines[0].y[0])], "", paths, band)


def _figure(width: float, height: float) -> Any:
    require_library("matplotlib")
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _write(figure: Any, seeds: Sequence[int], source: str, paths: Sequence[str | os.PathLike], band: Band) -> None:
    """Writes a figure whole or not at all; the endings of the paths say as what."""
    note = f"line: mean of {' to '.join(map(str, sorted({min(seeds), max(seeds)})))} seeds"
    if max(seeds) == 1:
        note = "line: one run"
    if max(seeds) > 1:
        note += f"; band: {BANDS[band]}"
    figure.supxlabel(f"{note}. {source}".strip(), fontsize=7, color="#444444")
    for path in map(Path, paths):
        with atomic_write(path, RecordError) as file:
            if path.suffix == ".png":
                _write_png(figure, file)
            else:
                figure.savefig(file, dpi=150, format=path.suffix[1:])


def _write_png(figure: Any, file: BinaryIO) -> None:
    """Writes a picture of few colours, which is a third as long and looks the same."""
    from PIL import Image

    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=150, format="png")
    Image.open(drawn).convert("RGB").quantize(_COLOURS, dither=Image.Dither.NONE).save(file, "png", optimize=True)
