"""The scripts' shared parts: arguments, records of figures, verdicts, and pages of Markdown.

A script without ``--scale`` computes its pages from the records of an earlier run, by default the committed ones. With
``--scale`` it runs everything again, and a repeated command continues.
"""

import argparse
import datetime
import itertools
import json
import os
import platform
import shlex
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mccfr_plus import MccfrPlusError
from mccfr_plus.experiments import Curve, Interval, Result, compare

PAGES = Path(__file__).resolve().parents[1] / "docs" / "papers"
SCALES = ("small", "paper")

REPRODUCED, SMALLER_SCALE = "reproduced", "reproduced at smaller scale"
NOT_REPRODUCED, NOT_TRIED = "not reproduced", "not tried"
VERDICTS = (REPRODUCED, SMALLER_SCALE, NOT_REPRODUCED, NOT_TRIED)

AHEAD, BEHIND, TIE = "ahead", "behind", "intervals overlap"
INTERVALS = (
    "Brackets and bands show the 95 % interval of the mean over seeds. *Ahead* means that these intervals are disjoint."
)


class Finding(NamedTuple):
    """One printed value or claim beside the measured one."""

    what: str
    paper: str
    here: str
    verdict: str


class Page(NamedTuple):
    """The page of a table or figure."""

    findings: list[Finding]
    notes: list[str]
    figure: Any = None  # of matplotlib
    details: Sequence[str] = ()  # lines of Markdown below the findings
    about: Mapping[str, Any] = {}  # of the figure's record


class Setting(NamedTuple):
    """How to compute a page."""

    scale: str | None  # one of `SCALES`; None: from the records
    folder: Path  # of records and pages
    processes: int | None


Compute = Callable[[Setting, str], Page]  # of the setting and the item's name
Arguments = Callable[[str], Mapping[str, Mapping[str, Any]]]  # of the scale: arguments of `compare`, by folder


def recorded(setting: Setting, name: str, arguments: Arguments) -> Result:
    """Returns the curves of a figure from its record ``NAME.jsonl``, which is written first if there is a scale."""
    record = setting.folder / f"{name}.jsonl"
    if setting.scale is not None:
        about = {"scale": setting.scale, "measured": measured_here()}
        Result(run(setting, name, arguments(setting.scale)), about=about).save(record)
    return Result.load(record)


def run(setting: Setting, name: str, arguments: Mapping[str, Mapping[str, Any]]) -> list[Curve]:
    """Runs comparisons, each in its folder of ``NAME-runs``, and returns all curves."""
    curves = []
    for label, options in arguments.items():
        folder = setting.folder / f"{name}-runs" / label
        folder.parent.mkdir(parents=True, exist_ok=True)
        result = compare(**options, out=folder, processes=setting.processes)
        if result.failed:
            raise MccfrPlusError(f"{len(result.failed)} runs failed, such as {next(iter(result.failed.items()))}")
        curves += result.curves
    return curves


def save_rows(path: Path, setting: Setting, rows: Sequence[Mapping[str, Any]]) -> None:
    """Writes measurements, with scale, machine and time."""
    about = {"scale": setting.scale, "measured": measured_here()}
    path.write_text(json.dumps({"about": about, "rows": rows}, indent=1) + "\n", encoding="utf-8")


