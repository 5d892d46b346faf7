"""Distributed Deep CFR, DREAM, ESCHER and NFSP."""

from __future__ import annotations

import abc
from typing import Any

import numpy as np

from mccfr_plus.cluster.neural.batches import (
    EpisodeBatches,
    EpisodePolicies,
    EpisodeResult,
    EpisodeTask,
    ExternalBatches,
    PathBatches,
    TraversalResult,
    TraversalTask,
    Visits,
)
from mccfr_plus.cluster.neural.solver import Distributed
from mccfr_plus.neural import config as configs
from mccfr_plus.neural.advantage_solver import AdvantageSolver
from mccfr_plus.neural.algorithms import DREAM, ESCHER, DeepCFR
from mccfr_plus.neural.config import AdvantageConfig, ESCHERConfig
from mccfr_plus.neural.nfsp import NFSP
from mccfr_plus.neural.sampling import Samples

_VALUES = 1  # suffix of the key of a stream: traversals whose histories the value network learns from
_ALL_PLAYERS = 0  # in place of a player in the key of a stream


class DistributedAdvantages(Distributed, AdvantageSolver):
    """A solver with a network of advantages per player, whose traversals are made by workers. See `Distributed`.

    Batch b of the traversals for player p in iteration t has the random stream of (seed, t, p, b).
    """

    wants_visits = False  # whether workers count the visits of histories
    epsilon = 1.0  # of trajectories: probability of exploration

    def _counts(self, config: AdvantageConfig) -> dict[str, int]:
        return {"traversals": config.traversals}

    @abc.abstractmethod
    def _shared(self, player: int) -> Any:
        """Returns what a worker reads for a player's traversals."""

    def _taken(self, samples: Samples) -> Samples:
        """Returns those of a batch's samples that go to the memory."""
        return samples

    def _sample(self, player: int, iteration: int) -> None:
        self._begin_phase(f"traversals {player}")
        tasks = [
            TraversalTask((player,), traversals, stream, self.epsilon, wants_visits=self.wants_visits)
            for traversals, stream in self._streams(self.config.traversals, iteration, player)
        ]
        for result in self._work(self._shared(player), tasks):
            rows, regrets, weights = result.samples
            samples = Samples(_writable(rows), _writable(regrets), None if weights is None else _writable(weights))
            self._players[player].memory.add(self._taken(samples), iteration)
            self._count(result)

    def _count(self, result: TraversalResult) -> None:
        """Counts what a batch visited."""
        self._sampler.state()["nodes"][0] += result.nodes_touched
        if result.visits is not None:
            nodes, counts = Visits(*result.visits)
            self._sampler.visited[nodes] += counts


def _writable(array: np.ndarray) -> np.ndarray:
    """Returns an array that may be written to: itself or a copy, for which no kernel has to be compiled again."""
    return np.require(array, requirements="W")


class DistributedDeepCFR(DistributedAdvantages, DeepCFR):
    """`DeepCFR` with external sampling by workers on a Ray cluster, and networks in the driver.

    Args:
        game: See `DeepCFR`.
        config: Its config; None: the defaults.
        seed: See `Distributed`, as ``workers``, ``num_batches``, ``cluster`` and ``device``.

    Raises:
        MccfrPlusError: As `DeepCFR` and `Distributed`.

    Reference: Brown, Lerer, Gross, Sandholm 2019, "Deep counterfactual regret minimization", algorithms 1 and 2.
    Differs from `DeepCFR` in the random numbers alone: with ``num_batches=1`` and the same ones, the traversals are
    the same.

    Examples:
        >>> from mccfr_plus.cluster.neural import DistributedDeepCFR
        >>> from mccfr_plus.neural import DeepCFRConfig
        >>> solver = DistributedDeepCFR("kuhn_poker", DeepCFRConfig(traversals=100), seed=1, cluster="local").run(3)
        >>> solver.iterations, len(solver.average_policy())
        (3, 12)
    """

    worker = ExternalBatches

    def _worker_arguments(self) -> tuple[Any, ...]:
        return ()

    def _shared(self, player: int) -> np.ndarray:
        return self._strategy


class DistributedDREAM(DistributedAdvantages, DREAM):
    """`DREAM` with traversals by workers on a Ray cluster, and networks in the driver.

    A worker gets the strategy and the player's baselines. It returns weighted regrets and the number of visits of each
    history, from which the driver learns the values of actions.

    Args:
        game: See `DREAM`.
        config: Its config; None: the defaults.
        seed: See `Distributed`, as ``workers``, ``num_batches``, ``cluster`` and ``device``.

    Raises:
        MccfrPlusError: As `DREAM` and `Distributed`.

    Reference: Steinberger, Lerer, Brown 2020, "DREAM: Deep regret minimization with advantage baselines and model-free
    learning", section 4. Differs from `DREAM` in the random numbers alone: with ``num_batches=1`` and the same ones,
    the traversals are the same.

    Examples:
        >>> from mccfr_plus.cluster.neural import DistributedDREAM
        >>> from mccfr_plus.neural import DREAMConfig
        >>> solver = DistributedDREAM("kuhn_poker", DREAMConfig(traversals=100), seed=1, cluster="local").run(3)
        >>> solver.iterations, len(solver.average_policy())
        (3, 12)
    """

    worker = PathBatches

    def _worker_arguments(self) -> tuple[Any, ...]:
        return np.zeros(0), True

    @property
    def epsilon(self) -> float:  # type: ignore[override]
        """Probability of exploration."""
        return self.config.epsilon

    @property
    def wants_visits(self) -> bool:  # type: ignore[override]
        """Whether workers count the visits of histories: baselines are learned from them."""
        return self.config.baseline

    def _shared(self, player: int) -> tuple[np.ndarray, np.ndarray]:
        return self._strategy, self.values.table[player]

    def _taken(self, samples: Samples) -> Samples:
        return self._clipped(samples)


