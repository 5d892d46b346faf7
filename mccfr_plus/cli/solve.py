"""`mccfr-plus solve`: runs a solver on a game, shows its progress, and writes its result.

Torch is imported only with ``--algorithm``, and Ray only with ``--cluster``.
"""

import argparse
import contextlib
import os
import shlex
import sys
from typing import Any

from mccfr_plus.cli import command
from mccfr_plus.cli.command import UsageError
from mccfr_plus.errors import BudgetError, CheckpointError, MccfrPlusError, PolicyFileError, RecordError
from mccfr_plus.evaluation import Evaluation, evaluate
from mccfr_plus.evaluation.by_rules import RulesEvaluator
from mccfr_plus.evaluation.quality import local_bound
from mccfr_plus.files import checkpoint as checkpoint_file
from mccfr_plus.files.atomic_write import require_kind, require_new
from mccfr_plus.files.checkpoint import CheckpointLock
from mccfr_plus.files.json_files import JsonLines
from mccfr_plus.neural import ALGORITHMS, from_checkpoint, new_solver
from mccfr_plus.policies.files import require_no_other, save_policy
from mccfr_plus.solver import saved_state
from mccfr_plus.solver.choice import choose, evaluation_seconds, visited_histories
from mccfr_plus.solver.config import AVERAGES, ESTIMATORS, MINIMIZERS, TREES, SolverConfig
from mccfr_plus.solver.solver import Solver
from mccfr_plus.trees.game_tree import compile_game
from mccfr_plus.trees.loading import load_game
from mccfr_plus.trees.needs import INFOSETS, RULES
from mccfr_plus.user_modules import imported_modules

SUMMARY = "Compute an approximate equilibrium of a game."

NOTES = """
A tabular solver combines an estimator, which decides which histories a traversal visits; a minimizer, which computes
the next strategy from the regrets; and an average of the strategies. See docs/background. Write parameters in
parentheses, for example --estimator="outcome(epsilon=0.3)".

The run ends when it reaches the first of its limits; without a limit, it ends after ten seconds. If Ctrl-C or SIGTERM
ends it early, the result so far is still printed and written. With --resume, the same command continues the run saved
in the checkpoint, and the result is bitwise identical to that of an uninterrupted run with the same number of
iterations. Limits apply to the whole run; the components and the seed come from the checkpoint.
"""

# The arguments of `SolverConfig.from_specs` among the flags.
_OPTIONS = ("estimator", "minimizer", "averaging", "alternating", "batch", "baseline", "threads", "tree", "memory",
            "symmetry")  # fmt: skip
_COMPONENTS = ("estimator", "minimizer", "averaging", "alternating")  # those of a solver on a cluster

_LOCAL = "local"  # in place of a cluster's address: this process samples
_WORKERS, _NUM_BATCHES, _TRAVERSALS = 2, 8, 1000  # defaults on clusters: processes, batches and their traversals

BOUND_SECONDS = 5.0  # for a lower bound of the exploitability if it cannot be computed
_SECONDS, _CHECKPOINT_INTERVAL, _EVAL_EVERY = 10.0, 60.0, 1.0  # defaults
_SHORT_EVALUATION = 60.0  # seconds; a longer one at the end of a run must not take longer than the run
_SMALL_TREE = 300_000  # histories: a second or two through pyspiel


