"""`mccfr-plus compare`: runs `mccfr_plus.experiments.compare`, prints where the runs ended, and draws the curves."""

import argparse
import contextlib
import itertools
import operator
from pathlib import Path
from typing import Any

from mccfr_plus.cli import command
from mccfr_plus.cli.command import UsageError, positive, specs, text, whole
from mccfr_plus.display import AXES, require_library
from mccfr_plus.errors import ConfigError, RecordError
from mccfr_plus.experiments import Result, compare
from mccfr_plus.experiments.curves import write_figure
from mccfr_plus.experiments.report import write_report
from mccfr_plus.user_modules import imported_modules

SUMMARY = "Compare algorithms over several seeds and plot their convergence."

NOTES = """
algorithms
  external, outcome(epsilon=0.3), ...     an estimator with the minimizer rm and rm's default average
  external(minimizer=rm+, averaging=linear, batch=8)
                                          also: alternating, baseline, symmetry, threads
  cfr, cfr+, lcfr, dcfr, pcfr+            algorithms with full traversals, named as in their papers
  deep_cfr, dream(traversals=200), neural:escher, nfsp
                                          neural solvers
  openspiel:external, openspiel:cfr+ ...  OpenSpiel's C++ solvers: cfr, cfr+, external, outcome
  openspiel_python:cfr ...                OpenSpiel's Python solvers: cfr, cfr+, lcfr, dcfr, external, outcome

To resume an interrupted comparison, repeat the command. OpenSpiel's solvers do not count histories, so the count shown
is that of our corresponding solver after the same number of iterations. The columns low and high contain the 5% and
95% quantiles over the seeds, or the minimum and the maximum if there are at most three seeds.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("games", metavar="GAME", nargs="+", type=text, help="One or more games from OpenSpiel or this package.")
    algorithms, default = "Algorithms, separated by commas. Default: external,outcome,cfr+.", "external,outcome,cfr+"
    add("--algorithms", metavar="SPEC,...", type=specs, default=specs(default), help=algorithms)
    add("--seeds", metavar="N", type=whole(1, 10_000), default=5, help="Number of seeds per algorithm. Default: 5.")
    add("--nodes", metavar="N", type=whole(), help="Length of a run, as a number of histories visited, such as 1e7.")
    add("--iterations", metavar="N", type=whole(), help="Length of a run in iterations.")
    add("--seconds", metavar="SECONDS", type=positive, help="Length of a run in seconds.")
    add("--out", metavar="DIR", type=text, help="Write records, plots and a report to this directory.")
    add("--processes", metavar="N", type=whole(1, 10_000), help="Number of parallel runs. Default: one per core.")
    add("--cluster", metavar="ADDRESS", type=text, help="Run on a Ray cluster: ray, ray://HOST:PORT or HOST:PORT.")
    command.add_json(parser)
    command.add_quiet(parser)


def run(arguments: argparse.Namespace) -> None:
    if arguments.cluster is not None and arguments.processes is not None:
        raise UsageError(
            "--processes cannot be combined with --cluster, which uses all free CPUs: give only one of these options."
        )
    command.show_notes()
    try:
        with contextlib.ExitStack() as stack:
            cluster = None
            if arguments.cluster is not None:
                from mccfr_plus.cluster.cluster import Cluster

                cluster = stack.enter_context(Cluster(arguments.cluster, imports=imported_modules()))
                for game in arguments.games:
                    cluster.check_game(game)
            names = ("seeds", "nodes", "iterations", "seconds", "out", "processes")
            options: dict[str, Any] = {name: getattr(arguments, name) for name in names}
            options |= {"cluster": cluster, "progress": not arguments.quiet}
            result = compare(arguments.games, arguments.algorithms, **options)
    except KeyboardInterrupt:
        if arguments.out:
            command.note(arguments, "the records are kept; repeat the command to resume")
        raise
    files = [] if result.path is None else _write_pictures(result, result.path, arguments)
    rows = result.final_rows()
    _print_table(rows)
    failed = [f"{name}: {why}" for name, why in result.failed.items()]
    if arguments.json:
        command.print_json({"out": arguments.out, "rows": rows, "failed": failed, "pictures": files})
    if failed:
        raise RecordError(f"{len(failed)} runs failed, for example {failed[0]}")


def _write_pictures(result: Result, path: Path, arguments: argparse.Namespace) -> list[str]:
    """Writes a picture per unit and the report, and returns their names; says which library is missing, if one is."""
    try:
        for library in ("matplotlib", "bokeh"):
            require_library(library)
    except ConfigError as error:
        command.note(arguments, f"{command.PROGRAM}: {error}")
        return []
    files = []
    for unit in AXES:
        figure = result.plot(unit)
        for ending in ("png", "svg"):
            files.append(path / f"exploitability-{unit}.{ending}")
            write_figure(figure, files[-1])
    return [*map(str, files), str(write_report(result))]


def _print_table(rows: list[dict[str, Any]]) -> None:
    table = [["algorithm", "seeds", "nodes", "iterations", "seconds", "exploitability", "low", "high"]]
    for game, of_game in itertools.groupby(rows, key=operator.itemgetter("game")):
        table.append([game])
        for row in of_game:
            numbers = [command.short(row["nodes"]), command.short(row["iterations"]), command.number(row["seconds"], 3)]
            spread = [command.number(row[name], 4) for name in ("exploitability", "low", "high")]
            table.append([f"  {row['algorithm']}", str(row["seeds"]), *numbers, *spread])
    command.print_table(table)
