"""`mccfr-plus solve --algorithm=...` with neural networks. What needs torch is imported when it is asked for."""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

from mccfr_plus.checkpoints import file as checkpoint_file
from mccfr_plus.checkpoints.lock import CheckpointLock
from mccfr_plus.cli import checkpoints, cluster, output, run
from mccfr_plus.cli.command import UsageError
from mccfr_plus.cli.components import compile_within_budget, seed_of
from mccfr_plus.errors import BudgetError, CheckpointError, ConfigError, MccfrPlusError, TrainingError
from mccfr_plus.policies.files import save_policy
from mccfr_plus.tree.game import load_game

# The classes of `mccfr_plus.neural`; each has a config of that name and "Config".
ALGORITHMS = {
    "deep_cfr": "DeepCFR",
    "dream": "DREAM",
    "escher": "ESCHER",
    "nfsp": "NFSP",
    "batched_deep_cfr": "BatchedDeepCFR",
    "batched_dream": "BatchedDREAM",
    "batched_escher": "BatchedESCHER",
    "batched_nfsp": "BatchedNFSP",
}
WITHOUT_TREE = tuple(name for name in ALGORITHMS if name.startswith("batched_"))
_DISTRIBUTED = "Distributed"  # prefix of the classes that sample on a cluster

# Flags about tables, and what to use instead.
TABLE_FLAGS: dict[str, str] = {
    "estimator": "",
    "minimizer": "",
    "averaging": "",
    "batch": "",
    "baseline": "",
    "baseline_rate": "",
    "alternating": "",
    "memory": "--max_nodes and --max_bytes limit the tree",
    "keys": "",
    "threads": "--set threads=N is what torch may use",
    "thread_mode": "",
    "bound_seconds": "",
    "bounds": "",
    "confidence": "",
}


def algorithm_in(lock: CheckpointLock, values: Any) -> str:
    """Returns the algorithm of a checkpoint.

    Raises:
        CheckpointError: If the command line names another one, or it is unknown.
    """
    name = checkpoint_file.read_header(lock).get("algorithm")
    known = {"tabular": None, **ALGORITHMS}
    found = [each for each, kind in known.items() if name == kind or (kind and name == _DISTRIBUTED + kind)]
    if not found:
        raise CheckpointError(
            f"{lock} is of a run of {name}, which is none of --algorithm={', '.join(ALGORITHMS)}: load it in Python."
        )
    if values["algorithm"].present:
        checkpoints.require_equal(lock, {"algorithm": (found[0], values.algorithm)})
    return found[0]


def check_flags(values: Any, algorithm: str) -> None:
    """Raises UsageError if a flag has no meaning for a neural algorithm."""
    without_tree = algorithm in WITHOUT_TREE
    for name, instead in TABLE_FLAGS.items():
        if values[name].present and not (name == "bound_seconds" and without_tree):
            more = f" ({instead})" if instead else ""
            raise UsageError(_not_taken(f"--{name}", algorithm, more))
    if values.tree == "lazy":
        raise UsageError(_not_taken("--tree=lazy", algorithm, ""))
    if without_tree and values.cluster is not None:
        others = [name for name in ALGORITHMS if name not in WITHOUT_TREE]
        raise UsageError(
            f"--cluster with --algorithm={algorithm}: it samples in this process. Leave it out, or give one of "
            f"--algorithm={', '.join(others)}."
        )
    if without_tree and values["target_exploitability"].present:
        raise UsageError(
            f"--target_exploitability with --algorithm={algorithm}: without a tree there is no exact exploitability: "
            "give --iterations or --seconds."
        )


def _not_taken(flag: str, algorithm: str, more: str) -> str:
    return f"{flag} is about --algorithm=tabular, and --algorithm={algorithm} does not take it{more}: leave it out."


# --- settings ---


