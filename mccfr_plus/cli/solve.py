"""`mccfr-plus solve`: runs a solver on a game, shows how it gets on, and writes its average policy."""

from __future__ import annotations

import contextlib
import secrets
import sys
from collections.abc import Iterator
from typing import Any

from absl import flags

from mccfr_plus.checkpoints.atomic_write import require_writable
from mccfr_plus.checkpoints.lock import CheckpointLock
from mccfr_plus.cli import algorithms, checkpoint_flags, output, solve_cluster, trees
from mccfr_plus.cli import lazy_tree_flags as growth_flags
from mccfr_plus.cli.bounds_table import bounds_of, print_bounds
from mccfr_plus.cli.choice import Choice, Specs, choose, choose_for_growth
from mccfr_plus.cli.command import Command
from mccfr_plus.cli.flag_kinds import Count, Fraction, Positive, Text, define_switch
from mccfr_plus.cli.limited_run import run_to_limits
from mccfr_plus.cli.live import Watch
from mccfr_plus.cli.quality import quality_of, quality_rows
from mccfr_plus.cli.solve_neural import settings_note, solve_neural
from mccfr_plus.cli.solve_notes import NOTES
from mccfr_plus.errors import ConfigError, PolicyFileError
from mccfr_plus.estimators import Baseline
from mccfr_plus.policies.files import save_policy
from mccfr_plus.solver import registry as parts
from mccfr_plus.solver.solver import Solver
from mccfr_plus.tree.game_tree import GameTree


