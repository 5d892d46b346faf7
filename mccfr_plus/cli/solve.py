"""`mccfr-plus solve`: runs a solver on a game, shows its progress, and writes its average policy."""

import argparse
import contextlib
import sys
from typing import Any

from mccfr_plus.cli import checkpoints, cluster, neural, output
from mccfr_plus.cli.arguments import (
    UsageError,
    add_game,
    add_json,
    add_quiet,
    add_seed,
    duration,
    memory_size,
    positive,
    refuse,
    seed_of,
    text,
    whole,
)
from mccfr_plus.cli.run import announce_beginning, run_and_print
from mccfr_plus.errors import PolicyFileError
from mccfr_plus.files.atomic_write import require_kind, require_new
from mccfr_plus.files.lock import CheckpointLock
from mccfr_plus.solver.config import TREES, SolverConfig
from mccfr_plus.solver.defaults import require_short_traversals, solver_for
from mccfr_plus.solver.registry import AVERAGES, ESTIMATORS, MINIMIZERS
from mccfr_plus.solver.solver import Solver
from mccfr_plus.solver.tree_choice import TreeLimits

SUMMARY = "Compute an approximate equilibrium of a game."

_NOTES = """
A tabular solver is an estimator (what a traversal visits), a minimizer (how regrets become the next strategy) and an
average. The pages of docs/background describe them. Parameters go into parentheses: --estimator="outcome(epsilon=0.3)".

The run ends at the first limit reached, by default after ten seconds. Ctrl-C and SIGTERM end it early; the result so
far is still printed and written. With --resume the same command continues the run of --checkpoint, bitwise identical to
an uninterrupted run: limits count the whole run, and components and seed come from the checkpoint.

Exploitability is the gain of a best response, on average over the players; 0 at a Nash equilibrium. Seconds are those
of the run, without compilation.
"""