def settings_of(algorithm: str) -> str:
    """Returns the help about the settings of an algorithm."""
    settings = flatten(_config_class(algorithm)())
    items = [
        f"{name}={value if isinstance(value, str) else repr(value).replace(' ', '')}"
        for name, value in settings.items()
    ]
    first = f"settings of --algorithm={algorithm}, by --set NAME=VALUE, with their defaults:"
    return "\n".join([first, *(f"  {item}" for item in items)])


def flatten(config: Any) -> dict[str, Any]:
    """Returns the settings of a config by name; those of a config within it are called ``NAME.NAME``."""
    settings: dict[str, Any] = {}
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if dataclasses.is_dataclass(value):
            settings |= {f"{field.name}.{name}": inner for name, inner in flatten(value).items()}
        else:
            settings[field.name] = value
    return settings


def config_with(base: Any, settings: Sequence[tuple[str, Any]]) -> Any:
    """Returns a config with some fields changed.

    Args:
        base: A frozen dataclass, perhaps with others as fields.
        settings: Names, as `flatten` has them, and values.

    Raises:
        ConfigError: If there is no such field, one is given twice, or a value is not allowed.
    """
    known = flatten(base)
    changes: dict[str, Any] = {}
    inner: dict[str, list[tuple[str, Any]]] = {}
    for name, value in settings:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise ConfigError(f"{type(base).__name__} has no setting {name!r}.{hint} Give one of {', '.join(known)}.")
        if [given for given, _ in settings].count(name) > 1:
            raise ConfigError(f"--set {name}=... is given twice: give it once.")
        outer, dot, rest = name.partition(".")
        if dot:
            inner.setdefault(outer, []).append((rest, value))
        else:
            is_whole = isinstance(value, float) and value.is_integer() and type(known[name]) is int
            changes[name] = int(value) if is_whole else value  # 1e6, as --iterations takes it
    for name, some in inner.items():
        try:
            changes[name] = config_with(getattr(base, name), some)
        except ConfigError as error:
            raise ConfigError(f"{name}: {error}") from None
    return dataclasses.replace(base, **changes)


def _changes(config: Any, base: Any) -> str:
    """Returns the settings in which a config differs from another, as ``--set`` takes them."""
    before = flatten(base)
    return ", ".join(f"{name}={value}" for name, value in flatten(config).items() if value != before[name])


# --- running ---


def solve(game: str, algorithm: str, values: Any, lock: CheckpointLock | None, where: Any) -> None:
    """Runs a neural solver, and prints and writes its result.

    Args:
        game: The game string.
        algorithm: One of `ALGORITHMS`.
        values: Parsed flags of `mccfr-plus solve`.
        lock: Of the checkpoint, if there is to be one.
        where: See `cluster.connected`; None: samples are made in this process.

    Raises:
        MccfrPlusError: For bad input; or, after the result so far, if networks diverged or the last checkpoint could
            not be written.
    """
    base = _config_class(algorithm)()
    solver_class = _solver_class(algorithm, where)  # an error without torch
    if lock and values.resume:
        config = _config_to_resume(lock, game, values, solver_class)
    else:
        config = config_with(base, values["set"].value or ())
    changes = _changes(config, base)
    solver = _new_solver(game, algorithm, solver_class, config, values, lock, where)
    with contextlib.nullcontext() if where is None else solver:  # ends the workers
        output.show_notes()
        if not values.quiet:
            batches = "" if where is None else f" in {solver.num_batches} batches"
            settings = changes or "the default settings"
            print(f"solving with {algorithm}{batches}, seed {solver.seed}: {settings}", file=sys.stderr)
        _run(game, algorithm, solver, values, lock, changes)