class SolveCommand(Command):
    """Solves a game."""

    name = "solve"
    summary = "Compute an approximate equilibrium of a game."
    positionals = ("GAME",)
    notes = trees.GAME_NOTE + NOTES

    def define_flags(self, values: flags.FlagValues) -> None:
        def text(name: str, metavar: str, meaning: str) -> None:
            flags.DEFINE(Text(metavar), name, None, meaning, values)

        algorithms.define(values)
        text("estimator", "NAME", f"{', '.join(parts.ESTIMATORS)}. Default: chosen for the game.")
        text("minimizer", "NAME", f"{', '.join(parts.MINIMIZERS)}. Default: prm+ with full, else rm.")
        text("averaging", "NAME", f"{', '.join(parts.AVERAGES)}. Default: the one that goes with the minimizer.")
        flags.DEFINE(Count(), "batch", 1, "How many traversals make one gradient.", values)
        define_switch(values, "baseline", False, "Reduce the variance of sampled gradients by baselines.")
        flags.DEFINE(
            Positive("RATE"), "baseline_rate", None, "Weight of the newest value in a baseline, at most 1.", values
        )
        one_by_one = (
            "Update the players one after the other, or all at the end. Default: one after the other, if possible."
        )
        define_switch(values, "alternating", None, one_by_one)
        flags.DEFINE(Count(), "iterations", None, "How many iterations to run, such as 5000 or 1e6.", values)
        flags.DEFINE(Positive("SECONDS"), "seconds", None, "How long to run.", values)
        flags.DEFINE(
            Positive("EXPLOITABILITY"),
            "target_exploitability",
            None,
            "Run until the exploitability is this small.",
            values,
        )
        flags.DEFINE(Count(0), "seed", None, "Makes a run repeatable. Default: drawn, and printed.", values)
        checkpoint_flags.define(values)
        growth_flags.define(values)
        solve_cluster.define(values)
        text("policy_out", "FILE", "Write the average policy there, as .npz.")
        promise = "Also print what theory promises about regret, beside what was measured."
        define_switch(values, "bounds", False, promise)
        meaning = "Probability with which the bounds of --bounds hold, all together."
        flags.DEFINE(Fraction(), "confidence", 0.95, meaning, values)
        growth_flags.define_budget(values)
        keys = (
            "game, algorithm, estimator, minimizer, averaging, alternating, batch, baseline_rate (null without "
            "baselines), seed, iterations, nodes_touched, seconds, iterations_per_second, values (list per player), "
            "nash_conv, exploitability (null with imperfect recall, and where the tree is_lazy), exploitability_bound "
            "(null, or where the tree is_lazy: value, low, high, kind, confidence, samples, seconds), tree, "
            "information_sets, nodes (kept), threads, thread_mode, cluster, workers, num_batches (null without "
            "--cluster), stopped (null, or why the run ended early), "
            "interrupted, policy_out, checkpoint, bounds (null without --bounds, else: confidence, regret and theorem "
            "(lists per player, null where none is known), sum, slack, measured (null where NashConv does not measure "
            "it), reason); with networks the like, without what is about tables, and: settings, losses (list per "
            "player)"
        )
        output.define_json(values, keys)
        define_switch(values, "quiet", False, "No progress and no notes on standard error, only warnings.")

    def run(self, arguments: list[str], values: Any) -> None:
        (game,) = arguments
        if values.policy_out is not None:
            require_writable(values.policy_out, PolicyFileError)
        claim = checkpoint_flags.claim_of(values)
        with claim or contextlib.nullcontext():
            algorithm = algorithms.algorithm_of(values, claim)
            solve_cluster.check(values)
            is_tabular = algorithm == algorithms.TABULAR
            if is_tabular:
                solve_cluster.check_tabular(values)
            with solve_cluster.connected(values) as cluster:
                if is_tabular:
                    self._solve(game, values, claim, cluster)
                else:
                    solve_neural(game, algorithm, values, claim, cluster)

    def more_help(self) -> str:
        return settings_note()

    def _solve(self, game: str, values: Any, claim: CheckpointLock | None, cluster: Any) -> None:
        specs = Specs(values.estimator, values.minimizer, values.averaging)
        baseline = _baseline(values)
        specs.check(baseline, values.batch, values.alternating, values.threads, values.thread_mode)
        options = growth_flags.options_of(values)
        if cluster is not None:
            specs = specs._replace(estimator=specs.estimator or solve_cluster.ESTIMATOR)
            options = options._replace(kind="compiled")
        resumed = checkpoint_flags.header_to_resume(claim, game, values, baseline) if claim and values.resume else None
        if resumed:
            specs = checkpoint_flags.specs_of(resumed)
            options = options._replace(kind="compiled" if resumed["sizes"] is None else "lazy")
        tree = growth_flags.compiled_if_it_fits(game, options, specs, values.quiet)
        if tree is not None and values.target_exploitability is not None:
            tree.require_perfect_recall("an exploitability")
        if tree is None and values.bounds:
            raise ConfigError(
                f"--bounds needs the whole tree, and that of {game} is_lazy: leave it out, or give --tree=compiled."
            )
        choice = choose(tree, specs) if tree else choose_for_growth(game, specs)
        names = choice.names(specs)
        with _solver(game, values, claim, bool(resumed), tree, choice, baseline, cluster) as solver:
            self._run(game, solver, values, claim, names, choice.reason)

    def _run(
        self,
        game: str,
        solver: Solver,
        values: Any,
        claim: CheckpointLock | None,
        names: dict[str, str],
        reason: str | None,
    ) -> None:
        output.show_notes()
        if not values.quiet and reason:
            listed = ", ".join(f"{part}={name}" for part, name in names.items())
            print(f"solving with {listed}: {reason}", file=sys.stderr)
        if not solver.tree.is_lazy and solver.tree.perfect_recall:
            solver.evaluate()  # compiles what evaluations need, before the clock starts
        seconds, interrupted, failure = run_to_limits(solver, values, claim, Watch(values.quiet))
        if values.policy_out is not None:
            save_policy(solver.average_policy(), values.policy_out)
        result = {
            "game": game,
            "algorithm": algorithms.TABULAR,
            **names,
            "alternating": solver.config.alternating,
            "batch": solver.config.batch,
            "baseline_rate": solver.config.baseline and solver.config.baseline.rate,
            "seed": solver.seed,
            "iterations": solver.iterations,
            "nodes_touched": solver.nodes_touched,
            "seconds": seconds,
            "iterations_per_second": solver.iterations / seconds,
            **quality_of(solver, values),
            "tree": "lazy" if solver.tree.is_lazy else "compiled",
            "information_sets": solver.tree.num_infosets,
            "nodes": solver.tree.num_nodes,
            "threads": solver.config.threads,
            "thread_mode": solver.config.thread_mode,
            "cluster": values.cluster,
            **{name: getattr(solver, name, None) for name in ("workers", "num_batches")},
            "stopped": solver.stopped,
            "interrupted": interrupted,
            "policy_out": values.policy_out,
            "checkpoint": values.checkpoint,
        }
        result["bounds"] = bounds_of(solver, values.confidence, result["nash_conv"]) if values.bounds else None
        _print_table(solver, result)
        if values.bounds:
            print_bounds(result["bounds"])
        if values.json:
            output.print_json(result)
        if claim and interrupted and not values.quiet:
            checkpoint_flags.print_what_is_kept(claim, interrupted)
        if failure is not None:
            raise failure  # last, as the result is good without a checkpoint of it


