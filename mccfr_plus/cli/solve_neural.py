"""`mccfr-plus solve --algorithm=...` with networks. What needs torch is imported when it is asked for."""

from __future__ import annotations

import contextlib
import secrets
import sys
from collections.abc import Iterator
from typing import Any

from mccfr_plus.checkpoints import file as checkpoint_file
from mccfr_plus.checkpoints.lock import CheckpointLock
from mccfr_plus.cli import checkpoint_flags, output, solve_cluster, trees
from mccfr_plus.cli.algorithms import DISTRIBUTED, NEURAL, WITHOUT_TREE
from mccfr_plus.cli.limited_run import Ending, run_to_limits
from mccfr_plus.cli.neural_live import NeuralWatch
from mccfr_plus.cli.quality import quality_of, quality_rows
from mccfr_plus.cli.settings import changed, config_with, fields_of, value_of
from mccfr_plus.errors import BudgetError, CheckpointError, MccfrPlusError, TrainingError
from mccfr_plus.policies.files import save_policy
from mccfr_plus.tree.game import load_game


def solve_neural(game: str, algorithm: str, values: Any, claim: CheckpointLock | None, cluster: Any = None) -> None:
    """Runs a solver with networks, and prints and writes what comes of it.

    Args:
        game: The game string.
        algorithm: One of `NEURAL`.
        values: Parsed flags of `mccfr-plus solve`.
        claim: On the checkpoint, if there is to be one.
        cluster: Where samples are made: see `solve_cluster.connected`.

    Raises:
        MccfrPlusError: For bad input; or, after the result so far, if networks diverged or the last checkpoint could
            not be written.
    """
    base = _config_class(algorithm)()
    solver_class = _solver_class(algorithm, cluster)  # tells if torch is not there
    if claim and values.resume:
        config = _config_to_resume(claim, game, values, solver_class)
    else:
        config = config_with(base, values["set"].value or ())
    with _solver(game, algorithm, config, values, claim, cluster) as solver:
        output.show_notes()
        if not values.quiet:
            settings = changed(config, base) or "the default settings"
            where = "" if cluster is None else f" in {solver.num_batches} batches"
            print(f"solving with {algorithm}{where}, seed {solver.seed}: {settings}", file=sys.stderr)
        _run(game, algorithm, solver, values, claim, changed(config, base))


def _run(game: str, algorithm: str, solver: Any, values: Any, claim: CheckpointLock | None, settings: str) -> None:
    if solver.tree is not None:
        solver.evaluate()  # compiles what evaluations need, before the clock starts
    watch = NeuralWatch(
        values.quiet,
        None if values.iterations is None else values.iterations - solver.iterations,
        None if values.seconds is None else values.seconds - solver.seconds,
    )
    ending = run_to_limits(solver, values, claim, watch)
    if solver.tree is None and not values.quiet:
        print("asking for the average policy, whose networks may have to be trained", file=sys.stderr)
    if values.policy_out is not None:
        if solver.tree is None:
            solver.average_policy().save(values.policy_out)
        else:
            save_policy(solver.average_policy(), values.policy_out)
    result = _result(game, algorithm, solver, values, ending)
    _print_table(solver, result, settings)
    if values.json:
        output.print_json(result)
    if claim and (ending.interrupted or isinstance(ending.failure, TrainingError)) and not values.quiet:
        checkpoint_flags.print_what_is_kept(claim, ending.interrupted)
    if ending.failure is not None:
        raise ending.failure  # last, as the result is good without a checkpoint, and up to where networks diverged


def settings_note() -> str:
    """Returns the part of the help about algorithms with networks and their settings."""
    lines = ["settings of --algorithm, by --set NAME=VALUE, and what they are without:"]
    for algorithm in NEURAL:
        config = _config_class(algorithm)()
        line = f"  {algorithm}"
        for name in fields_of(config):
            item = f"{name}={_shown(value_of(config, name))}"
            if len(line) + len(item) > 108:
                lines.append(line)
                line = "   "
            line += f" {item}"
        lines.append(line)
    return "\n".join(lines)


def _config_class(algorithm: str) -> Any:
    import mccfr_plus.neural

    return getattr(mccfr_plus.neural, f"{NEURAL[algorithm]}Config")


def _solver_class(algorithm: str, cluster: Any) -> Any:
    import mccfr_plus.cluster.neural
    import mccfr_plus.neural

    if cluster is None:
        return getattr(mccfr_plus.neural, NEURAL[algorithm])
    return getattr(mccfr_plus.cluster.neural, DISTRIBUTED + NEURAL[algorithm])