class DistributedESCHER(DistributedAdvantages, ESCHER):
    """`ESCHER` with traversals by workers on a Ray cluster, and networks in the driver.

    A player's turn has two phases. Traversals for the value network return the number of visits of each history.
    Traversals for regrets get the values of histories, from that network or from the pass over the tree. Batch b of the
    first phase has the random stream of (seed, iteration, player, b, 1).

    Args:
        game: See `ESCHER`.
        config: Its config; None: the defaults.
        seed: See `Distributed`, as ``workers``, ``num_batches``, ``cluster`` and ``device``.

    Raises:
        MccfrPlusError: As `ESCHER` and `Distributed`.

    Reference: McAleer, Farina, Lanctot, Sandholm 2023, "ESCHER: Eschewing importance sampling in games by computing a
    history value function to estimate regret", section 4. Differs from `ESCHER` in the random numbers alone: with
    ``num_batches=1`` and the same ones, the traversals are the same.

    Examples:
        >>> from mccfr_plus.cluster.neural import DistributedESCHER
        >>> from mccfr_plus.neural import ESCHERConfig
        >>> config = ESCHERConfig(traversals=100, values="exact")
        >>> solver = DistributedESCHER("kuhn_poker", config, seed=1, cluster="local").run(3)
        >>> solver.iterations, len(solver.average_policy())
        (3, 12)
    """

    worker = PathBatches

    def _counts(self, config: AdvantageConfig) -> dict[str, int]:
        assert isinstance(config, ESCHERConfig)
        learned = {"value_traversals": config.value_traversals} if config.values == configs.NETWORK else {}
        return super()._counts(config) | learned

    def _worker_arguments(self) -> tuple[Any, ...]:
        return self._sampler.exploration, False

    def _shared(self, player: int) -> tuple[np.ndarray, np.ndarray]:
        return self._strategy, self.values.table[player]

    def _visit(self, player: int, iteration: int) -> None:
        players = tuple(range(self.tree.num_players))
        tasks = [
            TraversalTask(players, traversals, stream, self.config.value_exploration, False, wants_visits=True)
            for traversals, stream in self._streams(self.config.value_traversals, iteration, player, suffix=(_VALUES,))
        ]
        for result in self._work((self._strategy, None), tasks):
            self._count(result)


class DistributedNFSP(Distributed, NFSP):
    """`NFSP` with episodes played by workers on a Ray cluster, and networks in the driver.

    An iteration is a round: all of its ``config.episodes`` are played with the policies and the exploration of its
    beginning. The driver takes batches in their order and makes the updates that are due after each, while workers play
    later ones. In `NFSP`, policies change within an iteration, as soon as a player has made ``config.refresh_every``
    updates. So policies here are up to an iteration old, and ``config.episodes`` matters to what is learned: fewer are
    nearer to `NFSP`, more make the fixed cost of a round matter less. The number of updates per step is the same.

    Batch b of iteration t has the random stream of (seed, t, 0, b).

    Args:
        game: See `NFSP`.
        config: Its config; None: the defaults.
        seed: See `Distributed`, as ``workers``, ``num_batches`` (of an iteration's episodes), ``cluster``, ``device``.

    Raises:
        MccfrPlusError: As `NFSP` and `Distributed`.

    Reference: Heinrich, Silver 2016, "Deep reinforcement learning from self-play in imperfect-information games",
    algorithm 1. Differs from it as `NFSP` does, and in the above.

    Examples:
        >>> from mccfr_plus.cluster.neural import DistributedNFSP
        >>> from mccfr_plus.neural import NFSPConfig
        >>> solver = DistributedNFSP("kuhn_poker", NFSPConfig(episodes=500), seed=1, cluster="local").run(3)
        >>> solver.iterations, len(solver.average_policy())
        (3, 12)
    """

    worker = EpisodeBatches

    def _counts(self, config: Any) -> dict[str, int]:
        return {"episodes": config.episodes}

    def _worker_arguments(self) -> tuple[Any, ...]:
        return (self.config.anticipatory,)

    def _play_and_learn(self, iteration: int) -> None:
        self._begin_phase("episodes")
        epsilon = np.array([self.config.epsilon(count) for count in self._episodes.steps.tolist()])
        streams = self._streams(self.config.episodes, iteration, _ALL_PLAYERS)
        tasks = [EpisodeTask(episodes, stream) for episodes, stream in streams]
        # A copy: learning writes to the tables while batches that need the old ones are still to be played.
        tables = type(self._tables)(*(table.copy() for table in self._tables))
        for result in self._work(EpisodePolicies(tables, epsilon), tasks):
            self._count(result)
            self._learn_if_due(iteration)

    def _count(self, result: EpisodeResult) -> None:
        """Adds a batch to the memories and counts."""
        for number, player in enumerate(self._players):
            player.transitions.add_rows(records=result.transitions[number])
            player.decisions.add_rows(records=result.decisions[number])
        self._episodes.steps += result.steps
        self._episodes.state()["nodes"][0] += result.nodes_touched