def load_rows(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Returns scale, machine and time, and the measurements."""
    kept = json.loads(path.read_text(encoding="utf-8"))
    return kept["about"], kept["rows"]


def measured_here() -> str:
    """Returns machine and time."""
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    return f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, {now}"


# --- verdicts ---


def order(first: Interval, second: Interval) -> str:
    """Returns whether the first is ahead, that is lower, by disjoint intervals."""
    return AHEAD if first.high < second.low else BEHIND if first.low > second.high else TIE


class Beside(NamedTuple):
    """One curve beside another."""

    order: str  # of the first, by 95 % intervals of the means
    ratio: float  # mean of the second over that of the first: above 1 if the first is lower
    is_apart: bool  # whether bands of one standard deviation are disjoint
    text: str


def beside(first: Curve, second: Curve, at: float | None = None, unit: str = "nodes", **options: Any) -> Beside:
    """Returns how a curve stands beside another after `at` in the unit; None: where the shorter one ends."""
    shorter = min(float(curve.x(unit)[-1]) for curve in (first, second))
    at = shorter if at is None else min(at, shorter)
    means = [curve.interval(at=at, unit=unit, **options) for curve in (first, second)]
    values = [curve.value_at(at, unit, **options) for curve in (first, second)]
    spread = sum(each.std(ddof=1) for each in values if len(each) > 1)
    texts = [f"{curve.algorithm} {mean}" for curve, mean in zip((first, second), means, strict=True)]
    of = {"nodes": "histories", "cpu_seconds": "CPU seconds"}[unit]
    is_apart = bool(abs(means[0].mean - means[1].mean) > spread)
    return Beside(order(*means), means[1].mean / means[0].mean, is_apart, f"{', '.join(texts)} after {at:.3g} {of}")


def verdict(holds: bool | None, is_full_scale: bool) -> str:
    """Returns the verdict on a claim; None: a run is missing."""
    if holds is None:
        return NOT_TRIED
    return (REPRODUCED if is_full_scale else SMALLER_SCALE) if holds else NOT_REPRODUCED


def size_findings(sizes: Mapping[str, Sequence[tuple[str, str, Any, str]]], where: str) -> list[Finding]:
    """Returns a finding per printed size.

    Args:
        sizes: By game: what is counted, as printed, as enumerated, and whether they agree.
        where: Place in the paper.
    """
    findings = []
    for game, rows in sizes.items():
        for what, printed, ours, why in rows:
            here = number(ours) if why == "exact" else f"{number(ours)}: {why}"
            holds = why.startswith(("exact", "agrees"))
            findings.append(Finding(f"{game}: {what} {printed}", where, here, verdict(holds, True)))
    return findings


def number(value: Any) -> str:
    """Returns a number, or several, with thousands separated."""
    return " / ".join(f"{each:,}" for each in value) if isinstance(value, tuple) else f"{value:,}"


# --- pictures ---


def draw(result: Result, titles: Mapping[str, str], unit: str = "nodes", ylabel: str = "", **options: Any) -> Any:
    """Returns the figure of curves with titles by game."""
    figure = result.plot(unit, "mean", **options)
    for axes, (game, _) in zip(figure.axes, itertools.groupby(result.curves, lambda curve: curve.game), strict=True):
        axes.set_title(titles[game], fontsize=10)
        axes.set_ylabel(ylabel or axes.get_ylabel())
    return figure


def highlight(figure: Any, best: Sequence[Collection[str]]) -> None:
    """Makes the lines of all other labels thin, and hides their bands.

    Args:
        figure: The figure, which is modified.
        best: Labels of the highlighted lines of each panel.
    """
    handles = {}
    for axes, labels in zip(figure.axes, best, strict=True):
        for line, band in itertools.zip_longest(axes.get_lines(), axes.collections):
            if line.get_label() not in labels:
                line.set(alpha=0.35, linewidth=0.9, marker="")
            if band is not None:  # there is one if there are several seeds
                band.set_facecolor(line.get_color())
                band.set_visible(line.get_label() in labels)
            if line.get_label() in labels or line.get_label() not in handles:
                handles[line.get_label()] = line
    for legend in figure.legends:
        legend.remove()
    figure.legend(handles.values(), handles, loc="outside upper center", ncols=5, fontsize=8, frameon=False)


def scaled(curves: Sequence[Curve], factor: float) -> list[Curve]:
    """Returns curves in another unit of payoffs."""
    return [
        replace(curve, runs=tuple(tuple(p._replace(nash_conv=factor * p.nash_conv) for p in run) for run in curve.runs))
        for curve in curves
    ]


def draw_parameter(
    lines: Mapping[str, Mapping[float, Interval]], title: str, xlabel: str, ylabel: str, xscale: str = "log"
) -> Any:
    """Returns a figure of means with intervals against a parameter.

    Args:
        lines: By label, the interval for each value of the parameter.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.4 + 0.22 * len(lines)), dpi=120, layout="constrained")
    axes = figure.subplots()
    for (label, line), marker in zip(lines.items(), "osD^vP", strict=False):
        mean, low, high = np.array(list(line.values())).T
        (drawn,) = axes.plot(list(line), mean, marker=marker, markersize=4, label=label)
        axes.fill_between(list(line), low.clip(1e-3 * mean.min()), high, color=drawn.get_color(), alpha=0.18, lw=0)
    axes.set(xscale=xscale, yscale="log", title=title, xlabel=xlabel, ylabel=ylabel)
    if axes.get_ylim()[1] < 10 * axes.get_ylim()[0]:
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter("{x:g}")
    axes.grid(alpha=0.3)
    figure.legend(loc="outside upper center", fontsize=8, frameon=False)
    figure.supxlabel("line: mean over seeds; band: 95 % interval of the mean", fontsize=7, color="#444444")
    return figure


