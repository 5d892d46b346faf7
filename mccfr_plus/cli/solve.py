"""`mccfr-plus solve`: runs a solver on a game, shows its progress, and writes its average policy.

Torch is imported only with ``--algorithm``, and Ray only with ``--cluster``.
"""

import argparse
import contextlib
import os
import sys
from typing import Any

from mccfr_plus.cli import checkpoints, output
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
    whole,
)
from mccfr_plus.cli.run import run_and_print
from mccfr_plus.errors import PolicyFileError
from mccfr_plus.files.atomic_write import require_kind, require_new
from mccfr_plus.files.checkpoint import CheckpointLock
from mccfr_plus.neural import ALGORITHMS, from_checkpoint, new_solver
from mccfr_plus.solver.choice import choose
from mccfr_plus.solver.config import TREES, SolverConfig
from mccfr_plus.solver.registry import AVERAGES, ESTIMATORS, MINIMIZERS
from mccfr_plus.solver.saved_state import read_header
from mccfr_plus.solver.solver import Solver
from mccfr_plus.trees.game_tree import compile_game
from mccfr_plus.trees.needs import RULES
from mccfr_plus.user_modules import imported_modules

SUMMARY = "Compute an approximate equilibrium of a game."

_NOTES = """
A tabular solver is an estimator (what a traversal visits), a minimizer (how regrets become the next strategy) and an
average. The pages of docs/background describe them. Parameters go into parentheses: --estimator="outcome(epsilon=0.3)".

The run ends at the first limit reached, by default after ten seconds. Ctrl-C and SIGTERM end it early; the result so
far is still printed and written. With --resume the same command continues the run of --checkpoint, bitwise identical to
an uninterrupted run: limits count the whole run, and components and seed come from the checkpoint.
"""

# The arguments of `SolverConfig.from_specs` among the flags.
_OPTIONS = ("estimator", "minimizer", "averaging", "alternating", "batch", "baseline", "threads", "tree", "memory",
            "symmetry")  # fmt: skip

_COMPONENTS = ("estimator", "minimizer", "averaging", "alternating")  # those of a solver on a cluster

_LOCAL = "local"  # in place of a cluster's address: this process samples
_WORKERS, _NUM_BATCHES, _TRAVERSALS = 2, 8, 1000  # defaults on clusters: processes, batches and their traversals


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _NOTES
    add_game(parser)
    parts = parser.add_argument_group("algorithm")
    add = parts.add_argument
    add("--estimator", help=f"{', '.join(ESTIMATORS)}. Default: chosen for the game.")
    add("--minimizer", help=f"{', '.join(MINIMIZERS)}. Default: pdcfr+ with full, else rm.")
    add("--averaging", help=f"{', '.join(AVERAGES)}. Default: the one of the minimizer's paper.")
    add("--batch", type=whole(), help="Number of traversals per gradient. Default: 1.")
    add("--baseline", action="store_true", default=None, help="Reduce the variance of sampled gradients by baselines.")
    add("--alternating", action=argparse.BooleanOptionalAction, help="Update players in turn. Default: if possible.")
    meaning = (
        f"Solve with neural networks (pip install 'mccfr_plus[neural]'): {', '.join(ALGORITHMS)}, with settings, as in "
        '"dream(traversals=1000, representation=batched)".'
    )
    add("--algorithm", help=meaning)
    limits = parser.add_argument_group("limits")
    add = limits.add_argument
    add("--iterations", type=whole(), help="Number of iterations, such as 5000 or 1e6.")
    add("--seconds", type=positive, help="Time of the run.")
    add("--target_exploitability", type=positive, help="Run until the exploitability is this small.")
    add_seed(limits, "Makes a run repeatable.")
    how = parser.add_argument_group("trees, threads, clusters")
    add = how.add_argument
    meaning = "Compile the tree, traverse the game by rules, or expand it lazily. Default: auto, the first that works."
    add("--tree", choices=TREES, help=meaning)
    meaning = "Merge information states that are equivalent under board symmetry."
    add("--symmetry", action="store_true", default=None, help=meaning)
    add("--memory", type=memory_size, help="Of the process, such as 4GB. Default: half of the free one.")
    add("--threads", type=whole(), help="Number of threads. Default: 1.")
    meaning = "Sample on a Ray cluster: ray, ray://HOST:PORT or HOST:PORT; local: in this process, with equal results."
    add("--cluster", metavar="ADDRESS", help=meaning)
    meaning = f"Number of processes of the cluster that sample. Default: {_WORKERS}."
    add("--workers", type=whole(1, 10_000), help=meaning)
    files = parser.add_argument_group("files and output")
    add = files.add_argument
    add("--policy_out", help="Write the average policy there, as .npz.")
    add("--checkpoint", help="Write the state of the run there, for --resume.")
    add("--checkpoint_interval", type=duration, help="How often, such as 90s, 5m or 2h. Default: 60s.")
    add("--resume", action="store_true", help="Continue the run of --checkpoint.")
    meaning = "Append iterations, nodes_touched, seconds and exploitability of evaluations as JSON lines."
    add("--log", help=meaning)
    meaning = "Time between these evaluations, such as 0.5s or 5m. Default: 1s with --log, else none."
    add("--eval_every", type=duration, help=meaning)
    add_json(parser)
    add_quiet(parser)


def run(arguments: argparse.Namespace) -> None:
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
            _solve_by_networks(arguments, lock)
        else:
            _solve(arguments, lock, stack)


