"""`report.html` of a comparison: interactive curves, the final table, versions and machine, and a strategy."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

from mccfr_plus.display import AXES, HIGH, LOW, MEASURE_LABELS, colour_of, html_table, require_library
from mccfr_plus.experiments import page
from mccfr_plus.experiments.comparison import Comparison, Directory
from mccfr_plus.experiments.curves import Curve, curves_of, final_rows
from mccfr_plus.experiments.record import read_record
from mccfr_plus.experiments.strategy_table import MOST_SLOTS, strategy_view
from mccfr_plus.policies.files import load_policy
from mccfr_plus.policies.keyed_policy import KeyedPolicy

REPORT_FILE = "report.html"
_DASHES = ("solid", "dashed", "dotdash", "dotted")

_SWITCH = """
for (const source of sources) {
    source.data.x = source.data[unit.value];
    source.change.emit();
}
for (const axis of axes) axis.axis_label = labels[unit.value];
"""


def write_report(path: str | Path) -> Path:
    """Writes the report of a comparison's directory into it, and returns its path.

    Raises:
        ConfigError: If bokeh is missing.
        RecordError: If the directory holds no comparison, nothing was recorded, or the file cannot be written.
    """
    require_library("bokeh")
    comparison, curves = curves_of(path)
    file = Path(path) / REPORT_FILE
    page.write_page(file, page.page_of(_layout(Path(path), comparison, curves), f"Comparison {Path(path).name}"))
    return file


def _layout(path: Path, comparison: Comparison, curves: list[Curve]) -> Any:
    from bokeh.layouts import column

    games = [game for game in comparison.games if any(curve.game == game for curve in curves)]
    content = [page.block(f"<h1>Comparison {escape(path.name)}</h1>{_about(path, comparison)}")]
    content += _plots(comparison, curves, games)
    content.append(page.block(f"<h2>Where the runs ended</h2>{_final(curves)}"))
    for game in games:
        own = [curve for curve in curves if curve.game == game]
        content += _strategy(path, comparison, own, MOST_SLOTS // len(games))
    return column(*content)


def _about(path: Path, comparison: Comparison) -> str:
    """Returns command, versions and machine of the records; of each only what is the same in all, or all of them."""
    runs = Directory(path, comparison).runs()
    headers, rows = [read_record(run.record)[0] for run in runs if run.record.exists()], []
    for name in ("command", "versions", "machine", "started"):
        found = list(dict.fromkeys(_flat(header.get(name, "")) for header in headers))
        shown = f"{found[0]} to {found[-1]}" if name == "started" and len(found) > 1 else "; ".join(found)
        rows.append([name, shown])
    return html_table(["", ""], rows, numbers_from=2)


def _flat(value: Any) -> str:
    return ", ".join(f"{key} {item}" for key, item in value.items()) if isinstance(value, dict) else str(value)


def _plots(comparison: Comparison, curves: list[Curve], games: list[str]) -> list[Any]:
    """Returns a switch for the horizontal axis and a figure per game."""
    from bokeh.layouts import gridplot
    from bokeh.models import ColumnDataSource, CustomJS, HoverTool, Select
    from bokeh.plotting import figure

    sources, figures = [], []
    for game in games:
        shown = figure(
            width=640,
            height=440,
            x_axis_type="log",
            y_axis_type="log",
            title=game,
            x_axis_label=AXES["nodes"],
            y_axis_label=MEASURE_LABELS["exploitability"],
            tools="pan,wheel_zoom,box_zoom,reset,save",
        )
        for curve in curves:
            if curve.game != game:
                continue
            number = comparison.algorithms.index(curve.algorithm)
            source = ColumnDataSource(_columns(curve))
            sources.append(source)
            style = {"color": colour_of(number), "legend_label": curve.algorithm}
            if curve.num_seeds > 1:
                shown.varea("x", "low", "high", source=source, fill_alpha=0.18, **style)
            shown.line("x", "mean", source=source, line_width=2, line_dash=_DASHES[number // 8 % len(_DASHES)], **style)
            dots = shown.scatter("x", "mean", source=source, size=4, **style)
            tips = [("", curve.algorithm), ("mean", "@mean"), (f"{LOW:.0%}", "@low"), (f"{HIGH:.0%}", "@high")]
            shown.add_tools(HoverTool(renderers=[dots], tooltips=[*tips, *((unit, f"@{unit}") for unit in AXES)]))
        shown.legend.click_policy = "hide"
        shown.legend.location = "bottom_left"
        shown.legend.label_text_font_size = "9pt"
        figures.append(shown)
    unit = Select(title="horizontal axis", value="nodes", options=list(AXES), width=160, name="unit")
    axes = [axis for shown in figures for axis in shown.xaxis]
    unit.js_on_change(
        "value", CustomJS(args={"unit": unit, "sources": sources, "axes": axes, "labels": dict(AXES)}, code=_SWITCH)
    )
    return [unit, gridplot([figures[i : i + 2] for i in range(0, len(figures), 2)], merge_tools=False)]


def _columns(curve: Curve) -> dict[str, list[float]]:
    """Returns a curve's points that have a place on logarithmic axes."""
    (low, high), mean = curve.band(), curve.mean()
    units = {unit: curve.x(unit) for unit in AXES}
    positive = (mean > 0) & (units["nodes"] > 0)
    floor = mean[positive].min(initial=1.0) * 1e-3
    columns = {"x": units["nodes"], **units, "mean": mean, "low": low.clip(floor), "high": high.clip(floor)}
    return {name: [float(f"{value:.6g}") for value in column[positive]] for name, column in columns.items()}


def _final(curves: list[Curve]) -> str:
    units = ("nodes", "iterations", "seconds", "exploitability")
    heading = ["game", "algorithm", "seeds", *units, f"{LOW:.0%}", f"{HIGH:.0%}"]
    rows = [
        [*(str(row[name]) for name in heading[:3]), *(f"{row[name]:,.4g}" for name in (*units, "low", "high"))]
        for row in final_rows(curves)
    ]
    return html_table(heading, rows, numbers_from=2)


def _strategy(path: Path, comparison: Comparison, curves: list[Curve], most_slots: int) -> list[Any]:
    """Returns the table of the best final strategy that was saved for a game."""
    directory = Directory(path, comparison)
    for curve in sorted(curves, key=lambda curve: float(curve.mean()[-1])):
        file = directory.run_of(curve.game, curve.algorithm, comparison.seeds[0]).policy
        if file.exists():
            policy = load_policy(file)
            if isinstance(policy, KeyedPolicy):  # of a game that is too large for a table
                continue
            heading = f"{curve.game}: the average strategy of {curve.algorithm}, seed {comparison.seeds[0]}"
            view = strategy_view(policy.tree, policy.strategy(), most_slots)
            return [page.block(f"<h2>{escape(heading)}</h2>"), view]
    return []
