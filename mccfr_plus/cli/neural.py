"""`mccfr-plus solve --algorithm=...` with neural networks. What needs torch is imported when it is asked for."""

from __future__ import annotations

import sys
from typing import Any

from mccfr_plus.cli import checkpoints, output
from mccfr_plus.cli.budget import compile_within_budget
from mccfr_plus.cli.command import UsageError, seed_of
from mccfr_plus.cli.run import run_and_print
from mccfr_plus.errors import BudgetError, MccfrPlusError
from mccfr_plus.files.lock import CheckpointLock
from mccfr_plus.neural import ALGORITHMS, WITHOUT_TREE, default_config
from mccfr_plus.trees.game import load_game

# Flags about tables, and what to use instead.
TABLE_FLAGS = {
    **dict.fromkeys(("estimator", "minimizer", "averaging", "batch", "baseline", "baseline_rate", "alternating"), ""),
    **dict.fromkeys(("keys", "symmetry", "thread_mode", "bound_seconds", "bounds", "confidence"), ""),
    "memory": " (--max_nodes and --max_bytes limit the tree)",
    "threads": " (--set threads=N is what torch may use)",
}


def check_flags(values: Any, algorithm: str) -> None:
    """Raises UsageError if a flag has no meaning for a neural algorithm."""
    without_tree = algorithm in WITHOUT_TREE
    wrong = {f"--{name}": more for name, more in TABLE_FLAGS.items() if values[name].present}
    if without_tree:
        wrong.pop("--bound_seconds", None)
    if values.tree == "lazy":
        wrong["--tree=lazy"] = ""
    for flag, more in wrong.items():
        raise UsageError(
            f"{flag} is about --algorithm=tabular, and --algorithm={algorithm} does not take it{more}: leave it out."
        )
    if values.cluster is not None:
        raise UsageError(f"--cluster with --algorithm={algorithm}: it samples in this process. Leave it out.")


# --- settings ---


def settings_of(algorithm: str) -> str:
    """Returns the help about the settings of an algorithm."""
    lines = [f"settings of --algorithm={algorithm}, by --set NAME=VALUE, with their defaults:"]
    for name, value in default_config(algorithm).as_dict().items():
        lines.append(f"  {name}={value if isinstance(value, str) else repr(value).replace(' ', '')}")
    return "\n".join(lines)


# --- running ---


def solve(game: str, algorithm: str, values: Any, lock: CheckpointLock | None) -> None:
    """Runs a neural solver, and prints and writes its result.

    Args:
        game: The game string.
        algorithm: One of `ALGORITHMS`.
        values: Parsed flags of `mccfr-plus solve`.
        lock: Of the checkpoint, if there is to be one.

    Raises:
        MccfrPlusError: For bad input; or, after the result so far, if networks diverged or the last checkpoint could
            not be written.
    """
    solver_class = _solver_class(algorithm)  # an error without torch
    base = solver_class.config_class()
    config, seed = base, None
    if lock and values.resume:
        config, seed = _kept(lock, values, solver_class)
    config = config.changed(values["set"].value or ())
    before = base.as_dict()
    changes = ", ".join(f"{name}={value}" for name, value in config.as_dict().items() if value != before[name])
    solver = _new_solver(game, algorithm, solver_class, config, seed, values)
    if lock and values.resume:
        solver.restore(lock)
    output.show_notes()
    if not values.quiet:
        settings = changes or "the default settings"
        print(f"solving with {algorithm}, seed {solver.seed}: {settings}", file=sys.stderr)
    heading = [["algorithm", algorithm], ["settings", changes or "the default ones"]]
    about = {"algorithm": algorithm, "settings": solver.config.as_dict()}
    run_and_print(game, solver, values, lock, about, heading)


def _solver_class(algorithm: str) -> Any:
    import mccfr_plus.neural

    return getattr(mccfr_plus.neural, ALGORITHMS[algorithm])


def _kept(lock: CheckpointLock, values: Any, solver_class: Any) -> tuple[Any, int | None]:
    """Returns config and seed of the checkpoint to continue from.

    Raises:
        CheckpointError: If it is damaged, or the command line gives another seed.
    """
    from mccfr_plus.neural.checkpoint import config_of, read_header

    header = read_header(lock, solver_class.__name__)
    checkpoints.require_seed(lock, header, values)
    return config_of(lock, header, solver_class.config_class), header["seed"]


def _new_solver(game: str, algorithm: str, solver_class: Any, config: Any, seed: int | None, values: Any) -> Any:
    from mccfr_plus.neural.sampling.observer import check_has_tensors

    loaded = load_game(game)
    check_has_tensors(loaded, solver_class.__name__)  # before a long compilation
    try:
        tree = loaded if algorithm in WITHOUT_TREE else compile_within_budget(game, values)
        return solver_class(tree, config, seed=seed_of(values) if seed is None else seed)
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
