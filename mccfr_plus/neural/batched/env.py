"""A game that is not enumerated as the environment of neural solvers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mccfr_plus.kernels.random_numbers import new_states
from mccfr_plus.neural import config as configs
from mccfr_plus.neural.batched.average import NetworkAverage
from mccfr_plus.neural.batched.network_policy import NetworkPolicy
from mccfr_plus.neural.batched.values import PathValues
from mccfr_plus.neural.env import Env, Rule
from mccfr_plus.neural.learner import Learner
from mccfr_plus.neural.matching import MATCHING, matched, predicted_regrets
from mccfr_plus.neural.memory import Bootstrapped, Reservoir, infoset_columns
from mccfr_plus.neural.network import Modules
from mccfr_plus.neural.sampling.observer import Observer, Strategies, uniform
from mccfr_plus.neural.sampling.paths import Trajectories
from mccfr_plus.tree.game import load_game
from mccfr_plus.tree.game_tree import GameTree


class BatchedEnv(Env):
    """Compiled rules or pyspiel's states: information sets are tensors, and strategies networks.

    Args:
        game: A `pyspiel.Game` or a game string: sequential moves, with information-state tensors.
        name: The solver, for error messages.

    Attributes:
        average: The average policy of an `AdvantageSolver`; set by `start`.
    """

    observer: Observer
    average: Any = None

    def __init__(self, game: Any, name: str):
        game = load_game(game.game if isinstance(game, GameTree) else game)
        super().__init__(game, Observer(game, name))
        self._trained = np.zeros(self.num_players, np.int64)  # iteration of the last training

    def unit_of(self, player: int, is_scaled: bool) -> float:
        half_range = (self.game.max_utility() - self.game.min_utility()) / 2.0
        return half_range if is_scaled and half_range > 0.0 else 1.0

    def inputs_of(self, player: int) -> np.ndarray:
        return np.zeros((0, self.observer.size), np.float32)

    def responses(self, player: int, learner: Learner, rule: Rule, iteration: int) -> Any:
        return lambda infosets, masks: rule(learner.outputs(infosets), masks)

    def joint(self, responses: Sequence[Any]) -> Strategies:
        return lambda player, infosets, masks: responses[player](infosets, masks)

    def start(self, solver: Any, seed: Any) -> tuple[np.ndarray, np.ndarray]:
        rngs, config = new_states(seed, 3 + 4 * self.num_players), solver.config
        self.rng, self._config = rngs[:1].copy(), config
        self._is_predictive = config.minimizer == configs.PDCFR_PLUS
        self._players: list[tuple[Learner, Any]] = []
        self._unit = self.unit_of(0, config.scale_targets)
        self.average = NetworkAverage(self.game, self.inputs_of(0), config, solver._modules)
        return rngs[1:3], rngs[3:].reshape(self.num_players, 4)

    def new_player(self, player: int, rngs: np.ndarray, name: str, modules: Modules) -> tuple[Learner, Any]:
        inputs, config = self.inputs_of(player), self._config
        num_outputs = self.num_actions * (2 if self._is_predictive else 1)
        learner = Learner(inputs, num_outputs, config, rngs[2:], name, modules)
        memory: Bootstrapped | Reservoir
        if config.minimizer != configs.CFR:
            memory = Bootstrapped(learner, config.discount, predictive=self._is_predictive, unit=self._unit)
        else:
            columns = infoset_columns(config.memory_capacity, inputs, self.num_actions)
            memory = Reservoir(columns, rngs[:1], power=config.exponents[1], unit=self._unit)
        self.average.add_player(rngs[:2])
        self._players.append((learner, memory))
        return learner, memory

    def begin_turn(self, player: int, weight: float) -> None:
        memory = self._players[player][1]
        if isinstance(memory, Bootstrapped):
            memory.begin()

    def turn(self, histories: Any, player: int, epsilon: float, iteration: int) -> Iterator[Any]:
        for found in super().turn(histories, player, epsilon, iteration):
            if self.num_players == 2:
                self.average.add(1 - player, found, iteration)
            yield found
        if self.num_players > 2:  # players who do not explore leave out some information sets in some iterations
            others = [other for other in range(self.num_players) if other != player]
            for paths in super().turn(Trajectories(self.strategy_of, others, epsilon), player, epsilon, iteration):
                self.average.add(player, paths, iteration)

    def use(self, player: int, learner: Learner, iteration: int) -> None:
        self._trained[player] = iteration

    def strategies(self) -> Strategies:
        return self.strategy_of

    def exploration(self, sampling: str) -> Strategies:
        return uniform

    def strategy_of(self, player: int, infosets: np.ndarray, masks: np.ndarray) -> np.ndarray:
        """Returns a player's strategies at information sets; see `Strategies`."""
        if not self._trained[player]:
            return uniform(player, infosets, masks)
        outputs = self._players[player][0].outputs(infosets)
        if self._is_predictive:
            outputs = predicted_regrets(outputs, self._config.discount(int(self._trained[player])))
        return matched(outputs, masks, self._config.fallback == configs.ARGMAX)

    def new_values(self, kind: Any, *arguments: Any) -> PathValues:
        return PathValues(self, self._unit, *arguments)

    def policy_of(self, learners: Sequence[Learner], kind: str) -> NetworkPolicy:
        return NetworkPolicy(self.game, [learner.copy() for learner in learners], kind)

    def average_policy(self, iterations: int) -> NetworkPolicy:
        return self.average.policy(iterations)

    def current_policy(self, iterations: int) -> NetworkPolicy:
        discount = self._config.discount(iterations) if self._is_predictive else None
        return NetworkPolicy(self.game, [learner.copy() for learner, _ in self._players], MATCHING, discount)

    def prepare(self) -> None:
        Trajectories(uniform).sample(self.observer, 1, np.random.default_rng(0))

    def state(self) -> dict[str, np.ndarray]:
        return super().state() | {"trained": self._trained}

    def memories(self) -> dict[str, Reservoir]:
        memories = [] if self.average is None else self.average.memories
        return {f"player{player}/strategies": memory for player, memory in enumerate(memories)}
