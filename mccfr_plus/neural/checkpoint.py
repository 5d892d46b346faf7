"""The state of a neural solver as a header and named arrays, and back. The file is that of `checkpoint_file`."""

from __future__ import annotations

import logging
import os
from typing import Any

import numpy as np

from mccfr_plus.checkpoints import file as checkpoint_file
from mccfr_plus.errors import CheckpointError, ConfigError
from mccfr_plus.neural.backend import torch
from mccfr_plus.solver.saved_state import digest_of_tree, package_version

logger = logging.getLogger("mccfr_plus")

_KEYS = {
    "algorithm",
    "game",
    "tree",
    "config",
    "versions",
    "seed",
    "iterations",
    "nodes_touched",
    "seconds",
    "history",
    "memory_sizes",
}


def save(solver: Any, path: str | os.PathLike) -> None:
    """Writes a solver's state; see `NeuralSolver.save`."""
    header = {
        **_common(solver),
        "versions": _versions(solver),
        "seed": solver.seed,
        "iterations": solver.iterations,
        "nodes_touched": solver.nodes_touched,
        "seconds": solver.seconds,
        "history": [list(point) for point in solver.history],
        "memory_sizes": solver.memory_sizes(),
    }
    checkpoint_file.write(path, header, arrays_of(solver))


def arrays_of(solver: Any) -> dict[str, np.ndarray]:
    """Returns all arrays of a solver that carry from one iteration to the next, by name."""
    return solver.state()


def restore(solver: Any, path: str | os.PathLike) -> dict[str, Any]:
    """Fills a solver's arrays with those of a checkpoint and returns its header. Nothing changes if they do not fit.

    Raises:
        CheckpointError: See `NeuralSolver.restore`.
    """
    header = header_of_run(path, solver)
    sizes = solver.memory_sizes()
    solver.resize_memories(_sizes_of(path, header, sizes))
    try:
        checkpoint_file.check(path, solver.state())
    except BaseException:
        solver.resize_memories(sizes)
        raise
    checkpoint_file.read_into(path, solver.state())
    if header["versions"] != _versions(solver):
        logger.warning(
            "%s was written with %s, and these are %s: the run goes on, perhaps with other roundings.",
            path,
            _shown(header["versions"]),
            _shown(_versions(solver)),
        )
    return header


def read_header(path: str | os.PathLike, algorithm: str) -> dict[str, Any]:
    """Returns the header of a checkpoint of an algorithm.

    Raises:
        CheckpointError: If the file cannot be read or is of another algorithm.
    """
    header = checkpoint_file.read_header(path)
    if "algorithm" not in header:
        raise CheckpointError(f"{path} holds a tabular solver: load it with mccfr_plus.Solver.from_checkpoint.")
    if header["algorithm"] != algorithm:
        name = header["algorithm"]
        raise CheckpointError(f"{path} holds a run of {name}, not of {algorithm}: load it with {name}.load.")
    missing = _KEYS - set(header)
    if missing:
        raise CheckpointError(f"{path} is damaged: its header lacks {', '.join(sorted(missing))}.")
    return header


def header_of_run(path: str | os.PathLike, solver: Any) -> dict[str, Any]:
    """Returns the header of a checkpoint that a solver can go on from.

    Raises:
        CheckpointError: If the file cannot be read, or is of another algorithm, game or config.
    """
    header = read_header(path, type(solver).__name__)
    _complain_if_different(path, header, solver)
    return header


def config_of(path: str | os.PathLike, header: dict[str, Any], kind: Any) -> Any:
    """Returns the config of a checkpoint.

    Raises:
        CheckpointError: If this version has no such config.
    """
    try:
        return kind.from_dict(header["config"])
    except (TypeError, ConfigError) as error:
        raise CheckpointError(f"{path} has a config that this version of mccfr_plus does not know: {error}") from None


def num_batches_of(path: str | os.PathLike, header: dict[str, Any]) -> int:
    """Returns into how many batches the solver of a checkpoint divides its sampling.

    Raises:
        CheckpointError: If it does not tell.
    """
    num_batches = header.get("num_batches")
    if not isinstance(num_batches, int) or num_batches < 1:
        raise CheckpointError(f"{path} is damaged: its number of batches is {num_batches}.")
    return num_batches


def _sizes_of(path: str | os.PathLike, header: dict[str, Any], own: dict[str, int]) -> dict[str, int]:
    sizes = header["memory_sizes"]
    is_right = isinstance(sizes, dict) and set(sizes) == set(own)
    if not is_right or any(not isinstance(size, int) or size < 0 for size in sizes.values()):
        raise CheckpointError(f"{path} is damaged: its memories are {sizes}.")
    return sizes


def _complain_if_different(path: str | os.PathLike, header: dict[str, Any], solver: Any) -> None:
    own = _common(solver)
    theirs, ours = header.get("num_batches"), own.get("num_batches")
    if theirs != ours:
        raise CheckpointError(
            f"{path} belongs to another run: it samples in num_batches={theirs}, and the solver in num_batches={ours}, "
            f"whose random numbers are others. Use {header['algorithm']}.load, which takes num_batches from the file, "
            "or give another file."
        )
    for key, what in (("game", "game"), ("tree", "tree, that is rules, payoffs or the order of nodes,")):
        if header[key] != own[key]:
            raise CheckpointError(
                f"{path} belongs to another run: its {what} is {header[key]}, and the solver's is {own[key]}. Make the "
                "solver with what the checkpoint was made with, or give another file."
            )
    for name in sorted(set(own["config"]) | set(header["config"])):
        theirs, ours = header["config"].get(name, "missing"), own["config"].get(name, "missing")
        if theirs != ours:
            raise CheckpointError(
                f"{path} belongs to another run: its config has {name}={theirs!r}, and the solver's {name}={ours!r}. "
                f"Use {header['algorithm']}.load, which takes the config from the file, or give another file."
            )


def _common(solver: Any) -> dict[str, Any]:
    common = {
        "algorithm": type(solver).__name__,
        "game": str(solver.game),
        "tree": None if solver.tree is None else digest_of_tree(solver.tree),  # None: it has none
        "config": solver.config.as_dict(),
    }
    return common if solver.num_batches is None else common | {"num_batches": solver.num_batches}


def _versions(solver: Any) -> dict[str, str]:
    versions = {"mccfr_plus": package_version(), "torch": torch.__version__}
    return versions if solver.device == "cpu" else versions | {"device": solver.device}


def _shown(versions: dict[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items())