def add_arguments(parser: argparse.ArgumentParser) -> None:
    command.add_game(parser)
    add = parser.add_argument_group("algorithm").add_argument
    add("--estimator", help=f"{', '.join(ESTIMATORS)}. The default depends on the game.")
    add("--minimizer", help=f"{', '.join(MINIMIZERS)}. Default: pdcfr+ with the estimator full, otherwise rm.")
    add("--averaging", help=f"{', '.join(AVERAGES)}. Default: as in the minimizer's paper.")
    add("--batch", type=command.whole(), help="Number of traversals per gradient. Default: 1.")
    add(
        "--baseline", action="store_true", default=None, help="Reduce the variance of sampled gradients with baselines."
    )
    add(
        "--alternating",
        action=argparse.BooleanOptionalAction,
        help="Update players in turn, which is the default whenever possible.",
    )
    meaning = (
        f"Solve with neural networks (pip install 'mccfr_plus[neural]'): {', '.join(ALGORITHMS)}. Write settings in "
        'parentheses, as in "dream(traversals=1000, representation=batched)".'
    )
    add("--algorithm", help=meaning)
    limits = parser.add_argument_group("limits")
    add = limits.add_argument
    add("--iterations", type=command.whole(), help="Maximum number of iterations, such as 5000 or 1e6.")
    add("--seconds", type=command.positive, help="Maximum length of the run in seconds.")
    add("--target_exploitability", type=command.positive, help="Stop when the exploitability has fallen to this value.")
    command.add_seed(limits, "Seed of the run.")
    add = parser.add_argument_group("trees, threads, clusters").add_argument
    meaning = (
        "Use a compiled tree, a lazily expanded tree, a traversal with compiled rules, or a public tree. Default: "
        "auto, which chooses according to the size of the game."
    )
    add("--tree", choices=TREES, help=meaning)
    meaning = (
        "Merge information states that are equivalent under a symmetry of the game, such as a rotation of the board."
    )
    add("--symmetry", action="store_true", default=None, help=meaning)
    add("--memory", type=command.memory_size, help="Memory limit, such as 4GB. Default: half of the free memory.")
    add("--threads", type=command.whole(), help="Number of threads. Default: 1.")
    meaning = (
        "Sample on a Ray cluster, given as ray, ray://HOST:PORT or HOST:PORT. With --cluster=local, this process does "
        "the sampling, with the same results."
    )
    add("--cluster", metavar="ADDRESS", help=meaning)
    meaning = f"Number of sampling processes on the cluster. Default: {_WORKERS}."
    add("--workers", type=command.whole(1, 10_000), help=meaning)
    add = parser.add_argument_group("files and output").add_argument
    add("--policy_out", help="Write the average policy to this .npz file.")
    add("--checkpoint", help="Write the run's state to this file; --resume continues the run.")
    add("--checkpoint_interval", type=command.duration, help="Time between checkpoints, such as 90s. Default: 60s.")
    add("--resume", action="store_true", help="Continue the run saved in the file given by --checkpoint.")
    meaning = (
        "For each evaluation, append to this file a line of JSON with iterations, nodes_touched, seconds and "
        "exploitability."
    )
    add("--log", help=meaning)
    meaning = "Time between evaluations, such as 0.5s or 5m. Default: 1s with --log; no evaluations without it."
    add("--eval_every", type=command.duration, help=meaning)
    command.add_json(parser)
    command.add_quiet(parser)


def run(arguments: argparse.Namespace) -> None:
    if arguments.policy_out is not None:
        require_kind(arguments.policy_out, PolicyFileError, begins=b"PK")  # as `.npz` does
        require_no_other(arguments.policy_out, load_game(arguments.game))
    if arguments.checkpoint is None:
        command.refuse(arguments, ("resume", "checkpoint_interval"), "needs a checkpoint: give --checkpoint=FILE")
    if arguments.cluster is None:
        command.refuse(arguments, ("workers",), "needs a cluster: give --cluster=ray")
    if arguments.log is not None and not arguments.resume:
        require_new(arguments.log, UsageError)
    with contextlib.ExitStack() as stack:
        lock = None if arguments.checkpoint is None else stack.enter_context(_lock_of(arguments))
        resumed = lock if arguments.resume else None
        if arguments.algorithm is not None or (resumed and "algorithm" in checkpoint_file.read_header(resumed)):
            why = "does not apply to --algorithm, whose settings are in its spec"
            command.refuse(arguments, (*_OPTIONS, "cluster"), why)
            solver, about, heading = _neural_solver(arguments, resumed)
        else:
            solver, about, heading = _tabular_solver(arguments, resumed, stack)
        _run_and_print(solver, arguments, lock, about, heading)


# --- solvers; each comes with what the JSON object says about it, and with rows of the table ---


def _neural_solver(arguments: argparse.Namespace, resumed: CheckpointLock | None) -> tuple[Any, dict, list]:
    if arguments.algorithm is None:
        assert resumed is not None
        solver = from_checkpoint(resumed, arguments.game)
    else:
        progress, seed = command.progress_of(arguments), command.seed_of(arguments)
        solver = new_solver(arguments.game, arguments.algorithm, seed=seed, progress=progress)
    if resumed is not None:
        solver.restore(resumed)  # compares the settings
        _require_seed(resumed, solver.seed, arguments)
    name = next(name for name, kind in ALGORITHMS.items() if kind == type(solver).__name__)
    defaults = type(solver.config)().resolved(solver.representation.kind).as_dict()
    settings = solver.config.as_dict()
    changes = ", ".join(f"{name}={value}" for name, value in settings.items() if value != defaults[name])
    command.show_notes()
    command.note(arguments, f"solving with {name}, seed {solver.seed}: {changes or 'default settings'}")
    heading = [["algorithm", name], ["settings", changes or "the defaults"]]
    return solver, {"algorithm": name, "settings": settings}, heading


