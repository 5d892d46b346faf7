"""Pictures of curves: mean and band over seeds on logarithmic axes, one panel per game."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mccfr_plus.display import AXES, BANDS, HIGH, LOW, MEASURE_LABELS, draw_line, finish_axes, require_library
from mccfr_plus.errors import ConfigError, RecordError
from mccfr_plus.experiments.curves import Curve, checked
from mccfr_plus.files.atomic_write import atomic_write

_AXES = AXES | {"cpu_seconds": "CPU seconds (without evaluations)"}
_NOTES = {"quantiles": f"{LOW:.0%} to {HIGH:.0%} of them", "mean": "95 % interval of the mean"}
_MOST_IN_PANEL = 6  # algorithms in a legend that leaves room for curves


def plot_curves(
    curves: Sequence[Curve],
    *,
    unit: str = "seconds",
    band: str = "quantiles",
    measure: str = "exploitability",
    ax: Any = None,
) -> Any:
    """Draws curves and returns the figure; see `mccfr_plus.experiments.Result.plot`."""
    checked("unit", unit, _AXES)
    checked("band", band, BANDS)
    checked("measure", measure, MEASURE_LABELS)
    games, algorithms = (
        list(dict.fromkeys(getattr(curve, name) for curve in curves)) for name in ("game", "algorithm")
    )
    if not curves:
        raise ConfigError("no run has been evaluated yet: there is nothing to draw.")
    panels = _panels(len(games), len(algorithms)) if ax is None else list(ax) if isinstance(ax, Sequence) else [ax]
    if len(panels) != len(games):
        raise ConfigError(f"{len(panels)} axes for {len(games)} games: give a list with one per game, or None.")
    for panel, game in zip(panels, games, strict=True):
        for curve in curves:
            if curve.game == game:
                number = algorithms.index(curve.algorithm)
                draw_line(panel, curve.x(unit), curve.y(measure), number, curve.algorithm, BANDS[band])
        finish_axes(panel, game, _AXES[unit], MEASURE_LABELS[measure])
    figure = panels[0].figure
    if ax is None:
        seeds = sorted({min(curve.num_seeds for curve in curves), max(curve.num_seeds for curve in curves)})
        note = f"line: mean of {' to '.join(map(str, seeds))} seeds; band: {_NOTES[band]}"
        figure.supxlabel(note if seeds[-1] > 1 else "line: one run", fontsize=7, color="#444444")
        if len(games) > 1 or len(algorithms) > _MOST_IN_PANEL:
            share_legend(figure)
    return figure


def _panels(count: int, num_algorithms: int) -> list[Any]:
    """Returns the axes of a new figure, which is not one of pyplot's."""
    require_library("matplotlib")
    from matplotlib.figure import Figure

    columns = min(count, 2 if count < 5 else 3)
    rows = -(-count // columns)
    legend = 0.2 * -(-num_algorithms // (2 * columns))  # inches
    figure = Figure(figsize=(6.4 * columns, 4.4 * rows + legend + 0.4), dpi=120, layout="constrained")
    panels = list(figure.subplots(rows, columns, squeeze=False).ravel())
    for panel in panels[count:]:
        panel.remove()
    return panels[:count]


def share_legend(figure: Any) -> None:
    """Replaces the legends of all panels by one above them."""
    handles: dict[str, Any] = {}
    for panel in figure.axes:
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
        if panel.get_legend() is not None:
            panel.get_legend().remove()
    columns = max(2, round(figure.get_figwidth() / 3.4))
    figure.legend(handles.values(), handles, loc="outside upper center", ncols=columns, fontsize=8, frameon=False)


def write_figure(figure: Any, path: str | os.PathLike) -> None:
    """Writes a figure of matplotlib whole or not at all; the ending says which format: .png, .svg or .pdf."""
    path = Path(path)
    with atomic_write(path, RecordError) as file:
        figure.savefig(file, format=path.suffix[1:])