def _solve_by_networks(arguments: argparse.Namespace, lock: CheckpointLock | None) -> None:
    """Runs a neural solver, and prints and writes its result; `lock` is the checkpoint's, if there is one."""
    resumed = lock if arguments.resume else None
    if arguments.algorithm is None:
        assert resumed is not None
        solver = from_checkpoint(resumed, arguments.game)
    else:
        progress = False if arguments.quiet else None
        solver = new_solver(arguments.game, arguments.algorithm, seed=seed_of(arguments), progress=progress)
    if resumed is not None:
        solver.restore(resumed)  # compares the settings
        checkpoints.require_seed(resumed, solver.seed, arguments)
    name = {kind: name for name, kind in ALGORITHMS.items()}[type(solver).__name__]
    plain = type(solver.config)().resolved(solver.representation.kind)
    settings, defaults = solver.config.as_dict(), plain.as_dict()
    changes = ", ".join(f"{name}={value}" for name, value in settings.items() if value != defaults[name])
    output.show_notes()
    if not arguments.quiet:
        print(f"solving with {name}, seed {solver.seed}: {changes or 'the default settings'}", file=sys.stderr)
    heading = [["algorithm", name], ["settings", changes or "the default ones"]]
    run_and_print(solver, arguments, lock, {"algorithm": name, "settings": settings}, heading)


def _solve(arguments: argparse.Namespace, lock: CheckpointLock | None, stack: contextlib.ExitStack) -> None:
    """Runs a tabular solver, and prints and writes its result; `stack` ends the workers of a cluster."""
    given = {name: getattr(arguments, name) for name in _OPTIONS if getattr(arguments, name) is not None}
    to_resume, reason = lock if arguments.resume else None, ""
    needs_exploitability = bool(arguments.target_exploitability or arguments.eval_every or arguments.log)
    solver: Solver
    if arguments.cluster is not None:
        solver = _distributed_solver(arguments, given, to_resume, stack)
    else:
        if to_resume is not None:
            given = checkpoints.arguments_to_resume(to_resume, given, arguments)
        seed = seed_of(arguments) if to_resume is None else given.pop("seed")
        config, compiled, reason = choose(arguments.game, given, progress=False if arguments.quiet else None)
        if compiled is not None and needs_exploitability:
            compiled.require_perfect_recall("an exploitability")
        solver = Solver.from_config(compiled or arguments.game, config, seed=seed)
        if to_resume is not None:
            solver.restore(to_resume)
    config, tree = solver.config, solver.tree
    if needs_exploitability and RULES not in tree.provides:
        solver.whole_tree().require_perfect_recall("an exploitability")
    described = config.describe()
    names = {name: described[name] for name in ("estimator", "minimizer", "averaging")}
    output.show_notes()
    if not arguments.quiet:
        listed = ", ".join(f"{name}={spec}" for name, spec in names.items())
        print(f"solving with {listed}{reason and ': '}{reason}", file=sys.stderr)
    about = {
        "algorithm": "tabular",
        **names,
        **{name: getattr(config, name) for name in ("alternating", "batch", "threads")},
        "baseline": config.baseline is not None,
    }
    run_and_print(solver, arguments, lock, about, [["components", _components(solver, names)]])


def _components(solver: Solver, names: dict[str, str]) -> str:
    config, averaging = solver.config, solver.averaging
    gamma = 0.0 if len(averaging.scheduled) else averaging.gamma
    components = {
        f"{names['estimator']} + {names['minimizer']}": True,
        f"{names['averaging']} average" + (f" (t^{gamma:g})" if gamma else ""): True,
        f"{'alternating' if config.alternating else 'simultaneous'} updates": True,
        f"batches of {config.batch}": config.batch > 1,
        "baselines": config.baseline is not None,
        "symmetries of the board": config.symmetry,
        f"{config.threads} threads ({config.thread_mode})": config.threads > 1,
    }
    return ", ".join(name for name, is_used in components.items() if is_used)


def _distributed_solver(
    arguments: argparse.Namespace, given: dict[str, Any], lock: CheckpointLock | None, stack: contextlib.ExitStack
) -> Any:
    """Returns the solver of ``--cluster``, or of the checkpoint to continue from; `stack` disconnects the cluster."""
    why = f"does not go together with --cluster={arguments.cluster}: workers use a compiled tree"
    refuse(arguments, ("threads", "tree", "memory", "symmetry", "baseline"), why)
    workers, cluster = arguments.workers or _WORKERS, arguments.cluster
    if cluster != _LOCAL:
        from mccfr_plus.cluster.cluster import Cluster

        cpus = max(workers, os.cpu_count() or 1)
        cluster = stack.enter_context(Cluster(cluster, imports=imported_modules(), cpus=cpus))
    from mccfr_plus.cluster.solver import DistributedSolver

    seed, num_batches = None, _NUM_BATCHES
    if lock is None:
        seed, options = seed_of(arguments), {"batch": _NUM_BATCHES * _TRAVERSALS, **given}
    else:
        options, num_batches = checkpoints.arguments_to_resume(lock, given, arguments), read_header(lock)["num_batches"]
        seed = options.pop("seed")
    components = {name: options[name] for name in _COMPONENTS if name in options}
    traversals, rest = divmod(options["batch"], num_batches)
    if rest:
        raise UsageError(f"--batch={options['batch']}: with --cluster give a multiple of {num_batches}.")
    SolverConfig.from_specs(**components, batch=options["batch"])  # for its errors, before a long compilation
    tree = compile_game(arguments.game, progress=False if arguments.quiet else None)
    output.show_notes()
    plan = {"num_batches": num_batches, "traversals": traversals, "workers": workers}
    solver = stack.enter_context(DistributedSolver(tree, **components, **plan, seed=seed, cluster=cluster))
    return solver if lock is None else solver.restore(lock)
