"""`mccfr-plus solve --algorithm=SPEC` with neural networks. Torch is imported only with that flag."""

from __future__ import annotations

import argparse
import importlib
import sys
from typing import Any, NamedTuple

from mccfr_plus.cli import checkpoints, output
from mccfr_plus.cli.arguments import seed_of
from mccfr_plus.cli.run import run_and_print
from mccfr_plus.errors import BudgetError, ConfigError, MccfrPlusError
from mccfr_plus.files.lock import CheckpointLock
from mccfr_plus.neural import ALGORITHMS, default_config
from mccfr_plus.solver.tree_choice import TreeLimits
from mccfr_plus.specs import parse_spec
from mccfr_plus.trees.game import load_game
from mccfr_plus.trees.game_tree import compile_game

HELP = (
    "Solve with neural networks (pip install 'mccfr_plus[neural]'): deep_cfr, dream, escher or nfsp, with settings, as "
    'in "dream(traversals=1000, representation=batched)".'
)


def solve(arguments: argparse.Namespace, lock: CheckpointLock | None) -> None:
    """Runs a neural solver, and prints and writes its result.

    Args:
        arguments: The parsed command line of `mccfr-plus solve`.
        lock: The lock of the checkpoint, if there is one.

    Raises:
        MccfrPlusError: For bad input; or, after the result so far, if networks diverged or the last checkpoint could
            not be written.
    """
    solver = _solver_of(arguments, lock if arguments.resume else None)
    name = {kind: name for name, kind in ALGORITHMS.items()}[type(solver).__name__]
    settings, defaults = solver.config.as_dict(), type(solver.config)().as_dict()
    changes = ", ".join(f"{name}={value}" for name, value in settings.items() if value != defaults[name])
    output.show_notes()
    if not arguments.quiet:
        print(f"solving with {name}, seed {solver.seed}: {changes or 'the default settings'}", file=sys.stderr)
    heading = [["algorithm", name], ["settings", changes or "the default ones"]]
    run_and_print(solver, arguments, lock, {"algorithm": name, "settings": settings}, heading)


def _solver_of(arguments: argparse.Namespace, resumed: CheckpointLock | None) -> Any:
    """Returns the solver of the command line, or the one of the checkpoint to continue."""
    try:
        if arguments.algorithm is None:
            assert resumed is not None
            solver = from_checkpoint(resumed, arguments.game)
        else:
            limits = TreeLimits(progress=False if arguments.quiet else None)
            solver = new_solver(arguments.game, arguments.algorithm, seed=seed_of(arguments), limits=limits)
            if resumed is not None:
                solver.restore(resumed)
    except MccfrPlusError:
        raise
    except (MemoryError, RuntimeError) as error:  # torch raises the latter
        reason = str(error).splitlines()[0]
        raise BudgetError(f"out of memory for networks and samples ({reason}): choose smaller settings.") from None
    if resumed is not None:
        checkpoints.require_seed(resumed, solver.seed, arguments)
    return solver


# --- until `mccfr_plus.neural` has these functions ---


class Settings(NamedTuple):
    """What a spec says: a name of `ALGORITHMS`, the config, and the representation or None."""

    name: str
    config: Any
    representation: str | None


def settings_of(spec: str) -> Settings:
    """Returns the settings of a spec such as ``"dream(traversals=1000)"``, or raises ConfigError."""
    try:
        name, parameters = parse_spec(spec)
    except SyntaxError as error:
        raise ConfigError(f"algorithm: {error.msg}.") from None
    representation = parameters.pop("representation", None)
    if name not in ALGORITHMS:
        raise ConfigError(f"algorithm={name!r}: give one of {', '.join(ALGORITHMS)}.")
    if representation not in (None, "tree", "batched"):
        raise ConfigError(f"representation={representation!r}: give tree or batched.")
    name = f"batched_{name}" if representation == "batched" else name
    return Settings(name, default_config(name).changed(parameters.items()), representation)


def new_solver(game: str, spec: str, *, seed: int | None = None, limits: TreeLimits | None = None) -> Any:
    """Returns the solver of a spec."""
    name, config, representation = settings_of(spec)
    kind, loaded = getattr(importlib.import_module("mccfr_plus.neural"), ALGORITHMS[name]), load_game(game)
    if name.startswith("batched_"):
        return kind(loaded, config, seed=seed)
    importlib.import_module("mccfr_plus.neural.sampling.observer").check_has_tensors(loaded, kind.__name__)
    try:
        return kind(compile_game(loaded, progress=limits and limits.progress), config, seed=seed)
    except BudgetError:
        if representation is not None:
            raise
    return new_solver(game, f"{spec.rstrip(')')}{', ' if '(' in spec else '('}representation=batched)", seed=seed)


def from_checkpoint(path: Any, game: str) -> Any:
    """Returns the solver of a checkpoint."""
    name = checkpoints.checkpoint_file.read_header(path)["algorithm"]
    if name not in ALGORITHMS.values():
        raise ConfigError(f"{path} is of a run of {name}: load it in Python.")
    return getattr(importlib.import_module("mccfr_plus.neural"), name).from_checkpoint(path, load_game(game))
