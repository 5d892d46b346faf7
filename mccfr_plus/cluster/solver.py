"""The solver whose traversals many processes make, on one machine or several."""

import contextlib
import os
from typing import Self

import numpy as np

from mccfr_plus.averages import PowerAverage
from mccfr_plus.cluster.cluster import RAY, Cluster
from mccfr_plus.cluster.engine import DistributedEngine
from mccfr_plus.cluster.worker_pool import WorkerPool
from mccfr_plus.errors import CheckpointError, ConfigError
from mccfr_plus.estimators import Estimator
from mccfr_plus.evaluation.exact import AnyGame
from mccfr_plus.minimizers import Minimizer
from mccfr_plus.parameters import Seed, check_whole
from mccfr_plus.solver import saved_state as checkpoints
from mccfr_plus.solver.engine import Engine
from mccfr_plus.solver.solver import Solver
from mccfr_plus.trees.game_tree import GameTree
from mccfr_plus.trees.needs import NO_VALUES
from mccfr_plus.trees.tree import Tree


class DistributedSolver(contextlib.AbstractContextManager, Solver):
    """A `Solver` whose gradients are sampled by workers on a Ray cluster.

    In every round, workers get the current strategy, make a fixed number of batches of traversals, each with its own
    random stream, and return sparse sums. The driver adds the sums in the order of batches and updates. So a gradient
    is the mean of many estimates, without bias (Farina, Kroer, Sandholm 2020, section 6). Results depend on `seed`,
    `num_batches` and `traversals`, but not on the number or the speed of workers, or on a worker's crash.

    It runs, is evaluated and writes checkpoints like a `Solver`. Close it after use, or use it in a ``with`` block.

    Args:
        game: A `pyspiel.Game`, a game string, or a `GameTree`. It must fit into the memory of each machine. Workers
            get the compiled tree and do not load the game.
        estimator, minimizer, averaging: See `Solver`; the estimator must sample.
        alternating: See `Solver`. False: one round serves all players, which takes half of the rounds for two players.
        num_batches: Number of batches per gradient: at least the number of workers, several times as many if some
            workers are slower than others.
        traversals: Number of traversals per batch.
        seed: An integer for a repeatable run, a numpy generator, or None.
        workers: Number of processes that sample; None: one per CPU of the cluster.
        cluster: An address as for `Cluster`, a connected `Cluster`, or ``"local"``: this process samples, with the
            same results.

    Raises:
        GameError, BudgetError, ConfigError: As for `Solver`, or if Ray is needed and not installed.

    Examples:
        >>> from mccfr_plus.cluster import DistributedSolver
        >>> with DistributedSolver("kuhn_poker", num_batches=4, traversals=100, seed=1, cluster="local") as solver:
        ...     solver.run(200).exploitability() < 0.01
        True
    """

    def __init__(
        self,
        game: AnyGame,
        estimator: Estimator | str = "external",
        minimizer: Minimizer | str = "rm",
        averaging: PowerAverage | str | None = None,
        *,
        alternating: bool | None = None,
        num_batches: int = 8,
        traversals: int = 1000,
        seed: Seed = None,
        workers: int | None = 2,
        cluster: Cluster | str = RAY,
    ):
        check_whole("num_batches", num_batches)
        check_whole("traversals", traversals)
        self.num_batches, self.traversals, self.workers = int(num_batches), int(traversals), workers
        self._worker_pool = WorkerPool(workers, cluster)
        super().__init__(
            game,
            estimator,
            minimizer,
            averaging,
            alternating=alternating,
            batch=self.num_batches * self.traversals,
            seed=seed,
            tree="compiled",
        )

    def _new_engine(self, tree: Tree, rngs: np.ndarray) -> Engine:
        if NO_VALUES not in self.estimator.provides:
            raise ConfigError(
                f"estimator={self.estimator.short_name!r} in a distributed solver: its traversals write to a table of "
                "the values of histories, which every worker would have to share. Use external or outcome."
            )
        assert isinstance(tree, GameTree)
        return DistributedEngine(self.config, tree, rngs, self.num_batches, self._worker_pool)

    def close(self) -> None:
        """Ends the workers, and the connection if it was made here. Results stay; `run` would start workers again."""
        self._worker_pool.close()

    def __exit__(self, *error: object) -> None:
        self.close()

    @classmethod
    def from_checkpoint(  # type: ignore[override]
        cls,
        path: str | os.PathLike,
        game: AnyGame | None = None,
        *,
        workers: int | None = 2,
        cluster: Cluster | str = RAY,
    ) -> Self:
        """Returns a solver in the state of a checkpoint; see `Solver.from_checkpoint`.

        `workers` and `cluster` may differ from those of the run. CheckpointError if the solver was not distributed.
        """
        header = checkpoints.read_header(path)
        num_batches = header["num_batches"]
        if num_batches is None:
            raise CheckpointError(f"{path} was written by a solver that is not distributed: load it with Solver.")
        arguments = checkpoints.arguments_of(path, header)
        known = {name: arguments[name] for name in ("estimator", "minimizer", "averaging", "alternating", "seed")}
        known |= {"num_batches": num_batches, "traversals": header["batch"] // num_batches}
        solver = cls(header["game"] if game is None else game, **known, workers=workers, cluster=cluster)
        return solver.restore(path)

    def __repr__(self) -> str:
        return f"Distributed{super().__repr__()}"
