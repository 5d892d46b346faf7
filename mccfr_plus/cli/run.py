"""A run of `mccfr-plus solve`, tabular or neural: its limits, its log, and its result."""

import argparse
import math
import sys
from typing import Any

from mccfr_plus.cli import output
from mccfr_plus.cli.watch import Watch
from mccfr_plus.errors import BudgetError, CheckpointError, RecordError, TrainingError
from mccfr_plus.evaluation import Evaluation, evaluate, expected_values
from mccfr_plus.evaluation.by_rules import RulesEvaluator
from mccfr_plus.evaluation.expected_time import estimated_seconds, estimated_seconds_to_begin, visited_histories
from mccfr_plus.evaluation.quality import local_bound
from mccfr_plus.files.json_lines import JsonLines
from mccfr_plus.files.lock import CheckpointLock
from mccfr_plus.policies.files import save_policy
from mccfr_plus.solver.solver import Solver
from mccfr_plus.trees.by_rules.implicit_tree import ImplicitTree
from mccfr_plus.trees.sizes.infoset_estimate import estimate_infosets
from mccfr_plus.trees.sizes.size import as_text

BOUND_SECONDS = 5.0  # for a lower bound of the exploitability if it cannot be computed

_SECONDS, _CHECKPOINT_INTERVAL, _EVAL_EVERY = 10.0, 60.0, 1.0  # defaults
_SHORT_EVALUATION = 60.0  # seconds; a longer one at the end of a run must not take longer than the run
_SMALL_TREE = 300_000  # histories: a second or two through pyspiel

_ENDS_EARLY = (KeyboardInterrupt, CheckpointError, RecordError, TrainingError)


def run_and_print(
    solver: Any,
    arguments: argparse.Namespace,
    lock: CheckpointLock | None,
    about: dict[str, Any],
    heading: list[list[str]],
) -> None:
    """Runs a solver up to the limits of the command line, and prints and writes its result.

    Args:
        lock: The lock of the checkpoint, if there is one.
        about: Algorithm, components and options, for the JSON object.
        heading: The same, as rows of the table.

    Raises:
        MccfrPlusError: After the result so far, if networks diverged or a file could not be written.
    """
    tree = solver.tree
    if tree is not None and not tree.is_lazy and tree.perfect_recall:
        solver.evaluate()  # compiles what evaluations need, before the clock starts
    seconds, ended_by = _run_to_limits(solver, arguments, lock)
    interrupted, diverged = isinstance(ended_by, KeyboardInterrupt), isinstance(ended_by, TrainingError)
    if tree is None and not arguments.quiet:
        print("computing the average policy, whose networks may have to be trained", file=sys.stderr)
    if arguments.policy_out is not None:
        policy = solver.average_policy()
        policy.save(arguments.policy_out) if tree is None else save_policy(policy, arguments.policy_out)
    result = {
        "game": arguments.game,
        **about,
        "seed": solver.seed,
        "iterations": solver.iterations,
        "nodes_touched": solver.nodes_touched,
        "seconds": seconds,
        "iterations_per_second": solver.iterations / seconds if seconds else None,
        **_quality(solver, arguments, interrupted),
        "tree": tree and tree.kind,
        "information_sets": tree and tree.num_infosets,
        "nodes": tree and tree.num_nodes,
        "cluster": arguments.cluster,
        "workers": getattr(solver, "workers", None),
        "stopped": str(ended_by) if diverged else getattr(solver, "stopped", None),
        "interrupted": interrupted,
        "policy_out": arguments.policy_out,
        "checkpoint": arguments.checkpoint,
    }
    if "settings" in result:
        result["losses"] = list(solver.losses)
    _print_result(solver, result, heading, diverged)
    if arguments.json:
        output.print_json(result)
    if lock and lock.path.exists() and (interrupted or diverged) and not arguments.quiet:
        print(f"the last checkpoint is kept in {lock}; add --resume to continue", file=sys.stderr)
    if ended_by is not None and not interrupted:
        raise ended_by  # last: the result is good without a checkpoint, and up to the iteration that diverged


