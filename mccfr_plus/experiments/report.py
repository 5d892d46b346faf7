"""`report.html` of a comparison: interactive curves, the final table, versions and machine, and the strategies."""

import json
from html import escape
from pathlib import Path
from typing import Any

from mccfr_plus.display import AXES, COLOURS, MEASURE_LABELS, html_table, require_library
from mccfr_plus.errors import ConfigError
from mccfr_plus.evaluation.strategy_page import (
    MOST_HISTORIES,
    MOST_SLOTS,
    StrategyTable,
    page_of_strategies,
    part,
    table_of_histories,
    table_of_tree,
    write_page,
)
from mccfr_plus.experiments.comparison import RUNS, read_comparison, run_file
from mccfr_plus.experiments.curves import Curve
from mccfr_plus.experiments.result import Result
from mccfr_plus.experiments.runs import read_record
from mccfr_plus.policies.files import load_policy
from mccfr_plus.policies.keyed_policy import KeyedPolicy
from mccfr_plus.trees.game_tree import GameTree

REPORT_FILE = "report.html"
_PACKAGE = "mccfr_plus.experiments"
_DASHES = ("solid", "dashed", "dotdash", "dotted")
_MARKERS = ("circle", "square", "diamond", "triangle", "inverted_triangle", "plus", "star", "x")  # as `display.MARKERS`


def write_report(result: Result) -> Path:
    """Writes the report of a comparison into its directory, and returns the report's path."""
    require_library("bokeh")
    from bokeh.embed import components
    from bokeh.resources import Resources

    path, curves = result.path, result.curves
    if path is None:
        raise ConfigError("a report needs records: pass a directory to `compare` as out=DIR.")
    games = list(dict.fromkeys(curve.game for curve in curves))
    algorithms = list(dict.fromkeys(curve.algorithm for curve in curves))
    figures = [_figure(algorithms, game, [curve for curve in curves if curve.game == game]) for game in games]
    script, places = components(tuple(figures))
    units = "".join(f"<option>{escape(unit)}</option>" for unit in AXES)
    above = (
        f"<h1>Comparison {escape(path.name)}</h1><section class='about'>{_about(path)}</section>"
        f'<section><label>horizontal axis <select id="unit" class="inline">{units}</select></label>'
        f'<div class="plots">{"".join(places)}</div></section>'
        f'<section><h2>Where the runs ended</h2><div class="scroll">{result._repr_html_()}</div>'
        "<p>Low and high are the 5% and 95% quantiles over seeds (minimum and maximum of up to three).</p></section>"
    )
    library = Resources(mode="inline", minified=True, components=["bokeh"]).render()
    head = f"<style>{part('report.css', _PACKAGE)}</style>{library}{script}"
    tables = _strategies(path, curves)
    switch = f"const LABELS = {json.dumps(AXES)};\n{part('report.js', _PACKAGE)}"
    page = page_of_strategies(f"Comparison {path.name}", above, tables, script=switch, head=head)
    write_page(path / REPORT_FILE, page)
    return path / REPORT_FILE


def _about(path: Path) -> str:
    """Returns command, versions and machine of the records; of each only what is the same in all, or all of them."""
    headers, rows = [read_record(file)[0] for file in sorted((path / RUNS).glob("*.jsonl"))], []
    for name in ("command", "versions", "machine", "started"):
        found = list(dict.fromkeys(_flat(header.get(name, "")) for header in headers))
        shown = f"{found[0]} to {found[-1]}" if name == "started" and len(found) > 1 else "; ".join(found)
        rows.append([name, shown])
    return html_table(["", ""], rows, numbers_from=2)


def _flat(value: Any) -> str:
    return ", ".join(f"{key} {item}" for key, item in value.items()) if isinstance(value, dict) else str(value)


def _figure(algorithms: list[str], game: str, curves: list[Curve]) -> Any:
    """Returns a game's curves; a click on the legend hides one."""
    from bokeh.models import BasicTickFormatter, ColumnDataSource, HoverTool
    from bokeh.plotting import figure

    shown = figure(
        sizing_mode="stretch_width",
        height=460,
        x_axis_type="log",
        y_axis_type="log",
        title=game,
        x_axis_label=AXES["seconds"],
        y_axis_label=MEASURE_LABELS["exploitability"],
        tools="pan,wheel_zoom,box_zoom,reset,save",
    )
    levels: list[float] = []
    for curve in curves:
        number = algorithms.index(curve.algorithm)
        source = ColumnDataSource(_columns(curve))
        levels += source.data["mean"]
        style = {"source": source, "color": COLOURS[number % len(COLOURS)], "legend_label": curve.algorithm}
        if curve.num_seeds > 1:
            shown.varea("x", "low", "high", fill_alpha=0.18, **style)
        shown.line("x", "mean", line_width=2, line_dash=_DASHES[number // 8 % len(_DASHES)], **style)
        dots = shown.scatter("x", "mean", size=8, marker=_MARKERS[number % len(_MARKERS)], **style)
        tips = [("", curve.algorithm), ("mean", "@mean"), ("low", "@low"), ("high", "@high")]
        shown.add_tools(HoverTool(renderers=[dots], tooltips=[*tips, *((unit, f"@{unit}") for unit in AXES)]))
    if levels and max(levels) < 1000 * min(levels):  # Bokeh may label one decade only
        shown.yaxis.ticker = [digit * 10.0**power for power in range(-12, 7) for digit in (1, 2, 5)]
        shown.yaxis.formatter = BasicTickFormatter(use_scientific=False)
    shown.add_layout(shown.legend[0], "below")
    shown.legend.update(click_policy="hide", ncols=2, label_text_font_size="9pt")
    return shown


def _columns(curve: Curve) -> dict[str, list[float]]:
    """Returns a curve's points that have a place on logarithmic axes."""
    (low, high), mean = curve.band(), curve.mean()
    units = {unit: curve.x(unit) for unit in AXES}
    positive = (mean > 0) & (units["seconds"] > 0)
    floor = mean[positive].min(initial=1.0) * 1e-3
    columns = {"x": units["seconds"], **units, "mean": mean, "low": low.clip(floor), "high": high.clip(floor)}
    return {name: [float(f"{value:.6g}") for value in column[positive]] for name, column in columns.items()}


def _strategies(path: Path, curves: list[Curve]) -> list[StrategyTable]:
    """Returns the final strategies that were saved, the best of each game first."""
    games, seed = list(dict.fromkeys(curve.game for curve in curves)), read_comparison(path)["seeds"][0]
    found = [
        (curve, file)
        for curve in sorted(curves, key=lambda curve: (games.index(curve.game), curve.mean()[-1]))
        if (file := run_file(path / RUNS, curve.game, curve.algorithm, seed, "policy.npz")).exists()
    ]
    trees: dict[str, GameTree] = {}  # compiled once for all policies of a game
    tables = []
    for curve, file in found:
        policy = load_policy(file, trees.get(curve.game))
        label = f"{curve.game}: {curve.algorithm}, seed {seed}"
        if isinstance(policy, KeyedPolicy):  # of a game that is too large for a tree
            tables.append(table_of_histories(label, policy.game, policy, MOST_HISTORIES // len(found)))
        else:
            tree = trees.setdefault(curve.game, policy.tree)
            tables.append(table_of_tree(label, tree, policy.strategy(), MOST_SLOTS // len(found)))
    return tables
