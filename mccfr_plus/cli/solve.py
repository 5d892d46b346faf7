"""`mccfr-plus solve`: runs a solver on a game, shows how it gets on, and writes its average policy."""

from __future__ import annotations

import secrets
import sys
from typing import Any

from absl import flags

from mccfr_plus.cli import output, trees
from mccfr_plus.cli.choice import Specs, choose
from mccfr_plus.cli.command import Command
from mccfr_plus.cli.flag_kinds import Count, Positive, Text, define_switch
from mccfr_plus.cli.live import Watch
from mccfr_plus.evaluation import expected_values
from mccfr_plus.policy_file import check_writable, save_policy
from mccfr_plus.solver import Solver

_DEFAULT_SECONDS = 10.0


class SolveCommand(Command):
    """Solves a game."""

    name = "solve"
    summary = "Compute an approximate equilibrium of a game."
    positionals = ("GAME",)
    notes = (
        trees.GAME_NOTE
        + """
A solver is an estimator, a minimizer and an average; any three go together. Parameters go in parentheses:
--estimator="outcome(epsilon=0.3)", --averaging="power(gamma=1.5)".

estimators: what part of the tree an iteration visits
  full       all of it; exact, a full traversal per player (CFR)
  chance     one outcome at each chance node, everything else
  opponent   one action at each node of the others, everything else
  external   one outcome or action at chance's and the others' nodes, all own actions (MCCFR)
  outcome    one single play; parameter epsilon, its exploration
minimizers: how regrets become the next strategy
  rm         regret matching (CFR)
  rm+        regrets cut at 0 (CFR+)
  linear     iteration t weighs t (linear CFR)
  dcfr       discounted regrets; parameters alpha, beta (DCFR)
  prm, prm+  predictive regret matching (PCFR, PCFR+)
averages: how much iteration t counts in the result; parameter exact=True: over all information sets each time
  uniform    1
  linear     t
  power      t^gamma; parameter gamma
  The default is the one of the minimizer's paper: linear for rm+ and linear, power for dcfr and prm+, else uniform.

The run ends at the first limit reached; without --iterations, --seconds and --until it takes ten seconds. Ctrl-C ends
it early and still prints and writes the result so far.

exploitability is the sum over players of what a best response would gain, divided by the number of players, in the
game's payoffs: 0 at a Nash equilibrium. Nodes touched counts histories visited; a full iteration visits all, once per
player. Seconds and iterations/s are of the run alone, without compiling and without evaluations for the display.
"""
    )

    def define_flags(self, values: flags.FlagValues) -> None:
        def text(name: str, metavar: str, meaning: str) -> None:
            flags.DEFINE(Text(metavar), name, None, meaning, values)

        text("estimator", "NAME", "full, chance, opponent, external or outcome. Default: chosen for the game.")
        text("minimizer", "NAME", "rm, rm+, linear, dcfr, prm or prm+. Default: prm+ with full, else rm.")
        text("averaging", "NAME", "uniform, linear or power. Default: the one that goes with the minimizer.")
        one_by_one = "Update the players one after the other, or all at the end of an iteration."
        define_switch(values, "alternating", True, one_by_one)
        flags.DEFINE(Count(), "iterations", None, "How many iterations to run, such as 5000 or 1e6.", values)
        flags.DEFINE(Positive("SECONDS"), "seconds", None, "How long to run.", values)
        flags.DEFINE(Positive("EXPLOITABILITY"), "until", None, "Run until the exploitability is this small.", values)
        flags.DEFINE(Count(0), "seed", None, "Makes a run repeatable. Default: drawn, and printed.", values)
        text("policy_out", "FILE", "Write the average policy there, as .npz.")
        trees.define_budget(values)
        keys = (
            "game, estimator, minimizer, averaging, alternating, seed, iterations, nodes_touched, seconds, "
            "iterations_per_second, values (list per player), nash_conv, exploitability (null with imperfect recall), "
            "interrupted, policy_out"
        )
        output.define_json(values, keys)
        define_switch(values, "quiet", False, "No progress and no notes on standard error, only warnings.")

    def run(self, arguments: list[str], values: Any) -> None:
        (game,) = arguments
        specs = Specs(values.estimator, values.minimizer, values.averaging)
        specs.check()
        if values.policy_out is not None:
            check_writable(values.policy_out)
        tree = trees.compile_within_budget(game, values, quiet=values.quiet)
        if values.until is not None:
            tree.require_perfect_recall("an exploitability")
        choice = choose(tree, specs)
        seed = secrets.randbits(32) if values.seed is None else values.seed
        names = choice.names(specs)
        solver = Solver(tree, *choice[:3], alternating=values.alternating, seed=seed)
        if not values.quiet and choice.reason:
            listed = ", ".join(f"{part}={name}" for part, name in names.items())
            print(f"solving with {listed}: {choice.reason}", file=sys.stderr)
        if tree.perfect_recall:
            solver.evaluate()  # compiles what evaluations need, before the clock starts
        seconds, interrupted = _run(solver, values)
        if values.policy_out is not None:
            save_policy(solver.average_policy(), values.policy_out)
        result = {
            "game": game,
            **names,
            "alternating": solver.alternating,
            "seed": seed,
            "iterations": solver.iterations,
            "nodes_touched": solver.nodes_touched,
            "seconds": seconds,
            "iterations_per_second": solver.iterations / seconds,
            **_quality(solver),
            "interrupted": interrupted,
            "policy_out": values.policy_out,
        }
        _print_table(solver, result)
        if values.json:
            output.print_json(result)


