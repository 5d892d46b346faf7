"""A run of `mccfr-plus solve`, tabular or neural: its limits, its log, and its result."""

import argparse
import sys
from typing import Any

from mccfr_plus.cli import output
from mccfr_plus.errors import BudgetError, CheckpointError, RecordError, TrainingError
from mccfr_plus.evaluation import Evaluation, evaluate, expected_values
from mccfr_plus.evaluation.by_rules import RulesEvaluator
from mccfr_plus.evaluation.quality import local_bound
from mccfr_plus.files.checkpoint import CheckpointLock
from mccfr_plus.files.json_files import JsonLines
from mccfr_plus.policies.files import save_policy
from mccfr_plus.solver.choice import evaluation_seconds, visited_histories
from mccfr_plus.trees.needs import INFOSETS, RULES

BOUND_SECONDS = 5.0  # for a lower bound of the exploitability if it cannot be computed

_SECONDS, _CHECKPOINT_INTERVAL, _EVAL_EVERY = 10.0, 60.0, 1.0  # defaults
_SHORT_EVALUATION = 60.0  # seconds; a longer one at the end of a run must not take longer than the run
_SMALL_TREE = 300_000  # histories: a second or two through pyspiel

_ENDS_EARLY = (KeyboardInterrupt, CheckpointError, RecordError, TrainingError)


def run_and_print(
    solver: Any, arguments: argparse.Namespace, lock: CheckpointLock | None, about: dict[str, Any], heading: list
) -> None:
    """Runs a solver up to the limits of the command line, and prints and writes its result.

    `about` says for the JSON object what was run, `heading` as rows of the table.
    """
    tree = solver.tree
    if tree is not None and INFOSETS in tree.provides and tree.perfect_recall:
        solver.evaluate()  # compiles what evaluations need, before the clock starts
    ended_by, seconds = _run_to_limits(solver, arguments, lock), solver.seconds
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


def _run_to_limits(solver: Any, arguments: argparse.Namespace, lock: CheckpointLock | None) -> BaseException | None:
    """Runs up to the limits of the command line, which include the run before a checkpoint.

    Returns what ended it early: Ctrl-C, or an error to be raised after the result so far is printed. Without a single
    iteration there is no result, and both are raised here.
    """
    iterations_before, target = solver.iterations, arguments.target_exploitability
    limits = {"iterations": arguments.iterations, "seconds": arguments.seconds}
    if limits == {"iterations": None, "seconds": None} and target is None:
        limits["seconds"] = _SECONDS
    limits = {name: limit - getattr(solver, name) for name, limit in limits.items() if limit is not None}
    if iterations_before and (
        any(limit <= 0 for limit in limits.values()) or (target is not None and solver.exploitability() <= target)
    ):
        return None
    log = None if arguments.log is None else JsonLines(arguments.log, RecordError)

    def write_log(progress: Any) -> None:
        if log is not None and progress.evaluation is not None:
            numbers = {"iterations": progress.iterations, "nodes_touched": progress.nodes_touched}
            seconds = float(solver.history.seconds[-1])  # without evaluations
            log.append({**numbers, "seconds": seconds, "exploitability": progress.evaluation.exploitability})

    try:
        solver.run(
            **limits,
            target_exploitability=target,
            evaluate_every=arguments.eval_every or (_EVAL_EVERY if log else None),
            checkpoint=lock,
            checkpoint_interval=arguments.checkpoint_interval or _CHECKPOINT_INTERVAL,
            callbacks=[write_log],
            progress=_shows_progress(arguments),
        )
    except _ENDS_EARLY as error:
        if solver.iterations == (iterations_before if isinstance(error, CheckpointError) else 0):
            raise
        return error
    return None


def _shows_progress(arguments: argparse.Namespace) -> bool:
    return not arguments.quiet and sys.stderr.isatty()


