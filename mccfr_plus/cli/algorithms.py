"""``--algorithm`` of `mccfr-plus solve`: which solver runs, and which flags go with it."""

from __future__ import annotations

from typing import Any

from absl import flags

from mccfr_plus.checkpoints import file as checkpoint_file
from mccfr_plus.checkpoints.lock import CheckpointLock
from mccfr_plus.cli.checkpoint_flags import complain_if_different
from mccfr_plus.cli.command import UsageError
from mccfr_plus.cli.flag_kinds import OneOf, Setting
from mccfr_plus.errors import CheckpointError

TABULAR = "tabular"

# Solvers with networks, as `mccfr_plus.neural` calls them; each has a config of that name and "Config".
NEURAL = {
    "deep_cfr": "DeepCFR",
    "dream": "DREAM",
    "escher": "ESCHER",
    "nfsp": "NFSP",
    "batched_deep_cfr": "BatchedDeepCFR",
    "batched_dream": "BatchedDREAM",
    "batched_escher": "BatchedESCHER",
    "batched_nfsp": "BatchedNFSP",
}

# Those that ask pyspiel for everything, and compile no tree.
WITHOUT_TREE = ("batched_deep_cfr", "batched_dream", "batched_escher", "batched_nfsp")

DISTRIBUTED = "Distributed"  # what the classes' names begin with that sample on a cluster

# Flags that say nothing about networks, and what does.
_OF_TABLES: dict[str, str] = {
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


def define(values: flags.FlagValues) -> None:
    """Defines the flags."""
    meaning = "What regrets are kept in: tables, or networks (needs torch: pip install 'mccfr_plus[neural]')."
    flags.DEFINE(OneOf((TABULAR, *NEURAL)), "algorithm", TABULAR, meaning, values)
    meaning = "A setting of an algorithm with networks, such as traversals=1000; may be given several times."
    flags.DEFINE_multi(Setting(), flags.ArgumentSerializer(), "set", None, meaning, values)


def algorithm_of(values: Any, claim: CheckpointLock | None) -> str:
    """Returns the algorithm of the command line, or of the checkpoint that it goes on from.

    Raises:
        CheckpointError: If they are not the same, or the checkpoint's is not known.
        UsageError: If a flag is given that says nothing about it.
    """
    algorithm = values.algorithm
    if claim is not None and values.resume:
        algorithm = _in_checkpoint(claim)
        if values["algorithm"].present:
            complain_if_different(claim, "algorithm", algorithm, values.algorithm)
    if algorithm == TABULAR:
        if values["set"].present:
            name = values["set"].value[0][0]
            raise UsageError(
                f"--set {name}=... is about networks, and --algorithm={TABULAR} has none: leave it out, or give one of "
                f"--algorithm={', '.join(NEURAL)}."
            )
        return algorithm
    for name, instead in _OF_TABLES.items():
        if values[name].present and not (name == "bound_seconds" and algorithm in WITHOUT_TREE):
            raise UsageError(_does_not_go(f"--{name}", algorithm, instead))
    if values.tree == "lazy":
        raise UsageError(_does_not_go("--tree=lazy", algorithm, "it is_lazy no tree"))
    if algorithm in WITHOUT_TREE and values.cluster is not None:
        others = [name for name in NEURAL if name not in WITHOUT_TREE]
        raise UsageError(
            f"--cluster with --algorithm={algorithm}: it asks pyspiel in this process. Leave it out, or give one of "
            f"--algorithm={', '.join(others)}."
        )
    if algorithm in WITHOUT_TREE and values["target_exploitability"].present:
        raise UsageError(
            f"--target_exploitability is an exploitability, and --algorithm={algorithm} cannot compute one: give "
            "--iterations or --seconds."
        )
    return algorithm


def _does_not_go(flag: str, algorithm: str, instead: str) -> str:
    more = f" ({instead})" if instead else ""
    return f"{flag} is about --algorithm={TABULAR}, and --algorithm={algorithm} does not take it{more}: leave it out."


def _in_checkpoint(claim: CheckpointLock) -> str:
    name = checkpoint_file.read_header(claim).get("algorithm")
    if name is None:
        return TABULAR
    for algorithm, class_name in NEURAL.items():
        if name in (class_name, DISTRIBUTED + class_name):
            return algorithm
    raise CheckpointError(
        f"{claim} is of a run of {name}, which is none of --algorithm={', '.join(NEURAL)}: go on from it in Python."
    )