def _run(game: str, algorithm: str, solver: Any, values: Any, lock: CheckpointLock | None, changes: str) -> None:
    if solver.tree is not None:
        solver.evaluate()  # compiles what evaluations need, before the clock starts
    watch = NeuralWatch(
        values.quiet,
        None if values.iterations is None else values.iterations - solver.iterations,
        None if values.seconds is None else values.seconds - solver.seconds,
    )
    ending = run.run_to_limits(solver, values, lock, watch)
    if solver.tree is None and not values.quiet:
        print("computing the average policy, whose networks may have to be trained", file=sys.stderr)
    if values.policy_out is not None:
        if solver.tree is None:
            solver.average_policy().save(values.policy_out)
        else:
            save_policy(solver.average_policy(), values.policy_out)
    result = _result(game, algorithm, solver, values, ending)
    cut = " (interrupted)" if result["interrupted"] else " (then a network diverged)" if result["stopped"] else ""
    rows = [["game", game], ["algorithm", algorithm], ["settings", changes or "the default ones"]]
    if result["cluster"]:
        rows.append(["batches", f"{result['num_batches']}, on cluster {result['cluster']}"])
    rows += output.run_rows(result, cut)
    rows.append(["losses", ", ".join(output.number(loss, 3) for loss in result["losses"])])
    rows += [*run.quality_rows(solver, result), *output.file_rows(result)]
    output.print_table(rows, texts=(0, 1))
    if values.json:
        output.print_json(result)
    if lock and (ending.interrupted or isinstance(ending.failure, TrainingError)) and not values.quiet:
        checkpoints.print_what_is_kept(lock, ending.interrupted)
    if ending.failure is not None:
        raise ending.failure  # last, as the result is good without a checkpoint, and up to where networks diverged


def _result(game: str, algorithm: str, solver: Any, values: Any, ending: run.Ending) -> dict[str, Any]:
    tree, diverged = solver.tree, isinstance(ending.failure, TrainingError)
    return {
        "game": game,
        "algorithm": algorithm,
        "settings": solver.config.as_dict(),
        "seed": solver.seed,
        "iterations": solver.iterations,
        "nodes_touched": solver.nodes_touched,
        "seconds": ending.seconds,
        "iterations_per_second": solver.iterations / ending.seconds,
        "losses": list(solver.losses),
        "cluster": values.cluster,
        "workers": None if values.cluster is None else cluster.plan_of(values)["workers"],
        "num_batches": solver.num_batches,
        **run.quality_of(solver, values),
        "tree": tree and "compiled",
        "information_sets": tree and tree.num_infosets,
        "nodes": tree and tree.num_nodes,
        "stopped": str(ending.failure) if diverged else None,
        "interrupted": ending.interrupted,
        "policy_out": values.policy_out,
        "checkpoint": values.checkpoint,
    }


def _config_class(algorithm: str) -> Any:
    import mccfr_plus.neural

    return getattr(mccfr_plus.neural, f"{ALGORITHMS[algorithm]}Config")


def _solver_class(algorithm: str, where: Any) -> Any:
    import mccfr_plus.cluster.neural
    import mccfr_plus.neural

    if where is None:
        return getattr(mccfr_plus.neural, ALGORITHMS[algorithm])
    return getattr(mccfr_plus.cluster.neural, _DISTRIBUTED + ALGORITHMS[algorithm])


def _config_to_resume(lock: CheckpointLock, game: str, values: Any, solver_class: Any) -> Any:
    """Returns the config of the checkpoint to continue from.

    Raises:
        CheckpointError: If it is damaged, or the command line names another game, another seed or other settings.
        GameError: If the game of the command line cannot be loaded.
    """
    from mccfr_plus.neural.checkpoint import config_of, read_header

    if (checkpoint_file.read_header(lock).get("num_batches") is None) != (values.cluster is None):
        advice = "leave out --cluster" if values.cluster else "give --cluster=ray, or local, too"
        raise CheckpointError(f"{lock} is of a run with{'out' if values.cluster else ''} --cluster: {advice}.")
    header = read_header(lock, solver_class.__name__)
    config = config_of(lock, header, solver_class.config_class)
    wanted = flatten(config_with(config, values["set"].value or ()))
    pairs: dict[str, tuple[Any, Any]] = {"game": (header["game"], str(load_game(game)))}
    if values.seed is not None:
        pairs["seed"] = (header["seed"], values.seed)
    if values["num_batches"].present:
        pairs["num_batches"] = (header["num_batches"], values.num_batches)
    pairs |= {name: (kept, wanted[name]) for name, kept in flatten(config).items()}
    checkpoints.require_equal(lock, {name: (repr(kept), repr(given)) for name, (kept, given) in pairs.items()})
    return config


