"""Neural solvers whose samples come from workers on a Ray cluster. They need the extras ``ray`` and ``neural``.

Workers only sample: they get the game's arrays once and the strategy table once per phase, need no torch, and return
batches of histories, each with its own seed. Their results depend on their arguments alone. Networks, memories and
checkpoints stay in the driver, which adds histories in the order of batches. So results are bitwise identical for the
same seed and the same number of batches: the number and the speed of workers, and workers that die, change nothing.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator
from typing import Any

from mccfr_plus.cluster.cluster import RAY, Closing, Cluster
from mccfr_plus.cluster.worker_pool import WorkerPool
from mccfr_plus.estimators.base import check_whole
from mccfr_plus.neural.algorithms import DREAM, ESCHER, DeepCFR
from mccfr_plus.neural.env import TreeEnv
from mccfr_plus.neural.nfsp import NFSP
from mccfr_plus.neural.sampling.positions import TreeObserver
from mccfr_plus.neural.solver import GameOrTree, NeuralSolver, Seed


class RemoteTreeEnv(TreeEnv):
    """A compiled tree whose histories are sampled by workers.

    Args:
        pool: The workers, which are started when they are needed.
        num_batches: Into how many batches histories are divided. Each has the next seed of `rng`.
        game, name: See `TreeEnv`.
    """

    def __init__(self, pool: WorkerPool, num_batches: int, game: Any, name: str):
        super().__init__(game, name)
        self._worker_pool, self._num_batches = pool, num_batches

    def prepare(self) -> None:
        super().prepare()
        self._start_workers()

    def _start_workers(self) -> None:
        if not self._worker_pool.has_started:
            tree = self.tree
            num_bytes = sum(array.nbytes for array in (*tree.arrays, tree.slot_action, tree.outcome_action))
            arrays = dataclasses.replace(tree, game=None, info_states=())  # what sampling reads
            constants, what = (arrays, self.num_actions), f"the compiled tree of {tree.game}"
            self._worker_pool.start(TreeObserver, constants, num_bytes, what)

    def parts(self, histories: Any, count: int, parallel: int) -> Iterator[int]:
        least, more = divmod(count, self._num_batches)
        for batch in range(self._num_batches):
            yield from super().parts(histories, least + (batch < more), parallel)

    def sample(self, histories: Any, count: int, parallel: int) -> Iterator[Any]:
        self._start_workers()
        tasks = [(part, self.new_seed()) for part in self.parts(histories, count, parallel)]
        for found in self._worker_pool.work(histories, tasks):
            self.nodes[0] += found.nodes
            yield found


class Distributed(Closing, NeuralSolver):
    """A neural solver whose samples come from workers, which end with a ``with`` block, or by `close`.

    Args:
        game, config, seed: See the solver that it is a subclass of.
        workers: How many processes sample; 0: this one does, without Ray; None: as many as the cluster has CPUs.
        num_batches: Into how many batches sampled histories are divided, each with its own seed. Results are bitwise
            identical for the same seed and number of batches, whatever the workers are.
        cluster: A connected `Cluster`; or an address as for `Cluster`; or ``"local"``: this process samples, without
            Ray.
        device: Where this process trains networks, as torch calls it; None: on a GPU if there is one. Results differ
            between devices.
        **modules: ``network``, ``optimizer`` and ``features``; see `DeepCFR`.

    Raises:
        ConfigError: If an argument is out of range, or Ray is needed and not installed.
        GameError: If the game cannot be loaded or compiled, has no information-state tensors or imperfect recall.
        BudgetError: If it is too large to be compiled.
    """

    def __init__(
        self,
        game: GameOrTree,
        config: Any = None,
        seed: Seed = None,
        *,
        workers: int | None = None,
        num_batches: int = 8,
        cluster: str | Cluster = RAY,
        device: str | None = None,
        **modules: Any,
    ):
        check_whole("num_batches", num_batches)
        self.num_batches, self._worker_pool = int(num_batches), WorkerPool(workers, cluster)
        self.environment = functools.partial(RemoteTreeEnv, self._worker_pool, self.num_batches)
        super().__init__(game, config, seed, device=device, **modules)

    def close(self) -> None:
        """Ends the workers, and the connection if it was made here. `run` would start them again."""
        self._worker_pool.close()


class DistributedDeepCFR(Distributed, DeepCFR):
    """`DeepCFR` with traversals by workers on a Ray cluster, and networks in the driver.

    See `DeepCFR` and `Distributed` for the arguments and errors. With ``num_batches=1`` it is bitwise identical to
    `DeepCFR`, as those below to theirs.

    Examples:
        >>> from mccfr_plus.cluster.neural import DistributedDeepCFR
        >>> from mccfr_plus.neural import DeepCFRConfig
        >>> config = DeepCFRConfig(traversals=200, hidden_layers=(32,))
        >>> with DistributedDeepCFR("kuhn_poker", config, seed=1, cluster="local") as solver:
        ...     solver.run(30).exploitability() < 0.1
        True
    """


class DistributedDREAM(Distributed, DREAM):
    """`DREAM` with trajectories by workers on a Ray cluster; see `DREAM` and `Distributed`."""


class DistributedESCHER(Distributed, ESCHER):
    """`ESCHER` with trajectories by workers on a Ray cluster; see `ESCHER` and `Distributed`."""


class DistributedNFSP(Distributed, NFSP):
    """`NFSP` with episodes played by workers on a Ray cluster; see `NFSP` and `Distributed`.

    A larger ``parallel_episodes`` makes the fixed cost of a phase matter less.
    """