def announce_beginning(solver: Solver) -> None:
    """Prints how long it takes until the first iteration begins, if a game by rules must be traversed before."""
    tree, config = solver.tree, solver.config
    if not isinstance(tree, ImplicitTree) or config.needs_whole_tree() is None:
        return
    is_symmetric, with_leaves = tree.num_symmetries > 1, config.estimator.needs_leaves and tree.num_players == 2
    histories = visited_histories(tree.game, tree.rules_game, is_symmetric)
    infosets = estimate_infosets(tree.rules_game)
    slots = infosets.slots / tree.num_symmetries if infosets else 0.0
    seconds = estimated_seconds_to_begin(histories, slots, with_leaves, is_symmetric, config.threads)
    if seconds > 1:
        what = "list leaves" if with_leaves else "number information sets"
        print(
            f"before the first iteration: {as_text(math.log10(histories))} histories are traversed to {what}, about "
            f"{seconds:.0f} s, which count as --seconds",
            file=sys.stderr,
        )


def _run_to_limits(
    solver: Any, arguments: argparse.Namespace, lock: CheckpointLock | None
) -> tuple[float, BaseException | None]:
    """Runs up to the limits of the command line, which include the run before a checkpoint.

    Without a single iteration there is no result, and Ctrl-C and errors are raised.

    Returns:
        Seconds of the run, with those before the checkpoint and without evaluations for the display; and what ended it
        early: Ctrl-C, or an error to be raised after the result so far is printed.
    """
    iterations_before, seconds_before = solver.iterations, solver.seconds
    seconds, iterations, target = arguments.seconds, arguments.iterations, arguments.target_exploitability
    if seconds is None and iterations is None and target is None:
        seconds = _SECONDS
    if iterations_before and (
        (iterations is not None and iterations_before >= iterations)
        or (seconds is not None and seconds_before >= seconds)
        or (target is not None and solver.exploitability() <= target)
    ):
        return seconds_before, None
    iterations_left = None if iterations is None else iterations - iterations_before
    seconds_left = None if seconds is None else seconds - seconds_before
    watch = Watch(arguments.quiet, iterations_before, iterations_left, seconds_left)
    log = None if arguments.log is None else JsonLines(arguments.log, RecordError)

    def show_and_log(progress: Any) -> None:
        watch(progress)
        if log is not None and progress.evaluation is not None:
            numbers = {"iterations": progress.iterations, "nodes_touched": progress.nodes_touched}
            seconds = float(solver.history.seconds[-1])  # without evaluations
            log.append({**numbers, "seconds": seconds, "exploitability": progress.evaluation.exploitability})

    ended_by: BaseException | None = None
    try:
        solver.run(
            iterations_left,
            seconds=seconds_left,
            target_exploitability=target,
            evaluate_every=arguments.eval_every or (_EVAL_EVERY if log else None),
            checkpoint=lock,
            checkpoint_interval=arguments.checkpoint_interval or _CHECKPOINT_INTERVAL,
            callback=show_and_log,
            on_phase=watch,
        )
    except _ENDS_EARLY as error:
        if solver.iterations == (iterations_before if isinstance(error, CheckpointError) else 0):
            raise
        ended_by = error
    return seconds_before + watch.stop(), ended_by


# --- the quality of the result ---


def _quality(solver: Any, arguments: argparse.Namespace, interrupted: bool) -> dict[str, Any]:
    """Returns values, NashConv, exploitability and its bound of the average policy; None where unknown."""
    tree, policy = solver.tree, solver.average_policy
    found: dict[str, Any] = {"nash_conv": None, "exploitability": None, "exploitability_bound": None}
    if tree is None:
        evaluation = _exact_if_small(solver)
    elif tree.kind == "rules" and solver.iterations > 0 and not interrupted:
        evaluation = _exact_by_rules(solver, arguments.quiet)
    else:
        evaluation = None if tree.is_lazy or not tree.perfect_recall else solver.evaluate()
    if evaluation is not None:
        found["values"] = evaluation.values.tolist()
        found |= {"nash_conv": evaluation.nash_conv, "exploitability": evaluation.exploitability}
    elif tree is None or tree.is_lazy:
        game = solver.game if tree is None else tree.game
        found["values"] = [None] * game.num_players()
        if tree is None or tree.perfect_recall:
            progress = not arguments.quiet and sys.stderr.isatty()
            bound = local_bound(game, policy(), BOUND_SECONDS, seed=arguments.seed, progress=progress)
            found["exploitability_bound"] = bound and bound.estimate._asdict()
    else:
        found["values"] = expected_values(tree, policy()).tolist()
    return found


