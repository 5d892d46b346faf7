"""The flags of work on a cluster, and the connection that they ask for."""

from __future__ import annotations

import contextlib
import importlib
import logging
from collections.abc import Iterator, Sequence
from typing import Any

from absl import flags

from mccfr_plus.cli.command import UsageError
from mccfr_plus.cli.flag_kinds import ClusterAddress, Names
from mccfr_plus.cluster.cluster import LOCAL, Cluster
from mccfr_plus.errors import ConfigError

logger = logging.getLogger("mccfr_plus")


def define_cluster(values: flags.FlagValues, *, with_imports: bool = True) -> None:
    """Defines the flags.

    Args:
        values: Where.
        with_imports: Whether games may be those of a module of the user's.
    """
    meaning = (
        "Where runs go on: local, processes of this machine; ray, a Ray cluster that this machine belongs to, or one "
        "of this machine alone; ray://HOST:PORT, any, through Ray's client server; HOST:PORT, one that this machine "
        "is a node of."
    )
    flags.DEFINE(ClusterAddress(), "cluster", LOCAL, meaning, values)
    if with_imports:
        meaning = "With --cluster: modules to import before a game is loaded, here and in each worker."
        flags.DEFINE(Names("MODULE,..."), "worker_import", None, meaning, values)


def check_cluster_flags(values: Any) -> tuple[str, ...]:
    """Returns the modules of ``--worker_import``, imported.

    Raises:
        UsageError: If a flag makes no sense with another one.
        ConfigError: If a module cannot be imported.
    """
    imports = tuple(values.worker_import or ()) if "worker_import" in values else ()
    if values.cluster == LOCAL:
        if imports:
            raise UsageError("--worker_import is for workers of a cluster: give --cluster, too.")
        return ()
    if values.processes is not None:
        raise UsageError(
            f"--processes={values.processes} is for --cluster={LOCAL}: with --cluster={values.cluster} as many runs go "
            "on at a time as the cluster has free CPUs (ray start --num-cpus=N says how many a node offers)."
        )
    for name in imports:
        try:
            importlib.import_module(name)
        except Exception as error:
            raise ConfigError(
                f"--worker_import={name}: it cannot be imported here ({type(error).__name__}: {error}). Python must "
                "find it here and on each node, by PYTHONPATH for example."
            ) from None
    return imports


@contextlib.contextmanager
def chosen_cluster(values: Any, imports: Sequence[str] = (), games: Sequence[str] = ()) -> Iterator[Cluster | None]:
    """Gives the cluster of the flags for the length of a ``with`` block, looked at; None: runs go on here.

    Args:
        values: The flags.
        imports: See `check_cluster_flags`.
        games: What each node must be able to load.

    Raises:
        ConfigError: If Ray is not installed.
        ClusterError: If there is no cluster there, or it cannot do the work.
    """
    if values.cluster == LOCAL:
        yield None
        return
    with Cluster(values.cluster, imports=imports) as cluster:
        if cluster.cpus < 1:
            logger.warning("the cluster has no CPU: runs begin when it has one.")
        for game in games:
            cluster.check_game(game)
        yield cluster
