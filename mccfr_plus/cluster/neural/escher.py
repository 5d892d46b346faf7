"""ESCHER whose traversals are made on a cluster."""

from __future__ import annotations

from typing import Any

import numpy as np

from mccfr_plus.cluster.neural.advantages import DistributedAdvantages
from mccfr_plus.cluster.neural.traversals import PathWalks, Task
from mccfr_plus.neural import escher_config as configs
from mccfr_plus.neural.config import AdvantageConfig
from mccfr_plus.neural.escher import ESCHER
from mccfr_plus.neural.escher_config import ESCHERConfig
from mccfr_plus.neural.history_values import ExactValues
from mccfr_plus.neural.training import Learner

_VALUES = 1  # behind the chunk's number in the key of a stream: traversals whose histories are learned from


class DistributedESCHER(DistributedAdvantages, ESCHER):
    """`ESCHER` with traversals by workers on a Ray cluster, and networks in the driver.

    A turn has two phases: traversals for the network of values give how often each history was visited; traversals for regrets
    get what that network, or the pass over the tree, holds histories to be worth. Chunk c of the first has the random
    stream of (seed, iteration, player, c, 1).

    Args:
        game: See `ESCHER`.
        config: An `ESCHERConfig`; None: its defaults.
        seed: An integer for a repeatable run; a numpy generator, or None: an integer is drawn, and kept as `seed`.
        **others: ``workers``, ``chunks``, ``cluster`` and ``device``; see `Distributed`.

    Raises:
        ConfigError: If an argument is out of range, or Ray is needed and not installed.
        GameError: If the game cannot be loaded or compiled, has no information-state tensors or imperfect recall.
        BudgetError: If it is too large to be compiled, or its histories' tensors are.

    Reference: McAleer, Farina, Lanctot, Sandholm 2023, "ESCHER: Eschewing importance sampling in games by computing a
    history value function to estimate regret", section 4. Differs from `ESCHER` in the random numbers alone: with
    ``chunks=1`` traversals are its traversals, given the same ones.

    Example:
        >>> from mccfr_plus.cluster.neural import DistributedESCHER
        >>> from mccfr_plus.neural import ESCHERConfig
        >>> config = ESCHERConfig(traversals=100, values="exact")
        >>> solver = DistributedESCHER("kuhn_poker", config, seed=1, cluster="local").run(3)
        >>> solver.iterations, len(solver.average_policy())
        (3, 12)
    """

    worker = PathWalks

    def _counts(self, config: AdvantageConfig) -> dict[str, int]:
        assert isinstance(config, ESCHERConfig)
        learned = {"value_traversals": config.value_traversals} if config.values == configs.NETWORK else {}
        return super()._counts(config) | learned

    def _workers_arguments(self) -> tuple[Any, ...]:
        return self._sampler.exploration, 1.0, False

    def _learners(self) -> list[Learner]:
        learned = [] if isinstance(self.values, ExactValues) else [self.values.learner]
        return super()._learners() + learned

    def _shared(self, player: int) -> tuple[np.ndarray, np.ndarray]:
        return self._strategy, self.values.table[player]

    def _visit(self, player: int, iteration: int) -> None:
        everybody = tuple(range(self.tree.num_players))
        tasks = [
            Task(everybody, traversals, stream, wants_samples=False, wants_visits=True)
            for traversals, stream in self._streams(self.config.value_traversals, iteration, player, behind=(_VALUES,))
        ]
        for chunk in self._work((self._strategy, None), tasks):
            self._note(chunk)