def _config_to_resume(claim: CheckpointLock, game: str, values: Any, solver_class: Any) -> Any:
    """Returns the config of the checkpoint to go on from.

    Raises:
        CheckpointError: If it is damaged, or the command line names another game, another seed or other settings.
        GameError: If the game of the command line cannot be loaded.
    """
    from mccfr_plus.neural.checkpoint import config_of, read_header

    if (checkpoint_file.read_header(claim).get("num_batches") is None) != (values.cluster is None):
        advice = "leave out --cluster" if values.cluster else "give --cluster=ray, or local, too"
        raise CheckpointError(f"{claim.path} is of a run with{'out' if values.cluster else ''} --cluster: {advice}.")
    header = read_header(claim, solver_class.__name__)
    config = config_of(claim, header, solver_class.config_class)
    wanted = config_with(config, values["set"].value or ())
    pairs = {"game": (header["game"], str(load_game(game)))}
    if values.seed is not None:
        pairs["seed"] = (header["seed"], values.seed)
    if values["num_batches"].present:
        pairs["num_batches"] = (header["num_batches"], values.num_batches)
    pairs |= {name: (value_of(config, name), value_of(wanted, name)) for name in fields_of(config)}
    for name, (kept, given) in pairs.items():
        checkpoint_flags.complain_if_different(claim, name, repr(kept), repr(given))
    return config


@contextlib.contextmanager
def _solver(
    game: str, algorithm: str, config: Any, values: Any, claim: CheckpointLock | None, cluster: Any
) -> Iterator[Any]:
    """Yields the solver, or the one that the checkpoint is of; its workers end with the block."""
    solver = _new_solver(game, algorithm, config, values, claim, cluster)
    with contextlib.nullcontext() if cluster is None else solver:
        yield solver


def _new_solver(game: str, algorithm: str, config: Any, values: Any, claim: CheckpointLock | None, cluster: Any) -> Any:
    from mccfr_plus.neural.features import check_has_tensors

    solver_class = _solver_class(algorithm, cluster)
    plan = solve_cluster.neural_plan(values, cluster)
    loaded = load_game(game)
    check_has_tensors(loaded, solver_class.__name__)  # before a long compilation
    try:
        tree = loaded if algorithm in WITHOUT_TREE else trees.compile_within_budget(game, values, quiet=values.quiet)
        if claim and values.resume:
            plan.pop("num_batches", None)  # the file tells
            return solver_class.load(claim, tree, **plan)
        seed = secrets.randbits(32) if values.seed is None else values.seed
        return solver_class(tree, config, seed=seed, **plan)
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


def _result(game: str, algorithm: str, solver: Any, values: Any, ending: Ending) -> dict[str, Any]:
    diverged = isinstance(ending.failure, TrainingError)
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
        "workers": None if values.cluster is None else solve_cluster.workers_of(values),
        "num_batches": solver.num_batches,
        **quality_of(solver, values),
        "tree": None if solver.tree is None else "compiled",
        "information_sets": None if solver.tree is None else solver.tree.num_infosets,
        "nodes": None if solver.tree is None else solver.tree.num_nodes,
        "stopped": str(ending.failure) if diverged else None,
        "interrupted": ending.interrupted,
        "policy_out": values.policy_out,
        "checkpoint": values.checkpoint,
    }


def _print_table(solver: Any, result: dict[str, Any], settings: str) -> None:
    cut = " (interrupted)" if result["interrupted"] else " (then a network diverged)" if result["stopped"] else ""
    rows = [
        ["game", result["game"]],
        ["algorithm", result["algorithm"]],
        ["settings", settings or "the default ones"],
        *([["batches", f"{result['num_batches']}, on cluster {result['cluster']}"]] if result["cluster"] else ()),
        ["seed", str(result["seed"])],
        ["iterations", output.count(result["iterations"]) + cut],
        ["nodes touched", output.count(result["nodes_touched"])],
        ["seconds", output.number(result["seconds"], 4)],
        ["iterations/s", output.rate(result["iterations_per_second"])],
        ["losses", ", ".join(output.number(loss, 3) for loss in result["losses"])],
        *quality_rows(solver, result),
        *([name, result[key]] for name, key in (("policy", "policy_out"), ("checkpoint", "checkpoint")) if result[key]),
    ]
    output.print_table(rows, texts=(0, 1))


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else repr(value).replace(" ", "")
