"""The base class of Deep CFR, DREAM and ESCHER: one network of advantages per player.

For t = 1, 2, ... and each player p in turn:

1. Traversals for p sample regrets, which p's memory stores with weight t. They are made by an environment: a compiled
   tree (`TreeEnv`), or many histories at once (`BatchedEnv`).
2. p's network is fitted to the memory by weighted least squares. Regret matching on its outputs is p's strategy.
3. p's strategy enters the average policy with weight t: exactly on a tree, else as samples.

An algorithm says how traversals explore, and what the sampled regrets are.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np

from mccfr_plus.errors import ConfigError
from mccfr_plus.kernels.random_numbers import new_states
from mccfr_plus.neural.config import CFR, PDCFR_PLUS, AdvantageConfig
from mccfr_plus.neural.learner import Learner
from mccfr_plus.neural.matching import MATCHING, matched, predicted_regrets
from mccfr_plus.neural.memory import Aggregated, Bootstrapped, Reservoir, Samples, infoset_columns
from mccfr_plus.neural.sampling.branches import ExternalSampling
from mccfr_plus.neural.sampling.observer import uniform
from mccfr_plus.neural.sampling.paths import Paths, Trajectories
from mccfr_plus.neural.solver import NeuralSolver, Seed
from mccfr_plus.policies.tree_policy import TreePolicy


class Player(NamedTuple):
    """The network of a player's regrets, and what it learns from."""

    learner: Learner
    memory: Aggregated | Reservoir | Bootstrapped

    @property
    def losses(self) -> list[float]:
        return self.learner.losses

    def state(self) -> dict[str, Any]:
        return {"memory": self.memory, "network": self.learner}


class AdvantageSolver(NeuralSolver):
    """A solver with a network of advantages per player. See `DeepCFR` for the arguments.

    A subclass defines `regrets`, and may define `weights`, `exploration` and ``config_class``.

    Attributes:
        values: Of histories, where the algorithm has them; see `tree_values`.
    """

    config_class: ClassVar[type[AdvantageConfig]]
    config: AdvantageConfig
    values: Any = None

    @property
    def exploration(self) -> float:
        """Probability with which a trajectory's player draws from the exploration strategy."""
        return 1.0

    def regrets(self, paths: Paths, player: int) -> np.ndarray:
        """Returns sampled regrets at a player's decisions, ``[num_decisions, num_actions]``; others are not read.

        Their mean over the samples of an information set, with `weights`, is what the network learns.
        """
        raise ConfigError(f"{type(self).__name__} lacks regrets(paths, player), which makes it an algorithm.")

    def weights(self, paths: Paths, player: int) -> np.ndarray | None:
        """Returns the weights of a player's samples, ``[num_decisions]``; None: all are 1."""
        return None

    def _histories(self, player: int) -> Trajectories | ExternalSampling:
        """Returns what is sampled in a player's turn."""
        return Trajectories(self._env.strategies(), (player,), self.exploration)

    def _new_values(self, rngs: np.ndarray) -> Any:
        """Returns the values of histories that the algorithm learns, if any."""

    def _before_traversals(self, player: int, iteration: int) -> None:
        """Called before a player's traversals."""

    # --- implementation of `NeuralSolver` ---

    def _build(self, seed: Seed) -> None:
        env = self._env
        rngs = new_states(seed, 3 + 4 * env.num_players)
        env.rng = rngs[:1].copy()
        self._trained = np.zeros(env.num_players, np.int64)  # iteration of the last training
        of_players = rngs[3:].reshape(env.num_players, 4).copy()  # memories of regrets and of strategies, networks
        self._players = [self._new_player(player, own) for player, own in enumerate(of_players)]
        env.start(self, of_players[:, 1:2])
        for player in range(env.num_players):
            self._use_network(player, 0)
        self.values = self._new_values(rngs[1:3].copy())
        self._kept = {"trained": self._trained} | ({} if self.values is None else {"values": self.values})

    def _new_player(self, player: int, rngs: np.ndarray) -> Player:
        env, config = self._env, self.config
        inputs, unit = env.inputs[player], env.unit_of(player, config.scale_targets)
        num_outputs = env.num_actions * (2 if self._is_predictive else 1)
        name = f"advantage loss of player {player}"
        learner = Learner(inputs, num_outputs, config, rngs[2:], name, self._modules)
        memory: Aggregated | Reservoir | Bootstrapped
        if config.memory == "aggregated":
            memory = Aggregated(env.masks[player], config, unit)
        elif config.minimizer == CFR:
            columns = infoset_columns(config.memory_capacity, inputs, env.num_actions)
            memory = Reservoir(columns, rngs[:1], power=config.exponents[1], unit=unit)
        else:
            memory = Bootstrapped(learner, config.discount, predictive=self._is_predictive, unit=unit)
        return Player(learner, memory)

    @property
    def _is_predictive(self) -> bool:
        """Whether networks have a second output per action; see `Bootstrapped`."""
        return self.config.minimizer == PDCFR_PLUS and self.config.memory != "aggregated"

    def _use_network(self, player: int, iteration: int) -> None:
        """Takes over a player's strategy from its network: uniform before its first training."""

        def rule(outputs: np.ndarray, masks: np.ndarray) -> np.ndarray:
            trained = int(self._trained[player])
            if not trained:
                return uniform(player, outputs, masks)
            if self._is_predictive:
                outputs = predicted_regrets(outputs, self.config.discount(trained))
            return matched(outputs, masks, self.config.fallback == "argmax")

        self._trained[player] = iteration
        learner = self._players[player].learner
        self._env.use(player, self._env.responses(player, learner, rule, iteration or None))

    def _advance(self, iteration: int) -> None:
        for player, (learner, memory) in enumerate(self._players):
            self._before_traversals(player, iteration)
            self._begin_phase(f"traversals {player}")
            if isinstance(memory, Bootstrapped):
                memory.begin()
            for found in self._env.turn(self, self._histories(player), player, iteration):
                regrets, weights = self.regrets(found, player), self.weights(found, player)
                memory.add(Samples.of(found, player, regrets, weights), iteration)
            self._begin_phase(f"training {player}")
            learner.fit(memory, iteration)
            self._use_network(player, iteration)

    def current_policy(self) -> Any:
        """Returns a copy of the policy of the next iteration."""
        if self.tree is not None:
            return TreePolicy(self.tree, self._env.strategy)
        discount = self.config.discount(self.iterations) if self._is_predictive else None
        return self._env.policy_of([own.learner for own in self._players], MATCHING, discount)

    def _prepare(self) -> None:
        super()._prepare()
        if self.values is not None:
            self.values.prepare()
