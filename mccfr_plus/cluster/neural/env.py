"""The environment of distributed neural solvers, whose batches workers make, and their base class."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
import pyspiel

from mccfr_plus.cluster.batch import stream_of
from mccfr_plus.cluster.cluster import RAY, Closing, Cluster
from mccfr_plus.cluster.neural.batches import (
    Task,
    TraversalBatches,
    TraversalResult,
    Traversals,
    num_bytes_of,
    without_game,
    writable,
)
from mccfr_plus.cluster.worker_pool import WorkerPool
from mccfr_plus.errors import ConfigError, check_whole
from mccfr_plus.neural import config as configs
from mccfr_plus.neural.advantages import AdvantageSolver
from mccfr_plus.neural.memory import Samples
from mccfr_plus.neural.solver import NeuralSolver, config_or_default
from mccfr_plus.neural.tree_env import TreeEnv
from mccfr_plus.tree.game_tree import GameTree

_VALUES = 1  # suffix of the key of a stream: traversals whose histories the value network learns from


class RemoteTreeEnv(TreeEnv):
    """A compiled tree whose traversals are made by the workers of a `DistributedTraversals`.

    Batch b of the traversals for player p in iteration t has the random stream of (seed, t, p, b), and of those for
    values (seed, t, p, b, 1).
    """

    def sample(self, solver: Any, player: int, iteration: int) -> Iterator[Samples]:
        learns_from_them = getattr(solver.config, "baseline", False)
        options = self.options_of(solver, player)
        shared = Traversals(self.strategy, (player,), options, wants_visits=learns_from_them)
        for result in solver._work(shared, solver._tasks(solver.config.traversals, iteration, player)):
            infosets, values, weights = result.samples
            weights = None if weights is None else writable(weights)
            yield Samples({"rows": writable(infosets["rows"])}, writable(values), weights)
            solver._count(result)

    def visit(self, solver: Any, player: int, iteration: int) -> None:
        options = None, solver.config.value_exploration, False
        shared = Traversals(self.strategy, tuple(range(self.num_players)), options, False, wants_visits=True)
        tasks = solver._tasks(solver.config.value_traversals, iteration, player, suffix=(_VALUES,))
        for result in solver._work(shared, tasks):
            solver._count(result)


class Distributed(Closing, NeuralSolver):
    """A neural solver whose samples come from workers.

    A subclass defines `_worker_arguments` and ``worker``. The workers end with a ``with`` block, or by `close`.

    Args:
        game: See the solver that it is a subclass of.
        config: The same.
        seed: An integer for a repeatable run, a numpy generator or None for an integer that is drawn: see `seed`.
        workers: How many processes sample; 0: this one does, without Ray; None: as many as the cluster has CPUs.
        num_batches: Into how many batches a player's sampling phase is divided, each with its own random stream.
            Results are bitwise identical for the same seed and number of batches, whatever the workers are.
        cluster: A connected `Cluster`; or an address as for `Cluster`; or ``"local"``: this process samples, without
            Ray.
        device: Where this process trains networks, as torch calls it; None: on a GPU if there is one. Results differ
            between devices.
        **modules: ``network``, ``optimizer`` and ``features``; see `DeepCFR`.

    Raises:
        ConfigError: If an argument is out of range, batches would be empty, or Ray is needed and not installed.
        GameError: If the game cannot be loaded or compiled, has no information-state tensors or imperfect recall.
        BudgetError: If it is too large to be compiled.
    """

    worker: ClassVar[Callable[..., Any]]  # the class whose objects sample; see `WorkerPool.start`
    seed: int
    num_batches: int

    def __init__(
        self,
        game: pyspiel.Game | str | GameTree,
        config: Any = None,
        seed: int | np.random.Generator | None = None,
        *,
        workers: int | None = None,
        num_batches: int = 8,
        cluster: str | Cluster = RAY,
        device: str | None = None,
        **modules: Any,
    ):
        config = config_or_default(config, self.config_class)
        check_whole("num_batches", num_batches)
        for name, count in _counts(config).items():
            if num_batches > count:
                raise ConfigError(
                    f"num_batches={num_batches} is more than {name}={count}: some batches would be empty. Give fewer "
                    f"batches or a larger {name}."
                )
        self.num_batches = int(num_batches)
        self._worker_pool = WorkerPool(workers, cluster)
        if isinstance(seed, np.random.Generator):
            seed = int(seed.integers(0, 2**63))
        elif seed is None:
            seed = int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
        super().__init__(game, config, seed, device=device, **modules)  # type: ignore[arg-type]

    # --- what a subclass defines ---

    @abc.abstractmethod
    def _worker_arguments(self) -> tuple[Any, ...]:
        """Returns the arguments of `worker` after the tree."""

    # --- sampling ---

    def _prepare(self) -> None:
        super()._prepare()  # type: ignore[safe-super]
        self._start_workers()

    def _start_workers(self) -> None:
        if not self._worker_pool.has_started:
            constants = (without_game(self.tree), *self._worker_arguments())
            what = f"the compiled tree of {self.tree.game}"
            self._worker_pool.start(type(self).worker, constants, num_bytes_of(self.tree), what)

    def _work(self, shared: Any, tasks: Sequence[Any]) -> Iterator[Any]:
        """Yields the results of tasks, in their order."""
        self._start_workers()
        return self._worker_pool.work(shared, tasks)

    def _tasks(self, count: int, *key: int, suffix: tuple[int, ...] = ()) -> list[Task]:
        """Returns the batches of a count; each has the random stream of (seed, *key, batch, *suffix)."""
        least, more = divmod(count, self.num_batches)
        streams = [stream_of(self.seed, *key, batch, *suffix) for batch in range(self.num_batches)]
        return [Task(least + (batch < more), stream) for batch, stream in enumerate(streams)]

    def close(self) -> None:
        """Ends the workers, and the connection if it was made here. `run` would start them again."""
        self._worker_pool.close()


class DistributedTraversals(Distributed, AdvantageSolver):
    """A solver with a network of advantages per player, whose traversals are made by workers. See `Distributed`."""

    environment = RemoteTreeEnv
    worker = TraversalBatches

    def _worker_arguments(self) -> tuple[Any, ...]:
        sampler = self._env.sampler
        return self._env.num_actions, None if self.is_external else sampler.exploration

    def _count(self, result: TraversalResult) -> None:
        """Counts what a batch visited."""
        self._env.sampler.state()["nodes"][0] += result.nodes_touched
        if result.visits is not None:
            nodes, counts = result.visits
            self._env.sampler.visited[nodes] += counts


def _counts(config: Any) -> dict[str, int]:
    """Returns what is divided into batches, by the name of the setting."""
    names = ["traversals", "value_traversals", "episodes"]
    if getattr(config, "values", None) == configs.EXACT:
        names.remove("value_traversals")
    return {name: getattr(config, name) for name in names if hasattr(config, name)}
