"""The base class of Deep CFR, DREAM and ESCHER on compiled trees: one network of advantages per player.

For t = 1, 2, ... and each player p in turn:

1. p's strategy is added to the average with weight t: own reach x strategy at all of p's slots. This is exact, and
   replaces the strategy memory and the strategy network of the papers.
2. Traversals for p read the strategy table and sample regrets, which p's memory stores with weight t.
3. p's network is fitted to the memory by weighted least squares.
4. One forward pass over all of p's information sets gives advantages, and regret matching on them fills p's slots of
   the table.
"""

from __future__ import annotations

import abc
from typing import Any, ClassVar, NamedTuple

import numpy as np

from mccfr_plus.kernels.random_numbers import new_states
from mccfr_plus.neural import config as configs
from mccfr_plus.neural.buffer import Buffer
from mccfr_plus.neural.config import AdvantageConfig
from mccfr_plus.neural.features import Features, features_of
from mccfr_plus.neural.learner import Learner
from mccfr_plus.neural.memory import Aggregated, Discounted, Memory, Reservoir
from mccfr_plus.neural.sampling import Sampler, Samples
from mccfr_plus.neural.solver import NeuralSolver, Seed
from mccfr_plus.neural.strategy_tables import match_advantages

_RNGS_PER_PLAYER = 3  # for the memory, for initial parameters, for batches


class _Player(NamedTuple):
    features: Features
    memory: Memory
    learner: Learner
    memory_rng: np.ndarray


class AdvantageSolver(NeuralSolver):
    """A solver with a network of advantages per player. A subclass samples the regrets.

    See `DeepCFR` for the arguments.
    """

    config_class: ClassVar[type[AdvantageConfig]]
    config: AdvantageConfig
    num_extra_rngs: ClassVar[int] = 0  # of the subclass
    _sampler: Any

    def _build(self, seed: Seed) -> None:
        tree = self.tree
        rngs = new_states(seed, 1 + _RNGS_PER_PLAYER * tree.num_players + self.num_extra_rngs)
        self._sampler = self._new_sampler(rngs[:1].copy())
        self._power = 1.0 if self.config.weighting == configs.LINEAR else 0.0
        end = 1 + _RNGS_PER_PLAYER * tree.num_players
        player_rngs = rngs[1:end].reshape(-1, _RNGS_PER_PLAYER)
        self._players = [
            self._new_player(player, features, player_rngs[player].copy())
            for player, features in enumerate(features_of(tree))
        ]
        self._extra_rngs = rngs[end:].copy()

    def _new_player(self, player: int, features: Features, rngs: np.ndarray) -> _Player:
        num_actions, name = self.tree.game.num_distinct_actions(), f"advantage loss of player {player}"
        memory = self._new_memory(player, features, num_actions, rngs[:1])
        learner = Learner(features.tensors, num_actions, self.config, rngs[1:], name, self._modules)
        return _Player(features, memory, learner, rngs[:1])

    def _new_memory(self, player: int, features: Features, num_actions: int, rng: np.ndarray) -> Memory:
        config, unit = self.config, self._unit_of(player)
        if config.minimizer != configs.CFR:
            predictive = config.minimizer == configs.PDCFR_PLUS
            return Discounted(features, num_actions, config.discount, predictive=predictive, unit=unit)
        if self.config.memory == configs.AGGREGATED:
            return Aggregated(features, num_actions, power=self._power, unit=unit)
        return Reservoir(features, num_actions, self.config.memory_capacity, rng, power=self._power, unit=unit)

    # --- defined by subclasses ---

    def _new_sampler(self, rng: np.ndarray) -> Any:
        """Returns a `Sampler`."""
        return Sampler(self.tree, rng)

    @abc.abstractmethod
    def _traverse(self, player: int, traversals: int) -> tuple[int, Samples]:
        """Runs at least one and at most `traversals` traversals for a player; returns their number and samples."""

    def _before_traversals(self, player: int, iteration: int) -> None:
        """Called before a player's traversals."""

    # --- implementation of `NeuralSolver` ---

    def _advance(self, iteration: int) -> None:
        for player in range(self.tree.num_players):
            weight = float(iteration) ** self.config.exponents[1]
            self._sampler.add_to_average(self._strategy, self._average, player, weight)
            self._before_traversals(player, iteration)
            self._sample(player, iteration)
            self._learn(player, iteration)

    def _sample(self, player: int, iteration: int) -> None:
        self._begin_phase(f"traversals {player}")
        left = self.config.traversals
        while left > 0:
            done, samples = self._traverse(player, left)
            self._players[player].memory.add(samples, iteration)
            left -= done

    def _learn(self, player: int, iteration: int) -> None:
        """Fits the player's network and fills the player's slots of the strategy table."""
        self._begin_phase(f"training {player}")
        learner = self._players[player].learner
        learner.fit(self._players[player].memory, iteration)
        self._match(player, learner.predict(iteration))

    def _match(self, player: int, advantages: np.ndarray) -> None:
        arrays = self.tree.arrays
        actions, begin = self._players[player].features.actions, int(arrays.infoset_range[player])
        is_argmax = self.config.fallback == configs.ARGMAX
        match_advantages(advantages, actions, arrays.infosets, begin, is_argmax, self._strategy)

    def _prepare(self) -> None:
        self._sampler.prepare()
        for player, own in enumerate(self._players):
            own.memory.prepare()
            self._match(player, np.zeros((0, self.tree.game.num_distinct_actions()), np.float32))

    def _arrays(self) -> dict[str, np.ndarray]:
        arrays = {"strategy": self._strategy, "average": self._average}
        arrays |= {f"sampler/{name}": array for name, array in self._sampler.state().items()}
        for player, (_, _, learner, memory_rng) in enumerate(self._players):
            arrays[f"player{player}/memory_rng"] = memory_rng
            arrays |= {f"player{player}/network/{name}": array for name, array in learner.state().items()}
        return arrays

    def _memories(self) -> dict[str, Buffer]:
        return {f"player{player}/memory": own.memory for player, own in enumerate(self._players)}

    def _step_losses(self) -> list[list[float]]:
        return [own.learner.losses for own in self._players]

    @property
    def nodes_touched(self) -> int:
        """Histories visited so far."""
        return self._sampler.nodes_touched
