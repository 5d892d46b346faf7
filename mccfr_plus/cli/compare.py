"""`mccfr-plus compare`: games x algorithms x seeds over the cores of this machine or of a cluster; what they reach."""

import argparse
import contextlib
import itertools
import operator
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self

from tqdm.auto import tqdm

from mccfr_plus.cli import output
from mccfr_plus.cli.arguments import PROGRAM, UsageError, add_json, add_quiet, positive, specs, text, whole
from mccfr_plus.cli.cluster import LOCAL
from mccfr_plus.display import AXES, require_library
from mccfr_plus.errors import ConfigError, RecordError
from mccfr_plus.experiments.comparison import Comparison, Directory, about_here
from mccfr_plus.experiments.curves import Curve, curves_of, final_rows
from mccfr_plus.experiments.evaluation_points import limit_of
from mccfr_plus.experiments.plot import plot_curves
from mccfr_plus.experiments.report import write_report
from mccfr_plus.experiments.run_all import STOPPED, RunEvent, in_order, run_all
from mccfr_plus.user_modules import imported_modules

_DEFAULT_ALGORITHMS = ("external", "outcome", "cfr+")
_BAR = "{percentage:3.0f}%|{bar}| {n:.1f} of {total_fmt} runs, {elapsed} gone, {remaining} left"


SUMMARY = "Run algorithms side by side, over seeds, and draw what they reach."

_NOTES = """
Every run's record is a file of JSON lines in DIR/runs, written as it is measured. Give the same command again to go on
where a comparison was killed or stopped (Ctrl-C): nothing that was recorded is repeated.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _NOTES
    add = parser.add_argument
    add("games", metavar="GAME", nargs="+", type=text, help="Games of OpenSpiel or of this package.")
    algorithms = list(_DEFAULT_ALGORITHMS)
    add("--algorithms", metavar="SPEC,...", type=specs, default=algorithms, help="Separated by commas.")
    add("--seeds", metavar="N", type=whole(1, 10_000), default=5, help="Number of runs of each: seeds 1 to N.")
    add("--nodes", metavar="N", type=whole(), help="Length of a run in histories touched, such as 1e7.")
    add("--iterations", metavar="N", type=whole(), help="Length of a run in iterations.")
    add("--seconds", metavar="SECONDS", type=positive, help="Length of a run in seconds.")
    add("--num_evaluations", metavar="N", type=whole(1, 10_000), help="Evaluations of a run.")
    add("--out", metavar="DIR", type=text, required=True, help="Directory of records and pictures.")
    add("--processes", metavar="N", type=whole(1, 10_000), help="Runs at a time. Default: one per core.")
    add("--cluster", metavar="ADDRESS", type=text, default=LOCAL, help="ray, ray://HOST:PORT, HOST:PORT or local.")
    add_json(parser)
    add_quiet(parser)


def run(values: argparse.Namespace) -> None:
    if values.cluster != LOCAL and values.processes is not None:
        raise UsageError(f"--processes={values.processes} is for --cluster={LOCAL}: leave it out.")
    comparison = Comparison(
        tuple(values.games),
        tuple(values.algorithms),
        tuple(range(1, values.seeds + 1)),
        limit_of(nodes=values.nodes, iterations=values.iterations, seconds=values.seconds),
        values.num_evaluations,
    )
    directory = Directory(values.out, comparison)
    output.show_notes()
    about = about_here(shlex.join([PROGRAM, *sys.argv[1:]]))
    failures: dict[int, str] = {}
    with (
        telling_what_is_kept(values.quiet),
        contextlib.ExitStack() as stack,
        directory,
        View([directory], quiet=values.quiet) as view,
    ):
        cluster = None
        if values.cluster != LOCAL:
            from mccfr_plus.cluster.cluster import Cluster

            cluster = stack.enter_context(Cluster(values.cluster, imports=imported_modules()))
            for game in comparison.games:
                cluster.check_game(game)
        for event in run_all([directory], about, values.processes, cluster):
            view.show(event)
            if event.failure is not None:
                failures[event.number] = f"{view.names[event.number]}: {event.failure}"
    failed = [text for _, text in sorted(failures.items())]
    _, curves = curves_of(values.out)
    pictures = _draw(comparison, curves, directory.path, values.quiet)
    rows = final_rows(curves)
    _print_table(rows)
    if values.json:
        output.print_json({"out": values.out, "rows": rows, "failed": failed, "pictures": pictures})
    if failed:
        more = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
        raise RecordError(f"{len(failed)} of {len(directory.runs())} runs failed: {failed[0]}{more}")


@contextlib.contextmanager
def telling_what_is_kept(quiet: bool) -> Iterator[None]:
    """Prints to standard error how to go on after Ctrl-C."""
    try:
        yield
    except KeyboardInterrupt:
        if not quiet:
            print("stopped: what was recorded is kept, and the same command goes on from there", file=sys.stderr)
        raise


def _draw(comparison: Comparison, curves: list[Curve], path: Path, quiet: bool) -> list[str]:
    """Writes a picture per unit and the report; returns their names. It says which library is missing, if one is."""
    try:
        for library in ("matplotlib", "bokeh"):
            require_library(library)
    except ConfigError as error:
        if not quiet:
            print(f"{PROGRAM}: {error}", file=sys.stderr)
        return []
    if not curves:
        return []
    names = []
    for unit in AXES:
        files = [path / f"exploitability-{unit}.{ending}" for ending in ("png", "svg")]
        plot_curves(curves, files, unit=unit, algorithms=comparison.algorithms, source=f"Records: {path}/runs.")
        names += [str(file) for file in files]
    return [*names, str(write_report(path))]


def _print_table(rows: list[dict[str, Any]]) -> None:
    table = [["algorithm", "seeds", "nodes", "iterations", "seconds", "exploitability", "5 %", "95 %"]]
    for game, of_game in itertools.groupby(rows, key=operator.itemgetter("game")):
        table.append([game])
        for row in of_game:
            numbers = [output.short(row["nodes"]), output.short(row["iterations"]), output.number(row["seconds"], 3)]
            spread = [output.number(row[name], 4) for name in ("exploitability", "low", "high")]
            table.append([f"  {row['algorithm']}", str(row["seeds"]), *numbers, *spread])
    output.print_table(table)


class View:
    """A progress bar on a terminal, and a line for each run that has ended.

    Attributes:
        names: What runs are called.
    """

    def __init__(self, directories: Sequence[Directory], *, quiet: bool):
        self.names = [f"{run.game}  {run.algorithm}  seed {run.seed}" for run in in_order(directories)]
        self._progress, self._num_ended, self._quiet = [0.0] * len(self.names), 0, quiet
        disable = quiet or not sys.stderr.isatty()
        self._bar = tqdm(total=len(self.names), bar_format=_BAR, leave=False, disable=disable)

    def show(self, event: RunEvent) -> None:
        """Shows what has happened."""
        self._progress[event.number] = 0.0 if event.outcome == STOPPED else event.progress
        if event.outcome is not None:
            self._num_ended += 1
            if not self._quiet:
                what = f"failed: {event.failure}" if event.failure else event.outcome
                name = self.names[event.number]
                tqdm.write(f"{self._num_ended}/{len(self.names)}  {name}  {what}", file=sys.stderr)
        self._bar.n = sum(self._progress)
        self._bar.refresh()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()