# The arguments of `SolverConfig.from_specs` among the flags.
_OPTIONS = ("estimator", "minimizer", "averaging", "alternating", "batch", "baseline", "threads", "tree", "memory",
            "symmetry")  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of the verb."""
    parser.epilog = _NOTES
    add_game(parser)
    parts = parser.add_argument_group("algorithm")
    add = parts.add_argument
    add("--estimator", metavar="SPEC", type=text, help=f"{', '.join(ESTIMATORS)}. Default: chosen for the game.")
    add("--minimizer", metavar="SPEC", type=text, help=f"{', '.join(MINIMIZERS)}. Default: pdcfr+ with full, else rm.")
    averages = f"{', '.join(AVERAGES)}. Default: the one of the minimizer's paper."
    add("--averaging", metavar="SPEC", type=text, help=averages)
    add("--batch", metavar="N", type=whole(), help="Number of traversals per gradient. Default: 1.")
    add("--baseline", action="store_true", default=None, help="Reduce the variance of sampled gradients by baselines.")
    add("--alternating", action=argparse.BooleanOptionalAction, help="Update players in turn. Default: if possible.")
    add("--algorithm", metavar="SPEC", type=text, help=neural.HELP)
    limits = parser.add_argument_group("limits")
    add = limits.add_argument
    add("--iterations", metavar="N", type=whole(), help="Number of iterations, such as 5000 or 1e6.")
    add("--seconds", metavar="SECONDS", type=positive, help="Time of the run.")
    add("--target_exploitability", metavar="NUMBER", type=positive, help="Run until the exploitability is this small.")
    add_seed(limits, "Makes a run repeatable.")
    how = parser.add_argument_group("trees, threads, clusters")
    add = how.add_argument
    meaning = (
        "Compile the tree, traverse the game by its rules, or expand it lazily. Default: auto, the first that works."
    )
    add("--tree", choices=TREES, help=meaning)
    add(
        "--symmetry",
        action="store_true",
        default=None,
        help="Merge information states equivalent under board symmetry.",
    )
    add(
        "--memory", metavar="SIZE", type=memory_size, help="Of the process, such as 4GB. Default: half of the free one."
    )
    add("--threads", metavar="N", type=whole(), help="Number of threads. Default: 1.")
    cluster.add_arguments(how)
    files = parser.add_argument_group("files and output")
    add = files.add_argument
    add("--policy_out", metavar="FILE", type=text, help="Write the average policy there, as .npz.")
    add("--checkpoint", metavar="FILE", type=text, help="Write the state of the run there, for --resume.")
    add("--checkpoint_interval", metavar="TIME", type=duration, help="How often, such as 90s, 5m or 2h. Default: 60s.")
    add("--resume", action="store_true", help="Continue the run of --checkpoint.")
    meaning = "Append iterations, nodes_touched, seconds and exploitability of evaluations as JSON lines."
    add("--log", metavar="FILE", type=text, help=meaning)
    meaning = "Time between these evaluations, such as 0.5s or 5m. Default: 1s with --log, else none."
    add("--eval_every", metavar="TIME", type=duration, help=meaning)
    add_json(parser)
    add_quiet(parser)


def run(arguments: argparse.Namespace) -> None:
    """Runs the verb."""
    if arguments.policy_out is not None:
        require_kind(arguments.policy_out, PolicyFileError, begins=b"PK")  # as `.npz` does
    if arguments.checkpoint is None:
        refuse(arguments, ("resume", "checkpoint_interval"), "needs a checkpoint: give --checkpoint=FILE")
    if arguments.cluster is None:
        refuse(arguments, ("workers",), "needs a cluster: give --cluster=ray")
    if arguments.log is not None and not arguments.resume:
        require_new(arguments.log, UsageError)
    with contextlib.ExitStack() as stack:
        lock = None if arguments.checkpoint is None else stack.enter_context(checkpoints.lock_of(arguments))
        if arguments.algorithm is not None or (lock and arguments.resume and checkpoints.is_neural(lock)):
            refuse(arguments, (*_OPTIONS, "cluster"), "does not apply to --algorithm, whose settings are in its spec")
            neural.solve(arguments, lock)
        else:
            where = cluster.connected(arguments, stack)
            _solve(arguments, lock, where, stack)


def _solve(arguments: argparse.Namespace, lock: CheckpointLock | None, where: Any, stack: contextlib.ExitStack) -> None:
    """Runs a tabular solver, and prints and writes its result; `stack` ends the workers of a cluster."""
    given = {name: getattr(arguments, name) for name in _OPTIONS if getattr(arguments, name) is not None}
    to_resume, reason = lock if arguments.resume else None, ""
    limits = TreeLimits(progress=False if arguments.quiet else None)
    needs_exploitability = bool(arguments.target_exploitability or arguments.eval_every or arguments.log)
    solver: Solver
    if where is not None:
        solver = stack.enter_context(cluster.new_solver(arguments, given, where, to_resume))
    elif to_resume is not None:
        kept = checkpoints.arguments_to_resume(to_resume, given, arguments)
        seed, config = kept.pop("seed"), SolverConfig.from_specs(**kept)
        solver = Solver.from_config(arguments.game, config, seed=seed, limits=limits).restore(to_resume)
    elif "estimator" in given:
        config = SolverConfig.from_specs(**{"minimizer": None, **given})
        solver = Solver.from_config(arguments.game, config, seed=seed_of(arguments), limits=limits)
        if solver.tree.kind == "lazy":
            require_short_traversals(solver)
    else:
        solver, reason = solver_for(
            arguments.game,
            given,
            seed=seed_of(arguments),
            limits=limits,
            needs_exploitability=needs_exploitability,
        )
    config, tree = solver.config, solver.tree
    if needs_exploitability and tree.kind != "rules":
        solver.whole_tree().require_perfect_recall("an exploitability")
    described = config.describe()
    names = {name: described[name] for name in ("estimator", "minimizer", "averaging")}
    output.show_notes()
    if not arguments.quiet:
        listed = ", ".join(f"{name}={spec}" for name, spec in names.items())
        print(f"solving with {listed}{reason and ': '}{reason}", file=sys.stderr)
        announce_beginning(solver)
    about = {
        "algorithm": "tabular",
        **names,
        **{name: getattr(config, name) for name in ("alternating", "batch", "threads")},
        "baseline": config.baseline is not None,
    }
    run_and_print(solver, arguments, lock, about, [["components", _components(solver, names)]])


def _components(solver: Solver, names: dict[str, str]) -> str:
    config = solver.config
    gamma = 0.0 if len(solver.averaging.scheduled) else solver.averaging.gamma
    components = [
        f"{names['estimator']} + {names['minimizer']}",
        f"{names['averaging']} average" + (f" (t^{gamma:g})" if gamma else ""),
        "alternating updates" if config.alternating else "simultaneous updates",
    ]
    if config.batch > 1:
        components.append(f"batches of {config.batch}")
    if config.baseline:
        components.append(f"baselines with rate {config.baseline.rate:g}")
    if config.symmetry:
        components.append("symmetries of the board")
    if config.threads > 1:
        components.append(f"{config.threads} threads ({config.thread_mode})")
    return ", ".join(components)