@contextlib.contextmanager
def _solver(
    game: str,
    values: Any,
    claim: CheckpointLock | None,
    resume: bool,
    tree: GameTree | None,
    choice: Choice,
    baseline: Baseline | None,
    cluster: Any,
) -> Iterator[Solver]:
    """Yields the solver, or the one that the checkpoint is of."""
    if cluster is not None and tree is not None:
        with solve_cluster.distributed_solver(values, cluster, tree, choice, claim, resume) as distributed:
            yield distributed
    elif claim and resume:
        yield Solver.from_checkpoint(claim, tree or game, memory=values.memory)
    else:
        yield Solver(
            tree or game,
            *choice[:3],
            alternating=values.alternating,
            batch=values.batch,
            baseline=baseline,
            seed=secrets.randbits(32) if values.seed is None else values.seed,
            threads=values.threads,
            thread_mode=values.thread_mode,
            tree="compiled" if tree else "lazy",
            memory=values.memory,
            keys=values.keys,
        )


def _baseline(values: Any) -> Baseline | None:
    if values.baseline_rate is None:
        return Baseline() if values.baseline else None
    return Baseline(values.baseline_rate)


def _print_table(solver: Solver, result: dict[str, Any]) -> None:
    gamma = solver.averaging.gamma
    average = f"{result['averaging']} average" + (f" (t^{gamma:g})" if gamma else "")
    batch = f", batches of {solver.config.batch}" if solver.config.batch > 1 else ""
    baseline = f", baselines with rate {solver.config.baseline.rate:g}" if solver.config.baseline else ""
    order = "alternating updates" if solver.config.alternating else "simultaneous updates"
    threads = f", {solver.config.threads} threads ({solver.config.thread_mode})" if solver.config.threads > 1 else ""
    if result["num_batches"]:
        batch = f", {result['num_batches']} batches of {result['batch'] // result['num_batches']} traversals"
    cut = " (interrupted)" if result["interrupted"] else " (memory full)" if result["stopped"] else ""
    rows = [
        ["game", result["game"]],
        [
            "parts",
            f"{result['estimator']} + {result['minimizer']}, {average}, {order}{batch}{baseline}{threads}",
        ],
        ["seed", str(result["seed"])],
        ["iterations", output.count(result["iterations"]) + cut],
        ["nodes touched", output.count(result["nodes_touched"])],
        ["seconds", output.number(result["seconds"], 4)],
        ["iterations/s", output.rate(result["iterations_per_second"])],
    ]
    if solver.tree.is_lazy:
        kept = (
            f"{output.count(result['information_sets'])} information sets, {output.count(result['nodes'])} nodes kept"
        )
        rows.append(["lazy tree", kept])
    rows += quality_rows(solver, result)
    if result["policy_out"] is not None:
        rows.append(["policy", result["policy_out"]])
    if result["checkpoint"] is not None:
        rows.append(["checkpoint", result["checkpoint"]])
    output.print_table(rows, texts=(0, 1))
