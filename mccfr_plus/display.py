"""Results in notebooks and pictures: HTML tables, data frames, curves. Libraries are imported on use."""

import importlib
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from mccfr_plus.errors import ConfigError

_LOW, _HIGH, _FEW_SEEDS = 0.05, 0.95, 3  # quantiles of a band; with few seeds it spans minimum to maximum

# Okabe and Ito 2008: distinct for all kinds of color vision. Markers and dashes differ as well, for print in gray.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D31")
DASHES = ("-", "--", "-.", ":")
MARKERS = "osD^vP*X"

AXES = {
    "seconds": "seconds (run alone, without evaluations)",
    "nodes": "histories touched",
    "iterations": "iterations",
}
MEASURE_LABELS = {
    "exploitability": "exploitability (NashConv / players, game's payoffs)",
    "nash_conv": "NashConv (sum over players, game's payoffs)",
}


def require_library(name: str) -> None:
    """Raises ConfigError if a library of the extra ``plot`` is not installed; the message says how to install it."""
    try:
        importlib.import_module(name)
    except ImportError:
        raise ConfigError(f"pictures and pages need {name}: pip install 'mccfr_plus[plot]'.") from None
    except ValueError as error:  # matplotlib with a wrong MPLBACKEND
        raise ConfigError(f"pictures and pages need {name}, but it cannot be loaded: {error}") from None


def data_frame(columns: Mapping[str, Sequence | np.ndarray]) -> Any:
    """Returns columns of equal length as a pandas data frame. ConfigError: if pandas is not installed."""
    try:
        import pandas as pd
    except ImportError:
        raise ConfigError("data frames need pandas: pip install pandas.") from None
    return pd.DataFrame(dict(columns))


def html_table(heading: Sequence[str], rows: Sequence[Sequence[str]], numbers_from: int = 1) -> str:
    """Returns an HTML table; columns from `numbers_from` on are numbers, aligned to the right."""

    def row(cells: Sequence[str], tag: str) -> str:
        styled = ""
        for column, cell in enumerate(cells):
            side = "left" if column < numbers_from else "right"
            styled += f"<{tag} style='text-align:{side};padding:2px 10px'>{escape(cell)}</{tag}>"
        return f"<tr>{styled}</tr>"

    body = "".join(row(cells, "td") for cells in rows)
    return f"<table style='border-collapse:collapse;font-size:13px'>{row(heading, 'th')}{body}</table>"


def html_summary(title: str, rows: Mapping[str, Any]) -> str:
    table = html_table(["", ""], [[name, str(value)] for name, value in rows.items()], numbers_from=2)
    return f"<b>{escape(title)}</b>{table}"


def quantile_band(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the 5% and 95% quantiles over seeds of ``[seeds, points]``; of few seeds, minimum and maximum."""
    low, high = np.quantile(y, [_LOW, _HIGH] if len(y) > _FEW_SEEDS else [0.0, 1.0], axis=0)
    return low, high


def mean_band(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns Student's 95% interval of the mean over seeds of ``[seeds, points]``; of one seed, the value itself."""
    from scipy import stats

    mean, seeds = y.mean(axis=0), len(y)
    if seeds == 1:
        return mean, mean
    half = stats.t.ppf(0.975, seeds - 1) * y.std(axis=0, ddof=1) / np.sqrt(seeds)
    return mean - half, mean + half


Band = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
BANDS: dict[str, Band] = {"quantiles": quantile_band, "mean": mean_band}


def name_of_band(kind: str, num_seeds: int) -> str:
    """Returns what the caption of a picture calls a band over so many seeds."""
    if kind == "mean":
        return "95% interval of the mean"
    return f"{_LOW:.0%} to {_HIGH:.0%} of them" if num_seeds > _FEW_SEEDS else "minimum to maximum"


def draw_line(axes: Any, x: np.ndarray, y: np.ndarray, number: int, label: str, band: Band = quantile_band) -> None:
    """Draws the mean over seeds of `y`, ``[seeds, points]``, and a band. `number` determines color, dashes, marker."""
    colour, mean, (low, high) = COLOURS[number % len(COLOURS)], y.mean(axis=0), band(y)
    positive = (mean > 0) & (x > 0)  # an exploitability of 0 has no place on a logarithmic axis
    marks = {"marker": MARKERS[number % len(MARKERS)], "markersize": 3.5, "markevery": max(1, positive.sum() // 12)}
    dashes = DASHES[number // len(COLOURS) % len(DASHES)]
    axes.plot(x[positive], mean[positive], color=colour, linestyle=dashes, label=label, **marks)
    if len(y) > 1:
        floor = mean[positive].min(initial=1.0) * 1e-3
        edges = low[positive].clip(floor), high[positive].clip(floor)
        axes.fill_between(x[positive], *edges, color=colour, alpha=0.18, linewidth=0)


def finish_axes(axes: Any, title: str, xlabel: str, ylabel: str) -> None:
    """Adds labels, title, grid and legend to logarithmic axes, and plain numbers where they span less than a decade."""
    axes.set(xscale="log", yscale="log", xlabel=xlabel, ylabel=ylabel)
    low, high = axes.get_ylim()
    if high < 10 * low:
        for of_ticks in (axes.yaxis.set_major_formatter, axes.yaxis.set_minor_formatter):
            of_ticks("{x:g}")
    axes.set_title(title if len(title) <= 60 else f"{title[:57]}...", fontsize=10)
    axes.grid(True, which="major", alpha=0.35)
    axes.grid(True, which="minor", alpha=0.12)
    axes.legend(fontsize=8)
