"""A table or a figure of a paper: how it is computed, and how its outcome is written down."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from mccfr_plus.cluster.cluster import Cluster
from mccfr_plus.errors import ConfigError
from mccfr_plus.experiments.comparison import Directory
from mccfr_plus.experiments.page import write_page
from mccfr_plus.experiments.workers import News

SCALES = ("small", "paper")


@dataclass(frozen=True)
class Row:
    """One printed value beside the one found here."""

    what: str
    paper: str
    here: str
    verdict: str


@dataclass(frozen=True)
class Result:
    """What an item has come to."""

    rows: list[Row]
    notes: list[str] = field(default_factory=list)
    pictures: list[Path] = field(default_factory=list)


class Shows(Protocol):
    """Something that shows runs, such as the command line's progress bars."""

    def show(self, news: News) -> None:
        """Shows what has happened to a run."""


@dataclass(frozen=True)
class Setting:
    """How an item is to be computed.

    Attributes:
        scale: One of `SCALES`.
        folder: Where its records and pictures go; it is there.
        about: For records; see `about_here`.
        processes: Runs at a time; None: one per core.
        watch: Given comparisons, returns what shows them while they run.
        cluster: Where comparisons are run, entered; None: here.
    """

    scale: str
    folder: Path
    about: dict[str, Any]
    processes: int | None
    watch: Callable[[Sequence[Directory]], AbstractContextManager[Shows]]
    cluster: Cluster | None = None


@dataclass(frozen=True)
class Item:
    """A table or a figure."""

    name: str
    title: str
    compute: Callable[[Setting], Result]


@dataclass(frozen=True)
class Paper:
    """A paper and what of it can be computed."""

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


def write_result(paper: Paper, item: Item, setting: Setting, result: Result) -> Path:
    """Writes a result as a page of Markdown beside its pictures, and returns its path.

    Raises:
        RecordError: If it cannot be written.
    """
    lines = [f"# {paper.citation}: {item.title}", "", f"`{setting.about['command']}`, scale {setting.scale}.", ""]
    lines += [f"![{item.title}]({picture.name})" for picture in result.pictures if picture.suffix == ".png"]
    lines += ["", "| | paper | here | verdict |", "|---|---|---|---|"]
    lines += [f"| {row.what} | {row.paper} | {row.here} | {row.verdict} |" for row in result.rows]
    lines += ["", *(f"* {note}" for note in result.notes), ""]
    machine = setting.about["machine"]
    lines.append(f"Measured on {machine['processor']}, {machine['cores']} cores, {setting.about['started']}.")
    path = setting.folder / f"{item.name}.md"
    write_page(path, "\n".join(lines) + "\n")
    return path
