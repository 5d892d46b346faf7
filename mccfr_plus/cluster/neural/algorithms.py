"""Distributed Deep CFR, DREAM, ESCHER and NFSP."""

from __future__ import annotations

from collections.abc import Iterator

from mccfr_plus.cluster.neural.batches import EpisodeBatches, EpisodePolicies, EpisodeResult
from mccfr_plus.cluster.neural.env import Distributed, DistributedTraversals
from mccfr_plus.neural.algorithms import DREAM, ESCHER, DeepCFR
from mccfr_plus.neural.nfsp import NFSP

_ALL_PLAYERS = 0  # in place of a player in the key of a stream


class DistributedDeepCFR(DistributedTraversals, DeepCFR):
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


class DistributedDREAM(DistributedTraversals, DREAM):
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


class DistributedESCHER(DistributedTraversals, ESCHER):
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

    def _worker_arguments(self) -> tuple[float, ...]:
        return (self.config.anticipatory,)

    def _play(self, iteration: int) -> Iterator[None]:
        self._begin_phase("episodes")
        # A copy: learning writes to the tables while batches that need the old ones are still to be played.
        tables = type(self._tables)(*(table.copy() for table in self._tables))
        tasks = self._tasks(self.config.episodes, iteration, _ALL_PLAYERS)
        for result in self._work(EpisodePolicies(tables, self._epsilon()), tasks):
            self._count(result)
            yield

    def _count(self, result: EpisodeResult) -> None:
        for number, player in enumerate(self._players):
            player.transitions.add_rows(records=result.transitions[number])
            player.decisions.add_rows(records=result.decisions[number])
        self._episodes.steps += result.steps
        self._env.sampler.state()["nodes"][0] += result.nodes_touched