def _tabular_solver(
    arguments: argparse.Namespace, resumed: CheckpointLock | None, stack: contextlib.ExitStack
) -> tuple[Any, dict, list]:
    """`stack` ends the workers of a cluster."""
    given = {name: getattr(arguments, name) for name in _OPTIONS if getattr(arguments, name) is not None}
    needs_exploitability = bool(arguments.target_exploitability or arguments.eval_every or arguments.log)
    solver: Solver
    if arguments.cluster is not None:
        solver, reason = _distributed_solver(arguments, given, resumed, stack), ""
    else:
        if resumed is not None:
            given = _arguments_to_resume(resumed, given, arguments)
        seed = command.seed_of(arguments) if resumed is None else given.pop("seed")
        config, compiled, reason = choose(arguments.game, given, progress=command.progress_of(arguments))
        solver = Solver.from_config(compiled or arguments.game, config, seed=seed)
        if resumed is not None:
            solver.restore(resumed)
    config = solver.config
    if needs_exploitability and RULES not in solver.tree.provides:
        solver.whole_tree()
    described = config.describe()
    names = {name: described[name] for name in ("estimator", "minimizer", "averaging")}
    command.show_notes()
    listed = ", ".join(f"{name}={spec}" for name, spec in names.items())
    command.note(arguments, f"solving with {listed}{reason and ': '}{reason}")
    about = {name: getattr(config, name) for name in ("alternating", "batch", "threads")}
    about = {"algorithm": "tabular", **names, **about, "baseline": config.baseline is not None}
    return solver, about, [["components", _components(solver, names)]]


def _components(solver: Solver, names: dict[str, str]) -> str:
    config, averaging = solver.config, solver.averaging
    gamma = 0.0 if len(averaging.weights()[1]) else averaging.gamma
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
    arguments: argparse.Namespace, given: dict[str, Any], resumed: CheckpointLock | None, stack: contextlib.ExitStack
) -> Any:
    why = f"cannot be combined with --cluster={arguments.cluster}: workers use a compiled tree"
    command.refuse(arguments, ("threads", "tree", "memory", "symmetry", "baseline"), why)
    workers, cluster = arguments.workers or _WORKERS, arguments.cluster
    if cluster != _LOCAL:
        from mccfr_plus.cluster.cluster import Cluster

        cpus = max(workers, os.cpu_count() or 1)
        cluster = stack.enter_context(Cluster(cluster, imports=imported_modules(), cpus=cpus))
    from mccfr_plus.cluster.solver import DistributedSolver

    if resumed is None:
        seed, num_batches = command.seed_of(arguments), _NUM_BATCHES
        options = {"batch": _NUM_BATCHES * _TRAVERSALS, **given}
    else:
        options = _arguments_to_resume(resumed, given, arguments)
        seed, num_batches = options.pop("seed"), saved_state.read_header(resumed)["num_batches"]
    components = {name: options[name] for name in _COMPONENTS if name in options}
    traversals, rest = divmod(options["batch"], num_batches)
    if rest:
        raise UsageError(f"--batch={options['batch']}: with --cluster, give a multiple of {num_batches}.")
    SolverConfig.from_specs(**components, batch=options["batch"])  # for its errors, before a long compilation
    tree = compile_game(arguments.game, progress=command.progress_of(arguments))
    command.show_notes()
    plan = {"num_batches": num_batches, "traversals": traversals, "workers": workers}
    solver = stack.enter_context(DistributedSolver(tree, **components, **plan, seed=seed, cluster=cluster))
    return solver if resumed is None else solver.restore(resumed)


# --- checkpoints ---


def _lock_of(arguments: argparse.Namespace) -> CheckpointLock:
    """Returns the lock of the command line's checkpoint, where nothing is overwritten. The caller releases it."""
    path, policy = arguments.checkpoint, arguments.policy_out
    own = os.path.realpath(path)
    if policy is not None and os.path.realpath(policy) in (own, f"{own}.lock"):
        raise UsageError(f"--policy_out={policy} names the checkpoint or its lock file: choose another name.")
    if arguments.resume and not os.path.exists(path):
        raise CheckpointError(f"there is no checkpoint {path} to resume from: leave out --resume to start a new run.")
    lock = CheckpointLock(path)
    if not arguments.resume and os.path.exists(path):
        lock.release()
        raise CheckpointError(
            f"{path} already holds a checkpoint: add --resume to continue its run. For a new run, delete the file "
            "or choose another name."
        )
    return lock