# --- the script ---


def main(script: str, citation: str, items: Mapping[str, tuple[str, Compute]], folder: Path | None = None) -> None:
    """Computes the pages that the command line names, prints them and writes them.

    Args:
        script: The script's file.
        citation: Authors and year.
        items: Title and function of each table and figure, by name.
        folder: Folder of the committed records; None: of the paper.
    """
    name = Path(script).stem
    listed = "\n".join(f"  {item:<11}{title}" for item, (title, _) in items.items())
    parser = argparse.ArgumentParser(
        description=f"{citation}\n\nitems:\n{listed}", formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("items", nargs="*", metavar="ITEM", help="Default: all.")
    parser.add_argument("--scale", choices=SCALES, help="Run: small takes minutes, paper hours. Default: only records.")
    parser.add_argument("--out", type=Path, help=f"Folder. Default: {name}-SCALE, or the committed records' folder.")
    parser.add_argument("--processes", type=int, help="Number of parallel runs. Default: one per core.")
    arguments = parser.parse_args()
    for item in arguments.items:
        if item not in items:
            parser.error(f"unknown item {item!r}: give some of {', '.join(items)}.")
    committed = PAGES / name if folder is None else folder
    chosen = arguments.out or (committed if arguments.scale is None else Path(f"{name}-{arguments.scale}"))
    setting = Setting(arguments.scale, chosen, arguments.processes)
    try:
        chosen.mkdir(parents=True, exist_ok=True)
        for item in arguments.items or items:
            title, compute = items[item]
            print(f"{citation}, {title}")
            page = compute(setting, item)
            for finding in page.findings:
                print("  " + " | ".join(finding))
            if page.figure is not None:
                page.figure.savefig(chosen / f"{item}.png")
            if chosen != folder:  # a folder of its own has no pages
                write_page(chosen / f"{item}.md", page, citation, title)
            print(f"written to {chosen}\n")
    except MccfrPlusError as error:
        sys.exit(f"{name}: error: {error}")


def write_page(path: Path, page: Page, citation: str, title: str) -> None:
    """Writes a page of Markdown, whose picture is beside it."""
    scale = page.about.get("scale")
    command = ["python", f"papers/{Path(sys.argv[0]).name}", path.stem, *([f"--scale={scale}"] if scale else [])]
    lines = [f"# {citation}: {title}", "", f"`{shlex.join(command)}`.", ""]
    lines += [f"![{title}]({path.stem}.png)"] if page.figure is not None else []
    lines += ["", "| | paper | here | verdict |", "|---|---|---|---|"]
    lines += [f"| {' | '.join(finding)} |" for finding in page.findings]
    lines += ["", *page.details, *([""] if page.details else []), *(f"* {note}" for note in page.notes), ""]
    if "measured" in page.about:
        lines += [f"Measured on {page.about['measured']}."]
    path.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
