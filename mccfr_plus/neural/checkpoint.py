"""Writes and reads checkpoints of neural solvers: a header and named arrays."""

import json
import os
from typing import Any

import numpy as np

from mccfr_plus.errors import CheckpointError
from mccfr_plus.files import checkpoint as checkpoint_file
from mccfr_plus.files.game_digest import digest_of, digest_of_histories
from mccfr_plus.files.json_files import check, natural, number
from mccfr_plus.solver.saved_state import HISTORY_SCHEMA
from mccfr_plus.trees.loading import file_name_of

_IDENTITY = {"algorithm": str, "game": str, "tree": str, "representation": str, "config": dict}
_NUMBERS = {"seed": (natural, None), "iterations": natural, "nodes_touched": natural, "seconds": number}
_SCHEMA = _IDENTITY | _NUMBERS | {"history": HISTORY_SCHEMA, "memory_sizes": {str: natural}}


def save(solver: Any, path: str | os.PathLike) -> None:
    numbers = {name: getattr(solver, name) for name in _NUMBERS}
    more = {"history": solver.history.kept(), "memory_sizes": solver.memory_sizes()}
    checkpoint_file.write(path, _identity_of(solver) | numbers | more, solver.state())


def restore(solver: Any, path: str | os.PathLike) -> dict[str, Any]:
    """Fills a solver's arrays from a checkpoint and returns its header. If that fails, the solver is unchanged."""
    header = header_of_run(path, solver)
    sizes = header["memory_sizes"]
    if set(sizes) != set(solver.memory_sizes()):
        raise CheckpointError(f"{path} is damaged: its memories have wrong sizes, {sizes}. Delete this file.")
    arrays = {name: array for name, array in solver.state(sizes).items() if "/optimizer/" not in name}
    try:  # optimizers have no state before the first step: theirs is as the file describes it
        described = {name: each for name, each in header["arrays"].items() if "/optimizer/" in name}
        arrays |= {name: np.zeros(shape, np.dtype(kind)) for name, (kind, shape) in described.items()}
    except (TypeError, ValueError, MemoryError):
        raise CheckpointError(f"{path} is damaged: the state of an optimizer is missing.") from None
    checkpoint_file.check(path, arrays)
    checkpoint_file.read_into(path, arrays)
    solver.load(arrays)
    return header


def read_header(path: str | os.PathLike, algorithm: str | None = None) -> dict[str, Any]:
    """Returns the header of a checkpoint of an algorithm, or of any; other files are a CheckpointError."""
    header = checkpoint_file.read_header(path)
    if "algorithm" not in header:
        raise CheckpointError(f"{path} holds a tabular solver: load it with mccfr_plus.Solver.from_checkpoint.")
    name = header["algorithm"]
    if algorithm is not None and name != algorithm:
        raise CheckpointError(f"{path} holds a run of {name}, not of {algorithm}: load it with {name}.from_checkpoint.")
    check(header, _SCHEMA, path, CheckpointError)
    return header


def header_of_run(path: str | os.PathLike, solver: Any) -> dict[str, Any]:
    """Returns the header of a checkpoint that a solver can continue; others are a CheckpointError."""
    header = read_header(path, type(solver).__name__)
    theirs, ours = header["config"] | header, _identity_of(solver)
    for name, own in (ours["config"] | ours).items():
        if name != "config" and (kept := theirs.get(name, "missing")) != own:
            raise CheckpointError(
                f"{path} belongs to another run: its {name} is {kept}, but the solver's is {own}. Choose "
                f"another file or use {header['algorithm']}.from_checkpoint, which takes the settings from {path}."
            )
    return header


def _identity_of(solver: Any) -> dict[str, Any]:
    return {
        "algorithm": type(solver).__name__,
        "game": file_name_of(str(solver.game)),
        "tree": digest_of_histories(solver.game) if solver.tree is None else digest_of(solver.tree),
        "representation": solver.representation.kind,
        "config": json.loads(json.dumps(solver.config.as_dict())),
    }