def _run(solver: Solver, values: Any) -> tuple[float, bool]:
    """Returns how many seconds the run took and whether Ctrl-C ended it; without a single iteration that goes on."""
    watch = Watch(values.quiet)
    seconds, interrupted = values.seconds, False
    if seconds is None and values.iterations is None and values.until is None:
        seconds = _DEFAULT_SECONDS
    try:
        solver.run(values.iterations, seconds=seconds, until=values.until, callback=watch)
    except KeyboardInterrupt:
        if not solver.iterations:
            raise
        interrupted = True
    return watch.stop(), interrupted


def _quality(solver: Solver) -> dict[str, Any]:
    """Returns the values, NashConv and exploitability of the average policy; None for what cannot be computed."""
    if not solver.tree.perfect_recall:
        values = expected_values(solver.tree, solver.average_policy())
        return {"values": values.tolist(), "nash_conv": None, "exploitability": None}
    found = solver.evaluate()
    return {
        "values": found.values.tolist(),
        "nash_conv": found.nash_conv,
        "exploitability": found.exploitability,
    }


def _print_table(solver: Solver, result: dict[str, Any]) -> None:
    unit = "in the game's payoffs"
    gamma = solver.averaging.gamma
    average = f"{result['averaging']} average" + (f" (t^{gamma:g})" if gamma else "")
    order = "alternating updates" if solver.alternating else "simultaneous updates"
    rows = [
        ["game", result["game"]],
        ["parts", f"{result['estimator']} + {result['minimizer']}, {average}, {order}"],
        ["seed", str(result["seed"])],
        ["iterations", output.count(result["iterations"]) + (" (interrupted)" if result["interrupted"] else "")],
        ["nodes touched", output.count(result["nodes_touched"])],
        ["seconds", output.number(result["seconds"], 4)],
        ["iterations/s", output.rate(result["iterations_per_second"])],
        *([f"value of player {i}", output.number(v)] for i, v in enumerate(result["values"])),
        ["nash_conv", f"{output.number(result['nash_conv'])} {unit}"],
        ["exploitability", f"{output.number(result['exploitability'])} {unit}"],
    ]
    if not solver.tree.perfect_recall:
        rows[-2:] = [["nash_conv", "n/a (imperfect recall)"], ["exploitability", "n/a (imperfect recall)"]]
    if result["policy_out"] is not None:
        rows.append(["policy", result["policy_out"]])
    output.print_table(rows, texts=(0, 1))