def _exact_by_rules(solver: Any, quiet: bool) -> Evaluation | None:
    """Returns the exact evaluation of a game that is not stored, unless it takes longer than the run and a minute."""
    tree = solver.tree
    is_symmetric = tree.num_symmetries > 1
    histories = visited_histories(tree.game, tree.rules_game, is_symmetric)
    seconds = estimated_seconds(histories, is_symmetric=is_symmetric)
    if seconds > max(solver.seconds, _SHORT_EVALUATION):
        return None
    if seconds > 1 and not quiet:
        what = f"exact evaluation of {as_text(math.log10(histories))} histories"
        print(f"{what}: about {seconds:.0f} s; Ctrl-C skips it", file=sys.stderr)
    try:
        return RulesEvaluator(solver.tree, progress=False if quiet else None).evaluate(solver.average_strategy())
    except (BudgetError, KeyboardInterrupt) as error:
        if not quiet:
            print(f"no exact evaluation: {error or 'interrupted'}", file=sys.stderr)
        return None


def _exact_if_small(solver: Any) -> Evaluation | None:
    """Returns the exact evaluation of a solver without a tree, if its game is compiled within a second or two."""
    try:
        tree = solver.whole_tree(_SMALL_TREE)
    except BudgetError:
        return None
    return evaluate(tree, solver.average_policy()) if tree.perfect_recall else None


# --- the printed result ---


def _print_result(solver: Any, result: dict[str, Any], heading: list[list[str]], diverged: bool) -> None:
    tree, seconds = solver.tree, result["seconds"]
    ended = " (then a network diverged)" if diverged else " (memory full)" if result["stopped"] else ""
    rows = [
        ["game", result["game"]],
        *heading,
        ["seed", str(result["seed"])],
        ["iterations", output.count(result["iterations"]) + (" (interrupted)" if result["interrupted"] else ended)],
        ["nodes touched", output.count(result["nodes_touched"])],
        ["seconds", output.number(seconds, 4)],
        ["iterations/s", output.rate(result["iterations_per_second"]) if seconds else output.number(None)],
    ]
    if "losses" in result:
        rows.append(["losses", ", ".join(output.number(loss, 3) for loss in result["losses"])])
    elif tree.is_lazy:
        found = f"{output.count(tree.num_infosets)} information sets"
        stored = "no history" if tree.kind == "rules" else f"{output.count(tree.num_nodes)} nodes"
        rows.append([{"rules": "by rules"}.get(tree.kind, "lazy tree"), f"{found}, {stored} kept"])
    rows += _quality_rows(solver, result)
    rows += [
        [name, result[key]] for name, key in (("policy", "policy_out"), ("checkpoint", "checkpoint")) if result[key]
    ]
    output.print_table(rows, texts=(0, 1))


def _quality_rows(solver: Any, result: dict[str, Any]) -> list[list[str]]:
    if (solver.tree is None or solver.tree.is_lazy) and result["exploitability"] is None:
        bound = result["exploitability_bound"]
        if bound is None:
            unknown = "n/a (no bound found in time; compare policies by mccfr-plus evaluate --against)"
            return [["exploitability", unknown]]
        value, low, high = (output.number(bound[name], 4) for name in ("value", "low", "high"))
        found = f"local best response: {value}, {100 * bound['confidence']:g} % interval {low} to {high}"
        return [["exploitability", f"at least {low if bound['low'] > 0 else 0} ({found})"]]
    rows = [[f"value of player {i}", output.number(v)] for i, v in enumerate(result["values"])]
    for name in ("nash_conv", "exploitability"):
        known = f"{output.number(result[name])} in the game's payoffs"
        has_recall = solver.tree is None or solver.tree.perfect_recall
        rows.append([name, known if has_recall else "n/a (imperfect recall)"])
    return rows
