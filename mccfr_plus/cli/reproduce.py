"""`mccfr-plus reproduce`: a paper's tables and figures, computed anew."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from absl import flags

from mccfr_plus.cli import output
from mccfr_plus.cli.cluster import chosen_cluster, define_for_runs, imports_of
from mccfr_plus.cli.command import Command, define, names, one_of, text, whole
from mccfr_plus.cli.compare import View
from mccfr_plus.cluster.cluster import Cluster
from mccfr_plus.errors import ConfigError
from mccfr_plus.experiments.comparison import about_here
from mccfr_plus.experiments.papers import PAPERS
from mccfr_plus.experiments.papers.item import SCALES, Item, Paper, Setting, write_result
from mccfr_plus.experiments.record import record_errors


class ReproduceCommand(Command):
    """Computes the tables and figures of a paper."""

    name = "reproduce"
    summary = "Compute a paper's tables and figures anew, beside what it printed."
    positionals = ("PAPER",)
    notes = "papers and their items\n" + "\n".join(
        f"  {paper.name:<14}{paper.citation}\n" + "\n".join(f"    {item.name:<12}{item.title}" for item in paper.items)
        for paper in PAPERS.values()
    )

    def define_flags(self, values: flags.FlagValues) -> None:
        define(values, "item", names("ITEM,..."), "Which tables and figures. Default: all.")
        meaning = "small: minutes on two cores, with smaller games; paper: the paper's sizes, hours and 10 GB."
        define(values, "scale", one_of(*SCALES), meaning, "small")
        define(values, "out", text("DIR"), "Directory of the results. Default: PAPER-SCALE.")
        define(values, "processes", whole(), "Runs at a time. Default: one per core.")
        define_for_runs(values, with_imports=False)
        output.define_json(values, "out, and items: an object of lists of rows (what, paper, here, verdict)")
        output.define_quiet(values)

    def run(self, arguments: list[str], values: Any) -> None:
        (name,) = arguments
        if name not in PAPERS:
            raise ConfigError(f"{name!r} is no paper that can be reproduced: give one of {', '.join(PAPERS)}.")
        paper = PAPERS[name]
        items = paper.chosen(values.item)
        imports_of(values)
        folder = Path(values.out or f"{name}-{values.scale}")
        with record_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
        output.show_notes()
        with chosen_cluster(values) as cluster:
            found = self._compute(paper, items, folder, values, cluster)
        if values.json:
            output.print_json({"out": str(folder), "items": found})

    def _compute(
        self, paper: Paper, items: list[Item], folder: Path, values: Any, cluster: Cluster | None
    ) -> dict[str, list[dict[str, Any]]]:
        """Computes items one after another, and prints and writes what has come of each; returns their rows."""
        about = about_here(self.line)
        found = {}
        for item in items:
            setting = Setting(
                values.scale,
                folder,
                about,
                values.processes,
                lambda directories: View(directories, quiet=values.quiet),
                cluster,
            )
            if not values.quiet:
                print(f"{paper.name} {item.name}: {item.title}", file=sys.stderr)
            try:
                result = item.compute(setting)
            except KeyboardInterrupt:
                if not values.quiet:
                    print(
                        "stopped: what was recorded is kept, and the same command goes on from there", file=sys.stderr
                    )
                raise
            page = write_result(paper, item, setting, result)
            print(f"{paper.citation}, {item.title}")
            rows = [[row.what, row.paper, row.here, row.verdict] for row in result.rows]
            output.print_table([["", "paper", "here", "verdict"], *rows], texts=(0, 3))
            for note in result.notes:
                print(f"* {note}")
            print(f"written to {page}\n")
            found[item.name] = [row.__dict__ for row in result.rows]
        return found
