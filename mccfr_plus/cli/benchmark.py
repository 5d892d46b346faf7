"""`mccfr-plus benchmark`: speed beside OpenSpiel's C++ solvers."""

import sys
from typing import Any

from absl import flags

from mccfr_plus.cli import output
from mccfr_plus.cli.command import GAME_NOTE, Command, define, names, positive, whole
from mccfr_plus.errors import GameError
from mccfr_plus.experiments import benchmark

_UNIT = "iterations per second"


class BenchmarkCommand(Command):
    """Prints how many times as fast as OpenSpiel's solvers ours are."""

    name = "benchmark"
    summary = "Compare speed with OpenSpiel's C++ solvers."
    notes = f"""{GAME_NOTE}
Both sides run in one process, on one thread, in turn. The ratio is the median over rounds of ours / OpenSpiel's in
neighbouring measurements; lowest and highest show how quiet the machine was.

algorithms, ours and OpenSpiel's
  external         external + rm     ExternalSamplingMCCFRSolver.run_iteration
  outcome          outcome + rm      OutcomeSamplingMCCFRSolver.run_iteration
  cfr              full + rm         CFRSolver.evaluate_and_update_policy
  cfr+             full + rm+        CFRPlusSolver.evaluate_and_update_policy
  exploitability   Solver.exploitability of the average policy; pyspiel.exploitability (pyspiel.nash_conv, which is
                   the same work, where the game is not two-player constant-sum); evaluations per second
"""

    def define_flags(self, values: flags.FlagValues) -> None:
        define(values, "games", names("GAME,..."), "Games, separated by commas.", list(benchmark.GAMES))
        algorithms = list(benchmark.ALGORITHMS)
        meaning = "Algorithms, separated by commas."
        define(values, "algorithms", names("NAME,...", *algorithms), meaning, algorithms)
        define(values, "rounds", whole(1, 10_000), "How often each side is measured.", 5)
        define(values, "seconds", positive("SECONDS"), "About how long a measurement takes.", 0.5)
        keys = (
            "unit, and rows: a list with game, algorithm, ours, openspiel (both in the unit), ratio, ratio_min, "
            "ratio_max, rounds; failed: a list of texts"
        )
        output.define_json(values, keys)

    def run(self, arguments: list[str], values: Any) -> None:
        rows, failed, table = [], [], [["ratio", "lowest", "highest", "ours", "OpenSpiel", "algorithm", "game"]]
        found = benchmark.compare(values.games, values.algorithms, rounds=values.rounds, seconds=values.seconds)
        output.show_notes()
        for row in found:
            if isinstance(row, benchmark.Failure):
                failed.append(f"{row.game} {row.algorithm}: {row.why}")
                print(failed[-1], file=sys.stderr)
                continue
            rows.append(row._asdict())
            ratios = [_ratio(ratio) for ratio in (row.ratio, row.ratio_min, row.ratio_max)]
            table.append([*ratios, output.rate(row.ours), output.rate(row.openspiel), row.algorithm, row.game])
            print(f"{row.game} {row.algorithm}: {ratios[0]}", file=sys.stderr)
        output.print_table(table, texts=(5, 6))
        print(f"\nratio: ours / OpenSpiel, median of {values.rounds} rounds; rates in {_UNIT}")
        if values.json:
            output.print_json({"unit": _UNIT, "rows": rows, "failed": failed})
        if failed:
            more = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
            raise GameError(f"{len(failed)} of {len(rows) + len(failed)} measurements failed: {failed[0]}{more}")


def _ratio(value: float) -> str:
    return f"{value:.0f}x" if value >= 10 else f"{value:.2g}x"