def _new_solver(
    game: str, algorithm: str, solver_class: Any, config: Any, values: Any, lock: CheckpointLock | None, where: Any
) -> Any:
    from mccfr_plus.neural.features import check_has_tensors

    plan = {} if where is None else {**cluster.plan_of(values), "cluster": where}
    loaded = load_game(game)
    check_has_tensors(loaded, solver_class.__name__)  # before a long compilation
    try:
        tree = loaded if algorithm in WITHOUT_TREE else compile_within_budget(game, values, quiet=values.quiet)
        if lock and values.resume:
            plan.pop("num_batches", None)  # the checkpoint has it
            return solver_class.load(lock, tree, **plan)
        return solver_class(tree, config, seed=seed_of(values), **plan)
    except BudgetError as error:
        others = [name for name in WITHOUT_TREE if name.endswith(algorithm)]
        hint = f" Or take --algorithm={', '.join(others or WITHOUT_TREE)}, which compiles no tree."
        raise BudgetError(str(error) + hint) from None
    except MccfrPlusError:
        raise
    except (MemoryError, RuntimeError) as error:  # torch's is the latter
        raise BudgetError(
            f"there is no room for the networks and memories of these settings ({str(error).splitlines()[0]}): give "
            "smaller ones by --set."
        ) from None


class NeuralWatch(run.Watch):
    """Callbacks of `NeuralSolver.run` that show the progress of a run, also within an iteration, and measure its time.

    Args:
        quiet: Whether to show nothing.
        iterations: How many will be run, if that is a limit.
        seconds: How long it will run, if that is one.
    """

    def __init__(self, quiet: bool, iterations: int | None, seconds: float | None):
        super().__init__(quiet)
        self._iterations, self._limit = iterations, seconds
        self._done = 0  # iterations of this run
        self._seconds_of_done = 0.0

    def callbacks(self) -> dict[str, Callable]:
        return {"callback": self, "on_phase": self._within}

    def __call__(self, progress: Any) -> None:
        self._done += 1
        self._seconds_of_done = progress.seconds
        super().__call__(progress)

    def _within(self, progress: Any) -> None:
        self._show(progress, may_evaluate=False)  # the average is incomplete

    def _left(self, seconds: float) -> float | None:
        """Returns how many seconds are left if iterations take as long as those before; None if that is unknown."""
        left = [math.inf if self._limit is None else self._limit - seconds]
        if self._iterations is not None and self._done:
            left.append(self._iterations * self._seconds_of_done / self._done - seconds)
        return None if min(left) == math.inf else max(min(left), 0.0)

    def _line(self, progress: Any, seconds: float) -> str:
        left = self._left(seconds)
        until_end = "" if left is None else f", {left:.0f} s left"
        losses = " ".join(output.number(loss, 2) for loss in progress.losses)
        iteration = f"{output.count(progress.iterations)} done"
        if progress.phase is not None:
            iteration = f"{output.count(progress.iterations + 1)}: {progress.phase}"
        found = f"exploitability {output.number(self._exploitability, 3)}"
        if progress.solver.tree is None:
            found = f"{output.short(progress.nodes_touched)} nodes"
        return (  # fits a terminal of 80 columns, with two players
            f"{seconds:.1f} s{until_end}  {found}  it. {iteration}  loss {losses}"
        )
