"""What results look like in notebooks: HTML tables, data frames, lines of a picture. Libraries are imported on use."""

import importlib
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from mccfr_plus.errors import ConfigError

LOW, HIGH = 0.05, 0.95  # the band holds the middle nine tenths of the seeds; with few seeds nearly all of them

# Okabe, Ito 2008: told apart with any colour vision; markers and dashes differ as well, for print in grey.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D31")
DASHES = ("-", "--", "-.", ":")
MARKERS = "osD^vP*X"

AXES = {
    "nodes": "histories touched",
    "iterations": "iterations",
    "seconds": "seconds (run alone, without evaluations)",
}
MEASURE_LABELS = {
    "exploitability": "exploitability (NashConv / players, game's payoffs)",
    "nash_conv": "NashConv (sum over players, game's payoffs)",
}

DATA_FRAMES = ("pandas", "polars")


def require_library(name: str) -> None:
    """Raises ConfigError if a library of the extra ``plot`` is not installed; the message says how to install it."""
    try:
        importlib.import_module(name)
    except ImportError:
        raise ConfigError(f"pictures and pages need {name}: pip install 'mccfr_plus[plot]'.") from None
    except ValueError as error:  # matplotlib with a wrong MPLBACKEND
        raise ConfigError(f"pictures and pages need {name}, which cannot be loaded: {error}") from None


def data_frame(columns: Mapping[str, Sequence | np.ndarray], library: str | None = None) -> Any:
    """Returns columns as a data frame.

    Args:
        columns: By name, all of one length.
        library: pandas or polars; None: the first of these that is installed.

    Raises:
        ConfigError: If it is another library, or not installed.
    """
    if library not in (None, *DATA_FRAMES):
        raise ConfigError(f"library={library!r}: give one of {', '.join(DATA_FRAMES)}, or None.")
    for name in DATA_FRAMES if library is None else (library,):
        try:
            return importlib.import_module(name).DataFrame(dict(columns))
        except ImportError:
            continue
    raise ConfigError(f"data frames need {library or 'pandas or polars'}: pip install {library or 'pandas'}.")


def html_table(heading: Sequence[str], rows: Sequence[Sequence[str]], numbers_from: int = 1) -> str:
    """Returns an HTML table; columns from `numbers_from` on are numbers, to the right."""

    def row(cells: Sequence[str], tag: str) -> str:
        styled = ""
        for column, cell in enumerate(cells):
            side = "left" if column < numbers_from else "right"
            styled += f"<{tag} style='text-align:{side};padding:2px 10px'>{escape(cell)}</{tag}>"
        return f"<tr>{styled}</tr>"

    body = "".join(row(cells, "td") for cells in rows)
    return f"<table style='border-collapse:collapse;font-size:13px'>{row(heading, 'th')}{body}</table>"


def html_summary(title: str, rows: Mapping[str, Any]) -> str:
    """Returns a heading and a table of names and values."""
    table = html_table(["", ""], [[name, str(value)] for name, value in rows.items()], numbers_from=2)
    return f"<b>{escape(title)}</b>{table}"


def colour_of(number: int) -> str:
    """Returns the colour of a comparison's algorithm, by its place in the list."""
    return COLOURS[number % len(COLOURS)]


def quantile_band(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the quantiles `LOW` and `HIGH` over seeds of ``[seeds, points]``."""
    low, high = np.quantile(y, [LOW, HIGH], axis=0)
    return low, high


def mean_band(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns Student's 95 % interval of the mean over seeds of ``[seeds, points]``; of one seed, the value itself."""
    from scipy import stats

    mean, seeds = y.mean(axis=0), len(y)
    if seeds == 1:
        return mean, mean
    half = stats.t.ppf(0.975, seeds - 1) * y.std(axis=0, ddof=1) / np.sqrt(seeds)
    return mean - half, mean + half


Band = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
BANDS: dict[Band, str] = {quantile_band: f"{LOW:.0%} to {HIGH:.0%} of them", mean_band: "95 % interval of the mean"}


def draw_line(
    panel: Any,
    x: np.ndarray,
    y: np.ndarray,
    number: int,
    style: tuple[int, int],
    label: str,
    band: Band = quantile_band,
    *,
    is_faint: bool = False,
) -> None:
    """Draws mean and band over seeds.

    Args:
        panel: Axes of matplotlib, which are modified.
        x: ``[points]``.
        y: ``[seeds, points]``.
        number: Of the line, which determines its marker.
        band: `quantile_band` or `mean_band`.
        is_faint: Whether to draw a thin line without band and marks.
    """
    mean, (low, high) = y.mean(axis=0), band(y)
    positive = (mean > 0) & (x > 0)  # an exploitability of 0 has no place on a logarithmic axis
    panel.plot(
        x[positive],
        mean[positive],
        color=colour_of(style[0]),
        linestyle=DASHES[style[1] % len(DASHES)],
        marker="" if is_faint else MARKERS[number % len(MARKERS)],
        markersize=3.5,
        markevery=max(1, positive.sum() // 12),
        linewidth=0.9 if is_faint else 1.5,
        alpha=0.35 if is_faint else 1.0,
        label=label,
    )
    if len(y) > 1 and not is_faint:
        floor = mean[positive].min(initial=1.0) * 1e-3
        edges = low[positive].clip(floor), high[positive].clip(floor)
        panel.fill_between(x[positive], *edges, color=colour_of(style[0]), alpha=0.18, linewidth=0)


def finish_panel(panel: Any, title: str, *, has_legend: bool = True) -> None:
    """Adds title, grid and legend, and plain numbers to a logarithmic axis of less than a power of ten."""
    low, high = panel.get_ylim()
    if panel.get_yscale() == "log" and high < 10 * low:
        for of_ticks in (panel.yaxis.set_major_formatter, panel.yaxis.set_minor_formatter):
            of_ticks("{x:g}")
    panel.set_title(title if len(title) <= 60 else f"{title[:57]}...", fontsize=10)
    panel.grid(True, which="major", alpha=0.35)
    panel.grid(True, which="minor", alpha=0.12)
    if has_legend:
        panel.legend(fontsize=8)
