"""`mccfr-plus reproduce`: a paper's tables and figures, computed anew."""

import functools
import sys
from pathlib import Path
from typing import Any

from absl import flags

from mccfr_plus.cli import output
from mccfr_plus.cli.cluster import check_processes, chosen_cluster, define_for_runs
from mccfr_plus.cli.command import Command, define, names, one_of, text
from mccfr_plus.cli.compare import View, telling_what_is_kept
from mccfr_plus.errors import ConfigError
from mccfr_plus.experiments.comparison import about_here
from mccfr_plus.experiments.papers import PAPERS
from mccfr_plus.experiments.papers.item import SCALES, Setting, write_result
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
        meaning = (
            "small: minutes on two cores, up to 5 GB; paper: longer runs and more seeds, hours and 10 GB. Pages say "
            "which games, histories and seeds were run, and which the paper has."
        )
        define(values, "scale", one_of(*SCALES), meaning, "small")
        define(values, "out", text("DIR"), "Directory of the results. Default: PAPER-SCALE.")
        define_for_runs(values)
        output.define_json(values, "out, and items: an object of lists of rows (what, paper, here, verdict)")
        output.define_quiet(values)

    def run(self, arguments: list[str], values: Any) -> None:
        (name,) = arguments
        if name not in PAPERS:
            raise ConfigError(f"{name!r} is no paper that can be reproduced: give one of {', '.join(PAPERS)}.")
        paper = PAPERS[name]
        items = paper.chosen(values.item)
        check_processes(values)
        folder = Path(values.out or f"{name}-{values.scale}")
        with record_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
        output.show_notes()
        found = {}
        with chosen_cluster(values) as cluster, telling_what_is_kept(values.quiet):
            about = about_here(self.line)
            view = functools.partial(View, quiet=values.quiet)
            setting = Setting(values.scale, folder, about, values.processes, view, cluster)
            for item in items:
                if not values.quiet:
                    print(f"{paper.name} {item.name}: {item.title}", file=sys.stderr)
                result = item.compute(setting, item.name)
                page = write_result(paper, item, setting, result)
                print(f"{paper.citation}, {item.title}")
                rows = [[row.what, row.paper, row.here, row.verdict] for row in result.rows]
                output.print_table([["", "paper", "here", "verdict"], *rows], texts=(0, 3))
                for note in result.notes:
                    print(f"* {note}")
                print(f"written to {page}\n")
                found[item.name] = [row.__dict__ for row in result.rows]
        if values.json:
            output.print_json({"out": str(folder), "items": found})