def _arguments_to_resume(lock: CheckpointLock, given: dict[str, Any], arguments: argparse.Namespace) -> dict[str, Any]:
    """Returns the arguments of `Solver`, with those `given`, which ``restore`` compares with the checkpoint."""
    header = saved_state.read_header(lock)
    _require_seed(lock, header["seed"], arguments)
    if (header["num_batches"] is None) != (arguments.cluster is None):
        advice = "leave out --cluster" if arguments.cluster else "give --cluster=ray, or local"
        raise CheckpointError(f"{lock} is from a run with{'out' if arguments.cluster else ''} --cluster: {advice}.")
    own = {name: value for name, value in given.items() if (name, value) != ("tree", "auto")}
    return saved_state.arguments_of(lock, header) | own


def _require_seed(lock: CheckpointLock, seed: int | None, arguments: argparse.Namespace) -> None:
    if arguments.seed not in (None, seed):
        raise CheckpointError(
            f"{lock} is from a run with seed={seed}, but the command line gives --seed={arguments.seed}: leave out "
            "--seed, or start a new run with another --checkpoint."
        )


# --- runs and results ---


def _run_and_print(
    solver: Any, arguments: argparse.Namespace, lock: CheckpointLock | None, about: dict[str, Any], heading: list
) -> None:
    tree = solver.tree
    if tree is not None and INFOSETS in tree.provides:
        solver.evaluate()  # compiles what evaluations need, before the clock starts
    ended_by, seconds = _run_to_limits(solver, arguments, lock), solver.seconds
    interrupted = isinstance(ended_by, KeyboardInterrupt)
    failed = ended_by is not None and not isinstance(ended_by, KeyboardInterrupt | CheckpointError | RecordError)
    if tree is None:
        command.note(arguments, "computing the average policy, which may require training its networks")
    if arguments.policy_out is not None:
        policy = solver.average_policy()
        policy.save(arguments.policy_out) if tree is None else save_policy(policy, arguments.policy_out)
    quality = dict.fromkeys(("nash_conv", "exploitability", "exploitability_bound"))
    quality["values"] = [None] * solver.game.num_players()
    with contextlib.suppress(MccfrPlusError) if failed else contextlib.nullcontext():  # the error may come again
        quality |= _quality(solver, arguments, interrupted)
    result = {
        "game": arguments.game,
        **about,
        **{name: getattr(solver, name) for name in ("seed", "iterations", "nodes_touched")},
        "seconds": seconds,
        "iterations_per_second": solver.iterations / seconds if seconds else None,
        **quality,
        "tree": tree and tree.kind,
        "information_sets": tree and tree.num_infosets,
        "nodes": tree and tree.num_nodes,
        **{name: getattr(arguments, name) for name in ("cluster", "policy_out", "checkpoint")},
        "workers": getattr(solver, "workers", None),
        "stopped": str(ended_by) if failed else getattr(solver, "stopped", None),
        "interrupted": interrupted,
    }
    if "settings" in result:
        result["losses"] = list(solver.losses)
    _print_result(tree, result, heading, failed)
    if arguments.json:
        command.print_json(result)
    if lock and lock.path.exists() and (interrupted or failed):
        command.note(arguments, f"the last checkpoint is kept in {lock}; add --resume to continue")
    if ended_by is not None and not interrupted:
        raise ended_by  # last: the result is good without a checkpoint, and up to the iteration that failed


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
    except (KeyboardInterrupt, MccfrPlusError) as error:
        if solver.iterations == (iterations_before if isinstance(error, CheckpointError) else 0):
            raise
        return error
    return None


def _shows_progress(arguments: argparse.Namespace) -> bool:
    return not arguments.quiet and sys.stderr.isatty()


