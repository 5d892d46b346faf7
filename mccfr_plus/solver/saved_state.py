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
from mccfr_plus.files import file as checkpoint_file
from mccfr_plus.files.game_digest import digest_of, digest_of_arrays
from mccfr_plus.files.schema import check, natural, number, positive
from mccfr_plus.solver import history
from mccfr_plus.solver.registry import spec_of
from mccfr_plus.trees.needs import INFOSETS
from mccfr_plus.trees.tree import Sizes

logger = logging.getLogger("mccfr_plus")

# Entries that must be equal in a solver and a checkpoint, in the order in which they are compared, with their names.
_COMMON = {
    "game": "game",
    "kind": "kind of tree",
    "tree": "tree, that is rules, payoffs or the order of nodes,",
    "estimator": "estimator",
    "minimizer": "minimizer",
    "averaging": "averaging",
    "baseline": "baseline",
    "alternating": "alternating",
    "batch": "batch",
    "num_batches": "number of batches per gradient",
    "threads": "number of threads",
    "thread_mode": "thread_mode",
    "symmetry": "symmetry",
    "sampling": "sampling strategy",
}

_COMPONENT = {"spec": (str, None), "text": (str, None)}
_SCHEMA = {
    "package": str,
    "game": str,
    "kind": str,
    "tree": str,
    "estimator": _COMPONENT,
    "minimizer": _COMPONENT,
    "averaging": _COMPONENT,
    "baseline": (_COMPONENT, None),
    "alternating": bool,
    "batch": positive,
    "num_batches": (positive, None),
    "threads": positive,
    "thread_mode": (str, None),
    "symmetry": bool,
    "sampling": (str, None),
    "iterations": natural,
    "nodes_touched": natural,
    "seconds": number,
    "seed": (natural, None),
    "history": history.ENTRY,
    "sizes": dict.fromkeys(Sizes._fields, natural),
}


def save(solver: Any, path: str | os.PathLike) -> None:
    """Writes a solver's state; see `IterativeSolver.save_checkpoint`."""
    checkpoint_file.write(path, header_of(solver), solver.state())


def restore(solver: Any, path: str | os.PathLike) -> dict[str, Any]:
    """Fills a solver's arrays with those of a checkpoint and returns its header. Nothing changes if they do not fit.

    Raises:
        CheckpointError: If the file cannot be read, or is of another game, other components or other options, or needs
            more memory than the solver may take.
    """
    header = header_of_run(path, solver)
    sizes = Sizes(**header["sizes"])
    if reason := solver.tree.why_too_small(sizes):
        raise CheckpointError(f"{path} does not fit: {reason}. Give more memory.")
    engine = solver._engine
    places = engine.places(sizes)
    checkpoint_file.check(path, places)
    engine.begin_loading()
    checkpoint_file.read_into(path, places)
    engine.end_loading(sizes, places)
    if header["package"] != package_version():
        logger.warning(
            "%s was written by mccfr_plus %s, and this is %s: the run goes on, perhaps with other roundings or draws.",
            path,
            header["package"],
            package_version(),
        )
    return header


def read_header(path: str | os.PathLike) -> dict[str, Any]:
    """Returns the header of a checkpoint of a solver.

    Raises:
        CheckpointError: If the file cannot be read.
    """
    header = checkpoint_file.read_header(path)
    if "algorithm" in header:
        name = header["algorithm"]
        raise CheckpointError(f"{path} holds a run of {name}: load it with mccfr_plus.neural.{name}.from_checkpoint.")
    check(header, _SCHEMA, path, CheckpointError)
    return header


def header_of_run(path: str | os.PathLike, solver: Any) -> dict[str, Any]:
    """Returns the header of a checkpoint that a solver can continue.

    Raises:
        CheckpointError: If the file cannot be read, or is of another game, other components or other options.
    """
    header = read_header(path)
    own = _common(solver)
    for key, name in _COMMON.items():
        if header[key] != own[key]:
            raise CheckpointError(
                f"{path} belongs to another run: its {name} is {shown(header[key])}, and the solver's is "
                f"{shown(own[key])}. Give the solver what the checkpoint was made with, or give another file."
            )
    return header


def header_of(solver: Any) -> dict[str, Any]:
    """Returns the header for a solver, in JSON's types."""
    return {
        "package": package_version(),
        **_common(solver),
        "iterations": solver.iterations,
        "nodes_touched": solver.nodes_touched,
        "seconds": solver.seconds,
        "seed": solver.seed,
        "history": solver.history.kept(),
        "sizes": solver.tree.sizes()._asdict(),
    }


def arguments_of(path: str | os.PathLike, header: dict[str, Any]) -> dict[str, Any]:
    """Returns the arguments of `Solver` after the game, read from a checkpoint's header.

    Raises:
        CheckpointError: If a component is user-defined, or has a strategy or a policy as parameter.
    """
    arguments = {name: header[name] for name in ("alternating", "batch", "seed", "threads", "thread_mode")}
    arguments["thread_mode"] = arguments["thread_mode"] or "deterministic"
    arguments |= {"tree": header["kind"], "symmetry": header["symmetry"]}
    for name in ("estimator", "minimizer", "averaging", "baseline"):
        component = header[name]
        if component is not None and component["spec"] is None:
            raise CheckpointError(
                f"{path} was made with {name}={component['text']}, which no text describes: build the "
                "solver with it, and call its restore(path)."
            )
        arguments[name] = component and component["spec"]
    return arguments


def describe(component: Any, table: str) -> dict[str, str | None] | None:
    """Returns a component's description in a header: a text that the registry reads, or its repr.

    Args:
        component: An estimator, a minimizer, an average, a baseline, or None.
        table: Which of these, as the parameters of `Solver` are called.
    """
    if component is None:
        return None
    spec = spec_of(component, table)
    if spec is not None:
        return {"spec": spec, "text": None}
    # Addresses change with the process.
    text = re.sub(r" at 0x[0-9a-f]+", "", f"{type(component).__module__}: {component!r}")
    return {"spec": None, "text": " ".join(text.split())}


def shown(value: Any) -> str:
    """Returns an entry of a header as error messages show it."""
    if isinstance(value, dict):
        return str(value["spec"] or value["text"])
    return repr(value)


def _common(solver: Any) -> dict[str, Any]:
    sampling, tree = solver._engine.sampling, solver.tree
    return {
        "game": str(solver.tree.game),
        "kind": tree.kind,
        "tree": digest_of(tree),
        "estimator": describe(solver.estimator, "estimator"),
        "minimizer": describe(solver.minimizer, "minimizer"),
        "averaging": describe(solver.averaging, "averaging"),
        "baseline": describe(solver.config.baseline, "baseline"),
        "alternating": bool(solver.config.alternating),
        "batch": int(solver.config.batch),
        "num_batches": getattr(solver, "num_batches", None),  # of a distributed solver
        "threads": int(solver.config.threads),
        "thread_mode": solver.config.thread_mode if solver.config.threads > 1 else None,
        "symmetry": bool(solver.config.symmetry),
        "sampling": digest_of_arrays([sampling]) if sampling.size and INFOSETS in tree.provides else None,
    }


def package_version(name: str = "mccfr_plus") -> str:
    """Returns the version of this package, or of another one, as checkpoints and records note it."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:  # run from a source tree that is not installed
        return "of unknown version"
