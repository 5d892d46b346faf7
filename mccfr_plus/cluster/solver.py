"""The solver whose traversals are made by many processes, on one machine or many."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import pyspiel

from mccfr_plus.averages.averaging import PowerAverage
from mccfr_plus.cluster.closing import Closing
from mccfr_plus.cluster.cluster import LOCAL, RAY, Cluster, check_address
from mccfr_plus.cluster.engine import DistributedEngine
from mccfr_plus.cluster.owner import Rules
from mccfr_plus.cluster.sampler import Task
from mccfr_plus.cluster.split import Part, Places
from mccfr_plus.cluster.split_crew import SplitActors, SplitCrew, SplitOwnProcess
from mccfr_plus.cluster.split_engine import SplitEngine
from mccfr_plus.cluster.worker_pool import Actors, OwnProcess, WorkerPool
from mccfr_plus.errors import CheckpointError, ConfigError
from mccfr_plus.estimators import Estimator
from mccfr_plus.kernels.work_partition import MAX_OWNERS
from mccfr_plus.minimizers import Minimizer
from mccfr_plus.solver import saved_state as checkpoints
from mccfr_plus.solver.engine import Engine
from mccfr_plus.solver.solver import Solver
from mccfr_plus.tree.arrays import TreeArrays
from mccfr_plus.tree.game_tree import GameTree
from mccfr_plus.tree.lazy_tree import LazyTree


class DistributedSolver(Closing, Solver):
    """A `Solver` whose gradients are sampled by workers on a Ray cluster.

    In every round, workers get the current strategy, make a fixed number of chunks of traversals, each with a random stream
    of its own, and send back sparse sums. These are added up in the order of chunks, and the minimizer acts. That is a
    batch in the sense of Farina, Kroer, Sandholm 2020, section 6 (the mean of estimates), without bias. Results depend
    on the seed, on `chunks` and on `traversals`: not on the number of workers, on which of them is faster, or on one that
    dies.

    It runs, is evaluated and writes checkpoints like a `Solver`. Close it after use, or use it in a ``with`` block.

    Args:
        game: A `pyspiel.Game`, a game string, or a `GameTree`. It must fit into the memory of each machine; workers
            get the compiled tree, and need not know the game.
        estimator: See `Solver`; one that samples.
        minimizer: See `Solver`.
        averaging: See `Solver`.
        alternating: See `Solver`. False halves the number of rounds of an iteration for two players: all players'
            traversals are made under one strategy.
        chunks: How many chunks make one gradient. At least the number of workers, or some have nothing to do; several
            times as many if some are slower than others.
        traversals: How many traversals make a chunk.
        seed: An integer for a repeatable run, a numpy generator, or None.
        workers: How many processes sample.
        owners: Among how many further processes the tables are split, so that no machine must hold all of them: each
            has the regrets and averages of whole subtrees of information sets, and their strategy, which workers fetch.
            0: this process has all. The results are the same bits. If an owner is lost, so is its part: go on from a
            checkpoint then.
        cluster: An address as for `Cluster`, a connected `Cluster`, or ``"local"``: this process does all by itself,
            with the same results.

    Raises:
        GameError: If the game cannot be compiled, or a part is wrong for it; BudgetError if it is too large.
        ConfigError: If a part is unknown, parameters are out of range, or parts do not go together.

    Example:
        >>> from mccfr_plus.cluster import DistributedSolver
        >>> with DistributedSolver("kuhn_poker", chunks=4, traversals=100, seed=1, cluster="local") as solver:
        ...     solver.run(200).exploitability() < 0.01
        True
    """

    def __init__(
        self,
        game: pyspiel.Game | str | GameTree,
        estimator: Estimator | str = "external",
        minimizer: Minimizer | str = "rm",
        averaging: PowerAverage | str | None = None,
        *,
        alternating: bool | None = None,
        chunks: int = 8,
        traversals: int = 1000,
        seed: int | np.random.Generator | None = None,
        workers: int = 2,
        owners: int = 0,
        cluster: Cluster | str = RAY,
    ):
        if isinstance(owners, bool) or not isinstance(owners, int | np.integer) or not 0 <= owners <= MAX_OWNERS:
            raise ConfigError(
                f"owners={owners!r}: must be a whole number from 0, where the tables stay here, to {MAX_OWNERS}."
            )
        for name, value in (("chunks", chunks), ("traversals", traversals), ("workers", workers)):
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
                raise ConfigError(f"{name}={value!r}: must be a whole number, at least 1.")
        if not isinstance(cluster, Cluster) and cluster != LOCAL:
            check_address(cluster)
        self.chunks, self.traversals, self.workers = int(chunks), int(traversals), int(workers)
        self.owners = int(owners)
        self._cluster = cluster
        self._own_cluster: Cluster | None = None
        super().__init__(
            game,
            estimator,
            minimizer,
            averaging,
            alternating=alternating,
            batch=self.chunks * self.traversals,
            seed=seed,
            tree="compiled",
        )

    def _new_engine(self, tree: GameTree | LazyTree, rngs: np.ndarray) -> Engine:
        if self.estimator.keeps_values:
            raise ConfigError(
                f"estimator={self.estimator.short_name!r} in a distributed solver: its traversals write to a table of the "
                "values of histories, which every worker would have to share. Use external or outcome."
            )
        assert isinstance(tree, GameTree)
        if self.owners:
            return SplitEngine(self._config, tree, rngs, self.chunks, self.owners, self._new_split_crew)
        return DistributedEngine(self._config, tree, rngs, self.chunks, self._new_worker_pool)

    def _new_worker_pool(self, arrays: TreeArrays, task: Task) -> WorkerPool:
        cluster = self._connected()
        return OwnProcess(arrays, task) if cluster is None else Actors(cluster, self.workers, arrays, task)

    def _new_split_crew(
        self, arrays: TreeArrays, places: Places, parts: list[Part], task: Task, rules: Rules
    ) -> SplitCrew:
        cluster = self._connected()
        if cluster is None:
            return SplitOwnProcess(arrays, places, parts, task, rules)
        return SplitActors(cluster, self.workers, arrays, places, parts, task, rules)

    def _connected(self) -> Cluster | None:
        """Returns the cluster, connected; None if this process does all by itself."""
        if self._cluster == LOCAL:
            return None
        if isinstance(self._cluster, Cluster):
            return self._cluster
        if self._own_cluster is None:
            cluster = Cluster(self._cluster, cpus=max(self.workers + self.owners, os.cpu_count() or 1))
            cluster.__enter__()
            self._own_cluster = cluster
        return self._own_cluster

    # --- the end ---

    def close(self) -> None:
        """Ends the workers, and the connection if it was made here. The results stay; `run` would begin anew."""
        engine = self._engine
        assert isinstance(engine, DistributedEngine)
        try:
            engine.close()
        finally:
            if self._own_cluster is not None:
                self._own_cluster.close()
                self._own_cluster = None

    # --- checkpoints ---

    @classmethod
    def from_checkpoint(  # type: ignore[override]
        cls,
        path: str | os.PathLike,
        game: pyspiel.Game | str | GameTree | None = None,
        *,
        workers: int = 2,
        owners: int = 0,
        cluster: Cluster | str = RAY,
    ) -> Self:
        """Returns a solver as it was when a checkpoint was written.

        Args:
            path: The checkpoint.
            game: Its game, or the tree if it is compiled already; None: the game that the file names.
            workers: See `DistributedSolver`; it need not be what it was.
            owners: Likewise.
            cluster: Likewise.

        Raises:
            CheckpointError: If the file is no checkpoint or damaged, of another game, of a solver that is not
                distributed, or of parts that are not built in.
            GameError: If the game cannot be loaded or compiled.
        """
        header = checkpoints.read_header(path)
        if header["chunks"] is None:
            raise CheckpointError(f"{path} was written by a solver that is not distributed: load it with Solver.")
        arguments = _arguments_of(path, header)
        game = header["game"] if game is None else game
        solver = cls(game, **arguments, workers=workers, owners=owners, cluster=cluster)
        solver.restore(path)
        return solver

    def __repr__(self) -> str:
        return (
            f"DistributedSolver({str(self.tree.game)!r}, estimator={self.estimator!r}, minimizer={self.minimizer!r}, "
            f"averaging={self.averaging!r}, alternating={self.alternating!r}, chunks={self.chunks!r}, "
            f"traversals={self.traversals!r}, workers={self.workers!r}, owners={self.owners!r})"
        )


def _arguments_of(path: str | os.PathLike, header: dict[str, Any]) -> dict[str, Any]:
    known: Sequence[str] = ("estimator", "minimizer", "averaging", "alternating", "seed")
    arguments = checkpoints.arguments_of(path, header)
    chunks = header["chunks"]
    return {name: arguments[name] for name in known} | {"chunks": chunks, "traversals": header["batch"] // chunks}
