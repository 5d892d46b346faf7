"""What distributed neural solvers share: workers, a plan of chunks, and checkpoints that tell it."""

from __future__ import annotations

import abc
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import pyspiel

from mccfr_plus.cluster.closing import Closing
from mccfr_plus.cluster.cluster import RAY, Cluster
from mccfr_plus.cluster.neural.plan import CHUNKS, check_chunks, seed_of, shares_of
from mccfr_plus.cluster.neural.workers import Workers
from mccfr_plus.cluster.streams import stream_of
from mccfr_plus.neural import checkpoint as checkpoints
from mccfr_plus.neural.device import CPU, device_of
from mccfr_plus.neural.runner import NeuralSolver, config_or_default
from mccfr_plus.neural.training import Learner
from mccfr_plus.tree.game_tree import GameTree


class Distributed(Closing, NeuralSolver):
    """A solver whose samples come from workers. A subclass gives `_counts`, `_workers_arguments`, `_learners`
    and ``worker``.

    Ends its workers at the end of a ``with`` block, or by `close`.

    Args:
        game: See the solver that it is a subclass of.
        config: The same.
        seed: An integer for a repeatable run, a numpy generator or None for an integer that is drawn: see `seed`.
        workers: How many processes sample; 0: this one does, without Ray; None: as many as the cluster has CPUs.
        chunks: Into how many a player's sampling phase is divided, each with a random stream of its own. The same seed
            and chunks give the same bits, whatever the workers are.
        cluster: A connected `Cluster`; or the address of one, as `Cluster` takes it; or ``"local"``: this process
            samples, without Ray.
        device: Where this process trains networks, as torch calls it; None: on a GPU if there is one. On another
            device bits are others.

    Raises:
        ConfigError: If an argument is out of range, chunks would be empty, or Ray is needed and not installed.
        GameError: If the game cannot be loaded or compiled, has no information-state tensors or imperfect recall.
        BudgetError: If it is too large to be compiled.
    """

    worker: ClassVar[Callable[..., Any]]  # the class whose objects sample; see `Workers.begin`
    seed: int
    chunks: int

    def __init__(
        self,
        game: pyspiel.Game | str | GameTree,
        config: Any = None,
        seed: int | np.random.Generator | None = None,
        *,
        workers: int | None = None,
        chunks: int = CHUNKS,
        cluster: str | Cluster = RAY,
        device: str | None = None,
    ):
        config = config_or_default(config, self.config_class)
        check_chunks(chunks, self._counts(config))
        self.chunks = int(chunks)
        self._workers = Workers(workers, cluster)
        where = device_of(device)
        super().__init__(game, config, seed_of(seed))  # type: ignore[arg-type]
        self.device = str(where)
        if where != CPU:
            for learner in self._learners():
                learner.use(where)

    # --- what a subclass gives ---

    @abc.abstractmethod
    def _counts(self, config: Any) -> dict[str, int]:
        """Returns what is divided into chunks, by the name of the setting."""

    @abc.abstractmethod
    def _workers_arguments(self) -> tuple[Any, ...]:
        """Returns what `worker` is made with besides the tree."""

    @abc.abstractmethod
    def _learners(self) -> list[Learner]:
        """Returns all networks."""

    # --- sampling ---

    def _prepare(self) -> None:
        super()._prepare()  # type: ignore[safe-super]
        self._begin_workers()

    def _begin_workers(self) -> None:
        if not self._workers.has_begun:
            self._workers.begin(type(self).worker, self.tree, *self._workers_arguments())

    def _work(self, shared: Any, tasks: Sequence[Any]) -> Iterator[Any]:
        """Yields what comes of tasks, in their order."""
        self._begin_workers()
        return self._workers.work(shared, tasks)

    def _streams(self, count: int, *key: int, behind: tuple[int, ...] = ()) -> list[tuple[int, np.ndarray]]:
        """Returns each chunk's share of a count, and the random stream of (seed, *key, chunk, *behind)."""
        shares = shares_of(count, self.chunks)
        return [(share, stream_of(self.seed, *key, chunk, *behind)) for chunk, share in enumerate(shares)]

    def close(self) -> None:
        """Ends the workers, and the connection if it was made here. The solver can be asked, saved, and run again."""
        self._workers.close()

    # --- checkpoints ---

    @classmethod
    def load(
        cls,
        path: str | os.PathLike,
        game: pyspiel.Game | str | GameTree | None = None,
        *,
        workers: int | None = None,
        cluster: str | Cluster = RAY,
        device: str | None = None,
    ) -> Self:
        """Returns a solver as it was when a checkpoint was written, with its plan of chunks.

        Args:
            path: The checkpoint.
            game: Its game, or the tree if it is compiled already; None: the game that the file names.
            workers: As many as you like: see the class.
            cluster: See the class.
            device: See the class.

        Raises:
            CheckpointError: If the file is no checkpoint or damaged, or of another algorithm or game.
            ConfigError: If workers, cluster or device is none, or Ray is needed and not installed.
            GameError: If the game cannot be loaded or compiled.
        """
        header = checkpoints.read_header(path, cls.__name__)
        config = checkpoints.config_of(path, header, cls.config_class)
        solver = cls(
            header["game"] if game is None else game,
            config,
            seed=header["seed"],
            workers=workers,
            chunks=checkpoints.chunks_of(path, header),
            cluster=cluster,
            device=device,
        )
        return solver.restore(path)


def writable(array: np.ndarray) -> np.ndarray:
    """Returns an array that may be written to: itself or a copy, for which no kernel has to be compiled anew."""
    return np.require(array, requirements="W")
