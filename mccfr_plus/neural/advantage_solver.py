"""What Deep CFR, DREAM and ESCHER share: a network of advantages per player, whose regret matching fills the table.

For t = 1, 2, ... and each player p in turn:

1. p's strategy is added to the average, exactly, with weight t: own reach x strategy at all of p's slots. This takes
   the place of the papers' strategy memory and strategy network.
2. Traversals for p read the strategy table and give regrets, which go to p's memory with weight t.
3. p's network is fitted to the memory by weighted least squares.
4. One forward pass over all of p's information sets gives advantages; regret matching on them fills p's part of the
   table.
"""

from __future__ import annotations

import abc
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyspiel

from mccfr_plus.kernels.random_numbers import new_states
from mccfr_plus.neural import config as configs
from mccfr_plus.neural.config import AdvantageConfig
from mccfr_plus.neural.features import Features, compile_with_tensors, features_of
from mccfr_plus.neural.matching import match_advantages
from mccfr_plus.neural.memory import Aggregated, Memory, Reservoir
from mccfr_plus.neural.runner import NeuralSolver, config_or_default
from mccfr_plus.neural.sampling import Sampler, Samples
from mccfr_plus.neural.training import Learner
from mccfr_plus.tree.game_tree import GameTree

_RNGS_PER_PLAYER = 3  # of the memory, of initial parameters, of batches


class _Player(NamedTuple):
    features: Features
    memory: Memory
    learner: Learner
    memory_rng: np.ndarray


class AdvantageSolver(NeuralSolver):
    """A solver with a network of advantages per player. A subclass says how regrets are sampled.

    Args:
        game: A `pyspiel.Game`, a game string, or a `GameTree`. Any number of players, perfect recall, with
            information-state tensors, and of a size that can be compiled.
        config: A config of the subclass's `config_class`; None: its defaults.
        seed: An integer for a repeatable run (the same bits on one machine), a numpy generator, or None.

    Raises:
        GameError: If the game cannot be loaded or compiled, has no information-state tensors or imperfect recall.
        BudgetError: If it is too large to be compiled.
        ConfigError: If the config is none, or the seed is not allowed.
    """

    config_class: ClassVar[type[AdvantageConfig]]
    config: AdvantageConfig
    rngs_of_its_own: ClassVar[int] = 0  # that the subclass needs, after the sampler's
    _sampler: Any

    def __init__(
        self,
        game: pyspiel.Game | str | GameTree,
        config: AdvantageConfig | None = None,
        seed: int | np.random.Generator | None = None,
    ):
        name = type(self).__name__
        config = config_or_default(config, self.config_class)
        tree = compile_with_tensors(game, name)
        super().__init__(tree, config, seed)
        rngs = new_states(seed, 1 + _RNGS_PER_PLAYER * tree.num_players + self.rngs_of_its_own)
        self._sampler = self._new_sampler(rngs[:1].copy())
        self._power = self._average_power = 1.0 if config.weighting == configs.LINEAR else 0.0
        self._players = [
            self._new_player(player, features, rngs[1 + _RNGS_PER_PLAYER * player :][:_RNGS_PER_PLAYER].copy())
            for player, features in enumerate(features_of(tree, name))
        ]
        self._own_rngs = rngs[1 + _RNGS_PER_PLAYER * tree.num_players :].copy()

    def _new_player(self, player: int, features: Features, rngs: np.ndarray) -> _Player:
        num_actions, memory_rng = self.tree.game.num_distinct_actions(), rngs[:1]
        memory = self._new_memory(player, features, num_actions, memory_rng)
        name = f"advantage loss of player {player}"
        learner = Learner(features.tensors, num_actions, self.config, rngs[1:], name)
        return _Player(features, memory, learner, memory_rng)

    def _new_memory(self, player: int, features: Features, num_actions: int, rng: np.ndarray) -> Memory:
        unit = self.unit(player)
        if self.config.memory == configs.AGGREGATED:
            return Aggregated(features, num_actions, power=self._power, unit=unit)
        return Reservoir(features, num_actions, self.config.memory_capacity, rng, power=self._power, unit=unit)

    def unit(self, player: int) -> float:
        """Returns what a player's targets are divided by."""
        half_range = float(self.tree.payoff_range[player]) / 2.0
        return half_range if self.config.scale_targets and half_range > 0.0 else 1.0

    # --- what a subclass gives ---

    def _new_sampler(self, rng: np.ndarray) -> Any:
        """Returns what traversals: with ``sample``, ``add_to_average``, ``state``, ``prepare`` and ``nodes_touched``."""
        return Sampler(self.tree, rng)

    @abc.abstractmethod
    def _walk(self, player: int, traversals: int) -> tuple[int, Samples]:
        """Makes at least one of so many traversals for a player; returns how many, and what they sampled."""

    def _begin_turn(self, player: int, iteration: int) -> None:
        """Is called before a player's traversals."""

    # --- what `NeuralSolver` asks for ---

    def _advance(self, iteration: int) -> None:
        for player in range(self.tree.num_players):
            weight = float(iteration) ** self._average_power
            self._sampler.add_to_average(self._strategy, self._average, player, weight)
            self._begin_turn(player, iteration)
            self._sample(player, iteration)
            self._learn(player, iteration)

    def _sample(self, player: int, iteration: int) -> None:
        self._begin_phase(f"traversals {player}")
        left = self.config.traversals
        while left > 0:
            done, samples = self._walk(player, left)
            self._players[player].memory.add(samples, iteration)
            left -= done

    def _learn(self, player: int, iteration: int) -> None:
        """Fits the player's network and fills the player's part of the strategy table."""
        self._begin_phase(f"training {player}")
        part = self._players[player]
        learner = part.learner
        learner.fit(part.memory, iteration)
        advantages = learner.predict()
        learner.check_predictions(advantages, iteration)
        self._match(player, advantages)

    def _match(self, player: int, advantages: np.ndarray) -> None:
        arrays = self.tree.arrays
        actions, begin = self._players[player].features.actions, int(arrays.infoset_range[player])
        is_argmax = self.config.fallback == configs.ARGMAX
        match_advantages(advantages, actions, arrays.infosets, begin, is_argmax, self._strategy)

    def _prepare(self) -> None:
        self._sampler.prepare()
        for player, part in enumerate(self._players):
            part.memory.prepare()
            self._match(player, np.zeros((0, self.tree.game.num_distinct_actions()), np.float32))

    def _arrays(self) -> dict[str, np.ndarray]:
        arrays = {"strategy": self._strategy, "average": self._average}
        arrays |= {f"sampler/{name}": array for name, array in self._sampler.state().items()}
        for player, (_, _, learner, memory_rng) in enumerate(self._players):
            arrays[f"player{player}/memory_rng"] = memory_rng
            arrays |= {f"player{player}/network/{name}": array for name, array in learner.state().items()}
        return arrays

    def _memories(self) -> dict[str, Memory]:
        return {f"player{player}/memory": part.memory for player, part in enumerate(self._players)}

    # --- asking ---

    @property
    def nodes_touched(self) -> int:
        """Histories visited so far."""
        return self._sampler.nodes_touched

    @property
    def losses(self) -> tuple[float | None, ...]:
        """Per player, the mean loss over the steps of the last training; None if nothing was trained."""
        every = [part.learner.losses for part in self._players]
        return tuple(sum(losses) / len(losses) if losses else None for losses in every)