def _quality(solver: Any, arguments: argparse.Namespace, interrupted: bool) -> dict[str, Any]:
    """Returns values, NashConv, exploitability and its bound of the average policy; None where unknown."""
    tree, game = solver.tree, solver.game
    found: dict[str, Any] = {"nash_conv": None, "exploitability": None, "exploitability_bound": None}
    evaluation = None
    if tree is None:
        evaluation = _exact_if_small(solver)
    elif RULES in tree.provides and solver.iterations > 0 and not interrupted:
        evaluation = _exact_by_rules(solver, arguments.quiet)
    elif INFOSETS in tree.provides and tree.perfect_recall:
        evaluation = solver.evaluate()
    if evaluation is not None:
        exact = {"nash_conv": evaluation.nash_conv, "exploitability": evaluation.exploitability}
        return {**found, **exact, "values": evaluation.values.tolist()}
    if tree is not None and INFOSETS in tree.provides:
        return {**found, "values": expected_values(tree, solver.average_policy()).tolist()}
    if tree is None or tree.perfect_recall:
        options = {"seed": arguments.seed, "progress": _shows_progress(arguments)}
        bound = local_bound(game, solver.average_policy(), BOUND_SECONDS, **options)
        found["exploitability_bound"] = bound and bound.estimate._asdict()
    return {**found, "values": [None] * game.num_players()}


def _exact_by_rules(solver: Any, quiet: bool) -> Evaluation | None:
    """Returns the exact evaluation of a game that is not stored, unless it takes longer than the run and a minute."""
    tree, is_symmetric = solver.tree, solver.tree.symmetries is not None
    histories = visited_histories(tree.game, tree.rules_game, is_symmetric)
    seconds = evaluation_seconds(histories, is_symmetric=is_symmetric)
    if seconds > max(solver.seconds, _SHORT_EVALUATION):
        return None
    if seconds > 1 and not quiet:
        print(f"exact evaluation: about {seconds:.0f} s; Ctrl-C skips it", file=sys.stderr)
    try:
        return RulesEvaluator(tree, progress=False if quiet else None).evaluate(solver.average_strategy())
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


def _print_result(solver: Any, result: dict[str, Any], heading: list[list[str]], diverged: bool) -> None:
    tree = solver.tree
    ended = " (then a network diverged)" if diverged else " (memory full)" if result["stopped"] else ""
    rate = result["iterations_per_second"]
    rows = [
        ["game", result["game"]],
        *heading,
        ["seed", str(result["seed"])],
        ["iterations", output.count(result["iterations"]) + (" (interrupted)" if result["interrupted"] else ended)],
        ["nodes touched", output.count(result["nodes_touched"])],
        ["seconds", output.number(result["seconds"], 4)],
        ["iterations/s", output.count(rate) if rate and rate >= 100 else output.number(rate, 3)],
    ]
    if "losses" in result:
        rows.append(["losses", ", ".join(output.number(loss, 3) for loss in result["losses"])])
    elif INFOSETS not in tree.provides:
        stored = "no history" if RULES in tree.provides else f"{output.count(tree.num_nodes)} nodes"
        name = "by rules" if RULES in tree.provides else "lazy tree"
        rows.append([name, f"{output.count(tree.num_infosets)} information sets, {stored} kept"])
    rows += _quality_rows(result, has_recall=tree is None or INFOSETS not in tree.provides or tree.perfect_recall)
    rows += [[name.partition("_")[0], result[name]] for name in ("policy_out", "checkpoint") if result[name]]
    output.print_table(rows, texts=(0, 1))


def _quality_rows(result: dict[str, Any], has_recall: bool) -> list[list[str]]:
    bound = result["exploitability_bound"]
    if bound is not None:
        value, low, high = (output.number(bound[name], 4) for name in ("value", "low", "high"))
        found = f"local best response: {value}, {100 * bound['confidence']:g} % interval {low} to {high}"
        return [["exploitability", f"at least {low if bound['low'] > 0 else 0} ({found})"]]
    if None in result["values"]:
        return [["exploitability", "n/a (no bound found in time; compare policies by mccfr-plus evaluate --against)"]]
    rows = [[f"value of player {i}", output.number(value)] for i, value in enumerate(result["values"])]
    for name in ("nash_conv", "exploitability"):
        known = f"{output.number(result[name])} in the game's payoffs"
        rows.append([name, known if has_recall else "n/a (imperfect recall)"])
    return rows
