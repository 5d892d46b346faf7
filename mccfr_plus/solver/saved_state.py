"""Saves and restores a solver: arrays that carry over to the next iteration, and a header that says whose they are."""

import logging
import os
import re
from importlib import metadata
from typing import Any

from mccfr_plus.errors import CheckpointError
from mccfr_plus.files import checkpoint as checkpoint_file
from mccfr_plus.files.game_digest import digest_of, digest_of_arrays
from mccfr_plus.files.json_files import check, natural, number, positive
from mccfr_plus.solver.config import DETERMINISTIC, spec_of
from mccfr_plus.trees.loading import file_name_of
from mccfr_plus.trees.needs import INFOSETS
from mccfr_plus.trees.tree import Sizes

logger = logging.getLogger("mccfr_plus")


HISTORY_SCHEMA = {  # of `History.kept`
    "rows": [lambda row: isinstance(row, list) and len(row) == 4 and all(type(each) in (int, float) for each in row)],
    "seconds_evaluating": number,
}
_COMPONENTS = ("estimator", "minimizer", "averaging", "baseline")
_COMPONENT = {"spec": (str, None), "text": (str, None)}
# Entries that must be equal in a solver and a checkpoint, in the order in which they are compared.
_IDENTITY = {
    **dict.fromkeys(("game", "kind", "tree"), str),
    **dict.fromkeys(_COMPONENTS[:3], _COMPONENT),
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
    "history": HISTORY_SCHEMA,
    "sizes": dict.fromkeys(Sizes._fields, natural),
}
_LABELS = {"kind": "kind of tree", "tree": "tree, that is rules, payoffs or the order of nodes,"}  # in messages


def save(solver: Any, path: str | os.PathLike) -> None:
    """Writes a solver's state; see `IterativeSolver.save_checkpoint`."""
    numbers = {name: getattr(solver, name) for name in ("iterations", "nodes_touched", "seconds", "seed")}
    kept = {"history": solver.history.kept(), "sizes": solver.tree.sizes()._asdict()}
    header = {"package": package_version(), **_identity_of(solver), **numbers, **kept}
    checkpoint_file.write(path, header, solver.state())


def restore(solver: Any, path: str | os.PathLike) -> dict[str, Any]:
    """Fills a solver's arrays from a checkpoint and returns its header. Leaves the solver unchanged if that fails."""
    header, engine, here = header_of_run(path, solver), solver._engine, package_version()
    sizes = Sizes(**header["sizes"])
    if reason := solver.tree.why_too_small(sizes):
        raise CheckpointError(f"{path} is too large: {reason}. Raise the memory limit.")
    places = engine.places(sizes)
    checkpoint_file.check(path, places)
    engine.begin_loading()
    checkpoint_file.read_into(path, places)
    engine.end_loading(sizes)
    if header["package"] != here:
        text = (
            "%s was written by mccfr_plus %s, but this is version %s: rounding or random draws may differ from now on."
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
    """Returns the header of a checkpoint that a solver can continue, or a CheckpointError if it cannot."""
    header, own = read_header(path), _identity_of(solver)
    for name in _IDENTITY:
        if header[name] != own[name]:
            theirs, ours = (
                str(each["spec"] or each["text"]) if isinstance(each, dict) else repr(each)
                for each in (header[name], own[name])
            )
            raise CheckpointError(
                f"{path} belongs to another run: its {_LABELS.get(name, name)} is {theirs}, but the solver's is "
                f"{ours}. Create the solver with the same settings, or choose another file."
            )
    return header


def arguments_of(path: str | os.PathLike, header: dict[str, Any]) -> dict[str, Any]:
    """Returns the arguments of `Solver` after the game; CheckpointError if no text describes a component."""
    arguments = {name: header[name] for name in ("alternating", "batch", "seed", "threads", "symmetry")}
    arguments |= {"tree": header["kind"], "thread_mode": header["thread_mode"] or DETERMINISTIC}
    arguments |= {"dtype": header.get("dtype", "float64")}
    for name in _COMPONENTS:
        component = header[name]
        if component is not None and component["spec"] is None:
            raise CheckpointError(
                f"{path} was written with {name}={component['text']}, which cannot be created from the file: create a "
                "solver with this component and call restore(path)."
            )
        arguments[name] = component and component["spec"]
    return arguments


def _identity_of(solver: Any) -> dict[str, Any]:
    config, tree, sampling = solver.config, solver.tree, solver._engine.sampling
    return {
        "game": file_name_of(str(tree.game)),
        "kind": tree.kind,
        "tree": digest_of(tree),
        **{name: _described(getattr(config, name), name) for name in _COMPONENTS},
        "alternating": bool(config.alternating),
        "batch": int(config.batch),
        "num_batches": getattr(solver, "num_batches", None),
        "threads": int(config.threads),
        "thread_mode": config.thread_mode if config.threads > 1 else None,
        "symmetry": bool(config.symmetry),
        "dtype": config.dtype,
        "sampling": digest_of_arrays([sampling]) if sampling.size and INFOSETS in tree.provides else None,
    }


def _described(component: Any, table: str) -> dict[str, str | None] | None:
    """Returns a component's spec, or else its repr."""
    if component is None:
        return None
    if (spec := spec_of(component, table)) is not None:
        return {"spec": spec, "text": None}
    # Addresses change with the process.
    text = re.sub(r" at 0x[0-9a-f]+", "", f"{type(component).__module__}: {component!r}")
    return {"spec": None, "text": " ".join(text.split())}


def package_version(name: str = "mccfr_plus") -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:  # run from a source tree that is not installed
        return "of unknown version"
