"""Saves and restores the state of a solver: a header and named arrays.

The arrays hold everything that carries over from one iteration to the next, so that a restored solver continues bitwise
identically. The header identifies their game, components and options.
"""

import logging
import os
import re
from importlib import metadata
from typing import Any

from mccfr_plus.errors import CheckpointError
from mccfr_plus.files import checkpoint as checkpoint_file
from mccfr_plus.files.game_digest import digest_of, digest_of_arrays
from mccfr_plus.files.json_files import check, natural, number, positive
from mccfr_plus.solver import history
from mccfr_plus.solver.registry import spec_of
from mccfr_plus.trees.needs import INFOSETS
from mccfr_plus.trees.tree import Sizes

logger = logging.getLogger("mccfr_plus")

_COMPONENTS = ("estimator", "minimizer", "averaging", "baseline")
_COMPONENT = {"spec": (str, None), "text": (str, None)}
# Entries that must be equal in a solver and a checkpoint, in the order in which they are compared.
_IDENTITY = {
    "game": str,
    "kind": str,
    "tree": str,
    "estimator": _COMPONENT,
    "minimizer": _COMPONENT,
    "averaging": _COMPONENT,
    "baseline": (_COMPONENT, None),
    "alternating": bool,
    "batch": positive,
    "num_batches": (positive, None),  # of a distributed solver
    "threads": positive,
    "thread_mode": (str, None),
    "symmetry": bool,
    "sampling": (str, None),
}
_SCHEMA = {
    "package": str,
    **_IDENTITY,
    "iterations": natural,
    "nodes_touched": natural,
    "seconds": number,
    "seed": (natural, None),
    "history": history.ENTRY,
    "sizes": dict.fromkeys(Sizes._fields, natural),
}
_LABELS = {  # in messages, where they differ from the names
    "kind": "kind of tree",
    "tree": "tree, that is rules, payoffs or the order of nodes,",
    "num_batches": "number of batches per gradient",
    "threads": "number of threads",
    "sampling": "sampling strategy",
}


def save(solver: Any, path: str | os.PathLike) -> None:
    """Writes a solver's state; see `IterativeSolver.save_checkpoint`."""
    numbers = {name: getattr(solver, name) for name in ("iterations", "nodes_touched", "seconds", "seed")}
    kept = {"history": solver.history.kept(), "sizes": solver.tree.sizes()._asdict()}
    header = {"package": package_version(), **_identity_of(solver), **numbers, **kept}
    checkpoint_file.write(path, header, solver.state())


def restore(solver: Any, path: str | os.PathLike) -> dict[str, Any]:
    """Fills a solver's arrays with those of a checkpoint and returns its header. Nothing changes if they do not fit.

    CheckpointError: as for `header_of_run`, or if it needs more memory than the solver may take.
    """
    header, engine = header_of_run(path, solver), solver._engine
    sizes, here = Sizes(**header["sizes"]), package_version()
    if reason := solver.tree.why_too_small(sizes):
        raise CheckpointError(f"{path} does not fit: {reason}. Give more memory.")
    places = engine.places(sizes)
    checkpoint_file.check(path, places)
    engine.begin_loading()
    checkpoint_file.read_into(path, places)
    engine.end_loading(sizes)
    if header["package"] != here:
        text = (
            "%s was written by mccfr_plus %s, and this is %s: the run goes on, perhaps with other roundings or draws."
        )
        logger.warning(text, path, header["package"], here)
    return header


def read_header(path: str | os.PathLike) -> dict[str, Any]:
    """Returns the header of a tabular solver's checkpoint; CheckpointError if the file cannot be read."""
    header = checkpoint_file.read_header(path)
    if "algorithm" in header:
        name = header["algorithm"]
        raise CheckpointError(f"{path} holds a run of {name}: load it with mccfr_plus.neural.{name}.from_checkpoint.")
    check(header, _SCHEMA, path, CheckpointError)
    return header


def header_of_run(path: str | os.PathLike, solver: Any) -> dict[str, Any]:
    """Returns the header of a checkpoint that a solver can continue.

    CheckpointError: if the file cannot be read, or is of another game, other components or other options.
    """
    header, own = read_header(path), _identity_of(solver)
    for name in _IDENTITY:
        if header[name] != own[name]:
            theirs, ours = (
                str(each["spec"] or each["text"]) if isinstance(each, dict) else repr(each)
                for each in (header[name], own[name])
            )
            raise CheckpointError(
                f"{path} belongs to another run: its {_LABELS.get(name, name)} is {theirs}, and the solver's is "
                f"{ours}. Give the solver what the checkpoint was made with, or give another file."
            )
    return header


def arguments_of(path: str | os.PathLike, header: dict[str, Any]) -> dict[str, Any]:
    """Returns the arguments of `Solver` after the game, read from a checkpoint's header.

    CheckpointError: if a component is user-defined, or has a strategy or a policy as parameter.
    """
    arguments = {name: header[name] for name in ("alternating", "batch", "seed", "threads", "symmetry")}
    arguments |= {"tree": header["kind"], "thread_mode": header["thread_mode"] or "deterministic"}
    for name in _COMPONENTS:
        component = header[name]
        if component is not None and component["spec"] is None:
            raise CheckpointError(
                f"{path} was made with {name}={component['text']}, which no text describes: build the "
                "solver with it, and call its restore(path)."
            )
        arguments[name] = component and component["spec"]
    return arguments


def _identity_of(solver: Any) -> dict[str, Any]:
    config, tree, sampling = solver.config, solver.tree, solver._engine.sampling
    return {
        "game": str(tree.game),
        "kind": tree.kind,
        "tree": digest_of(tree),
        **{name: _described(getattr(config, name), name) for name in _COMPONENTS},
        "alternating": bool(config.alternating),
        "batch": int(config.batch),
        "num_batches": getattr(solver, "num_batches", None),
        "threads": int(config.threads),
        "thread_mode": config.thread_mode if config.threads > 1 else None,
        "symmetry": bool(config.symmetry),
        "sampling": digest_of_arrays([sampling]) if sampling.size and INFOSETS in tree.provides else None,
    }


def _described(component: Any, table: str) -> dict[str, str | None] | None:
    """Returns a component's description in a header: a text that the registry reads, or its repr; None of None."""
    if component is None:
        return None
    spec = spec_of(component, table)
    if spec is not None:
        return {"spec": spec, "text": None}
    # Addresses change with the process.
    text = re.sub(r" at 0x[0-9a-f]+", "", f"{type(component).__module__}: {component!r}")
    return {"spec": None, "text": " ".join(text.split())}


def package_version(name: str = "mccfr_plus") -> str:
    """Returns the version of this package, or of another one, as checkpoints and records note it."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:  # run from a source tree that is not installed
        return "of unknown version"
