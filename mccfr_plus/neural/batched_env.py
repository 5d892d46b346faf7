"""A game that is not enumerated as the environment of neural solvers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyspiel

from mccfr_plus.neural.env import Env, Rule
from mccfr_plus.neural.learner import Learner
from mccfr_plus.neural.network_average import NetworkAverage
from mccfr_plus.neural.network_policy import NetworkPolicy
from mccfr_plus.neural.sampling.observer import Observer, Strategies, uniform
from mccfr_plus.neural.sampling.paths import Trajectories
from mccfr_plus.neural.values import PathValues
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
        observer = Observer(game, name)
        ranges = [game.max_utility() - game.min_utility()] * game.num_players()
        is_zero_sum = game.get_type().utility == pyspiel.GameType.Utility.ZERO_SUM
        no_inputs = [np.zeros((0, observer.size), np.float32)] * game.num_players()
        super().__init__(name, game, observer, no_inputs, ranges, 0.0 if is_zero_sum else None)
        self._responses: dict[int, Any] = {}

    def responses(self, player: int, learner: Learner, rule: Rule, iteration: int | None) -> Any:
        return lambda infosets, masks: rule(learner.outputs(infosets), masks)

    def use(self, player: int, response: Any) -> None:
        self._responses[player] = response

    def strategies(self) -> Strategies:
        return lambda player, infosets, masks: self._responses[player](infosets, masks)

    def policy_of(self, learners: Sequence[Learner], kind: str, discount: float | None = None) -> NetworkPolicy:
        return NetworkPolicy(self.game, [learner.copy() for learner in learners], kind, discount)

    def start(self, solver: Any, rngs: np.ndarray) -> None:
        self.average = NetworkAverage(self, solver.config, solver._modules, rngs)

    def turn(self, solver: Any, histories: Any, player: int, iteration: int) -> Iterator[Any]:
        count, parallel = solver.config.traversals, solver.config.parallel_traversals
        for found in self.sample(histories, count, parallel):
            if self.num_players == 2:
                self.average.add(1 - player, found, iteration)
            yield found
        if self.num_players > 2:  # players who do not explore leave out some information sets in some iterations
            others = [other for other in range(self.num_players) if other != player]
            explored = Trajectories(self.strategies(), others, solver.exploration)
            for paths in self.sample(explored, count, parallel):
                self.average.add(player, paths, iteration)

    def new_values(self, uses_model: bool, *arguments: Any) -> PathValues:
        return PathValues(self, *arguments)

    def average_policy(self, iterations: int) -> NetworkPolicy:
        return self.average.policy(iterations)

    def prepare(self) -> None:
        Trajectories(uniform).sample(self.observer, 1, np.random.default_rng(0))

    def state(self) -> dict[str, Any]:
        return super().state() | ({} if self.average is None else {"average": self.average})