def _quality(solver: Any, arguments: argparse.Namespace, interrupted: bool) -> dict[str, Any]:
    """Returns values, NashConv and exploitability of the average policy, or a bound of its exploitability, or None."""
    tree = solver.tree
    evaluation = None
    if tree is None:
        with contextlib.suppress(BudgetError):  # a large game has no exact evaluation
            whole = solver.whole_tree(_SMALL_TREE)
            evaluation = evaluate(whole, solver.average_policy())
    elif RULES in tree.provides and tree.perfect_recall and solver.iterations > 0 and not interrupted:
        evaluation = _exact_by_rules(solver, arguments)
    elif INFOSETS in tree.provides:
        evaluation = solver.evaluate()
    if evaluation is not None:
        exact = {name: getattr(evaluation, name) for name in ("nash_conv", "exploitability")}
        if tree is not None and not tree.perfect_recall:
            exact["perfect_recall_nash_conv"] = evaluation.perfect_recall_nash_conv
        return exact | {"values": evaluation.values.tolist()}
    options = {"seed": arguments.seed, "progress": _shows_progress(arguments)}
    bound = local_bound(solver.game, solver.average_policy(), BOUND_SECONDS, **options)
    return {"exploitability_bound": bound and bound.estimate._asdict()}


def _exact_by_rules(solver: Any, arguments: argparse.Namespace) -> Evaluation | None:
    """Returns the exact evaluation of a game that is not stored, unless it takes longer than the run and a minute."""
    tree, is_symmetric = solver.tree, solver.tree.symmetries is not None
    histories = visited_histories(tree.game, tree.rules_game, is_symmetric)
    seconds = evaluation_seconds(histories, is_symmetric=is_symmetric)
    if seconds > max(solver.seconds, _SHORT_EVALUATION):
        return None
    if seconds > 1:
        command.note(arguments, f"exact evaluation: about {seconds:.0f} s; Ctrl-C skips it")
    try:
        return RulesEvaluator(tree, progress=command.progress_of(arguments)).evaluate(solver.average_strategy())
    except (BudgetError, KeyboardInterrupt) as error:
        command.note(arguments, f"no exact evaluation: {error or 'interrupted'}")
        return None


def _print_result(tree: Any, result: dict[str, Any], heading: list[list[str]], failed: bool) -> None:
    ended = " (ended by an error)" if failed else " (memory full)" if result["stopped"] else ""
    rate = result["iterations_per_second"]
    rows = [
        ["game", result["game"]],
        *heading,
        ["seed", str(result["seed"])],
        ["iterations", command.count(result["iterations"]) + (" (interrupted)" if result["interrupted"] else ended)],
        ["nodes touched", command.count(result["nodes_touched"])],
        ["seconds", command.number(result["seconds"], 4)],
        ["iterations/s", command.count(rate) if rate and rate >= 100 else command.number(rate, 3)],
    ]
    if "losses" in result:
        rows.append(["losses", ", ".join(command.number(loss, 3) for loss in result["losses"])])
    elif INFOSETS not in tree.provides:
        stored = "no history" if RULES in tree.provides else f"{command.count(tree.num_nodes)} nodes"
        name = "by rules" if RULES in tree.provides else "lazy tree"
        rows.append([name, f"{command.count(tree.num_infosets)} information sets, {stored} kept"])
    rows += _quality_rows(result)
    rows += [[name.partition("_")[0], result[name]] for name in ("policy_out", "checkpoint") if result[name]]
    command.print_table(rows, texts=(0, 1))


def _quality_rows(result: dict[str, Any]) -> list[list[str]]:
    if bound := result["exploitability_bound"]:
        value, low, high = (command.number(bound[name], 4) for name in ("value", "low", "high"))
        found = f"local best response: {value}, {100 * bound['confidence']:g} % interval {low} to {high}"
        return [["exploitability", f"at least {low if bound['low'] > 0 else 0} ({found})"]]
    if None in result["values"]:
        how = "no bound found in time; compare policies with mccfr-plus evaluate --against"
        if result["tree"] == "rules":
            words = ["mccfr-plus", "evaluate", result["game"], result["policy_out"] or "POLICY"]
            how = f"exact: {shlex.join(words)}{'' if result['policy_out'] else ', with --policy_out=POLICY here'}"
        return [["exploitability", f"n/a ({how})"]]
    rows = [[f"value of player {i}", command.number(value)] for i, value in enumerate(result["values"])]
    names = {"nash_conv": "nash_conv", "exploitability": "exploitability"}
    if "perfect_recall_nash_conv" in result:  # OpenSpiel's number, and the one against opponents with perfect recall
        names["perfect_recall_nash_conv"] = "nash_conv, perfect recall"
    return rows + [[names[name], f"{command.number(result[name])} in the game's payoffs"] for name in names]
