"""Tables and figures of papers: how they are computed and written."""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mccfr_plus.cluster.cluster import Cluster
from mccfr_plus.display import require_library
from mccfr_plus.errors import ConfigError, RecordError
from mccfr_plus.experiments.comparison import Comparison, Directory
from mccfr_plus.experiments.curves import Curve, curves_of
from mccfr_plus.experiments.page import write_page
from mccfr_plus.experiments.papers.records import read_curves, write_curves
from mccfr_plus.experiments.run_all import run_all

SCALES = ("small", "paper")
INTERVALS = "In brackets and in bands: the 95 % interval of the mean over seeds. Ahead: the intervals are disjoint."


@dataclass(frozen=True)
class Row:
    """One printed value beside the one found here."""

    what: str
    paper: str
    here: str
    verdict: str


@dataclass(frozen=True)
class Result:
    """The result of an item."""

    rows: list[Row]
    notes: list[str] = field(default_factory=list)
    pictures: list[Path] = field(default_factory=list)
    details: list[str] = field(default_factory=list)  # lines of Markdown, below the rows of the page


@dataclass(frozen=True)
class Setting:
    """How an item is to be computed.

    Attributes:
        scale: One of `SCALES`.
        folder: Where its records and pictures go; it is there.
        about: For records; see `about_here`.
        processes: Runs at a time; None: one per core.
        watch: Returns a view of comparisons, whose ``show`` takes each `RunEvent`.
        cluster: Where comparisons are run, entered; None: here.
    """

    scale: str
    folder: Path
    about: dict[str, Any]
    processes: int | None
    watch: Callable[[Sequence[Directory]], AbstractContextManager[Any]]
    cluster: Cluster | None = None


@dataclass(frozen=True)
class Item:
    """A table or a figure."""

    name: str
    title: str
    compute: Callable[[Setting, str], Result]  # of the setting and the item's name


@dataclass(frozen=True)
class Paper:
    """A paper and its items."""

    name: str
    citation: str
    items: tuple[Item, ...]

    def chosen(self, names: list[str] | None) -> list[Item]:
        """Returns the items of some names, or all.

        Raises:
            ConfigError: If there is no such item.
        """
        known = {item.name: item for item in self.items}
        for name in names or ():
            if name not in known:
                raise ConfigError(f"{self.name} has no item {name!r}: give one of {', '.join(known)}.")
        return [known[name] for name in names] if names else list(self.items)


def run_figure(setting: Setting, figure: str, comparisons: Mapping[str, Comparison]) -> tuple[list[Curve], list[Path]]:
    """Runs what is not recorded yet of a figure's comparisons; returns all curves, and the files of the picture.

    Args:
        figure: Its name; the comparisons are recorded in ``FIGURE-runs/LABEL``.

    Raises:
        ConfigError: If matplotlib is missing: before anything is run.
        RecordError: If a run failed, or a directory holds something else.
    """
    require_library("matplotlib")
    folder = setting.folder / f"{figure}-runs"
    folder.mkdir(exist_ok=True)
    problems = []
    with contextlib.ExitStack() as stack:
        directories = [
            stack.enter_context(Directory(folder / label, comparison)) for label, comparison in comparisons.items()
        ]
        view = stack.enter_context(setting.watch(directories))
        for event in run_all(directories, setting.about, setting.processes, setting.cluster):
            view.show(event)
            if event.failure is not None:
                problems.append(event.failure)
    if problems:
        raise RecordError(f"{len(problems)} runs of {figure} failed, such as: {problems[0]}")
    curves = [curve for directory in directories for curve in curves_of(directory.path)[1]]
    return curves, [setting.folder / f"{figure}.{ending}" for ending in ("png", "svg")]


def record_figure(
    setting: Setting, figure: str, comparisons: Mapping[str, Comparison]
) -> tuple[list[Curve], list[Path]]:
    """Does what `run_figure` does, and writes the curves to ``FIGURE.jsonl``; they are as read from there."""
    curves, pictures = run_figure(setting, figure, comparisons)
    record = setting.folder / f"{figure}.jsonl"
    write_curves(record, curves)
    return read_curves(record), pictures


def recorded(setting: Setting, figures: Sequence[str]) -> dict[str, list[Curve]]:
    """Returns the curves of figures that were computed before, by figure.

    Raises:
        RecordError: If one has no record.
    """
    return {figure: read_curves(setting.folder / f"{figure}.jsonl") for figure in figures}


def write_result(paper: Paper, item: Item, setting: Setting, result: Result) -> Path:
    """Writes a result as a page of Markdown beside its pictures, and returns its path.

    Raises:
        RecordError: If it cannot be written.
    """
    scale = f", scale {setting.scale}" if result.pictures else ""  # other items run nothing that has a scale
    lines = [f"# {paper.citation}: {item.title}", "", f"`{setting.about['command']}`{scale}.", ""]
    lines += [f"![{item.title}]({picture.name})" for picture in result.pictures if picture.suffix == ".png"]
    lines += ["", "| | paper | here | verdict |", "|---|---|---|---|"]
    lines += [f"| {row.what} | {row.paper} | {row.here} | {row.verdict} |" for row in result.rows]
    if result.details:
        lines += ["", *result.details]
    lines += ["", *(f"* {note}" for note in result.notes), ""]
    machine = setting.about["machine"]
    lines.append(f"Measured on {machine['processor']}, {machine['cores']} cores, {setting.about['started']}.")
    path = setting.folder / f"{item.name}.md"
    write_page(path, "\n".join(lines) + "\n")
    return path
