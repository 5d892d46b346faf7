"""A game that is not enumerated as the environment of neural solvers, and its average policy: networks, too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyspiel

from mccfr_plus.kernels.random_numbers import new_states
from mccfr_plus.neural.backend import torch_threads
from mccfr_plus.neural.env import Env, Rule
from mccfr_plus.neural.matching import SOFTMAX
from mccfr_plus.neural.memory import Reservoir, Samples, infoset_columns
from mccfr_plus.neural.network import Learner, cross_entropy
from mccfr_plus.neural.network_policy import NetworkPolicy
from mccfr_plus.neural.sampling.observer import Observer, Strategies, uniform
from mccfr_plus.neural.sampling.paths import Branches, Paths, Trajectories
from mccfr_plus.tree.game import load_game
from mccfr_plus.tree.game_tree import GameTree


class BatchedEnv(Env):
    """Compiled rules or pyspiel's states: information sets are tensors, and strategies networks.

    The average policy is the mean of each player's strategies with weights t x own reach, or t^gamma x own reach. They
    are sampled on histories in which the player draws by its strategy and all others explore, with weight t x (the
    others' reach under uniform play) / (the probability of their draws): without the latter factor, iterations whose
    others come often to an information set would count more there. With two players the traversals of the other one are
    such histories. With more, histories of their own are sampled.
    """

    observer: Observer
    _memories: Sequence[Reservoir] = ()  # of each player's strategies
    _latest: tuple[tuple[int, ...], NetworkPolicy] | None = None

    def __init__(self, game: Any, name: str):
        game = load_game(game.game if isinstance(game, GameTree) else game)
        observer = Observer(game, name)
        ranges = [game.max_utility() - game.min_utility()] * game.num_players()
        is_zero_sum = game.get_type().utility == pyspiel.GameType.Utility.ZERO_SUM
        no_inputs = [np.zeros((0, observer.size), np.float32)] * game.num_players()
        super().__init__(name, observer, no_inputs, ranges, 0.0 if is_zero_sum else None)
        self._responses: dict[int, Any] = {}

    def responses(self, player: int, learner: Learner, rule: Rule, iteration: int | None) -> Any:
        return lambda infosets, masks: rule(learner.outputs(infosets), masks)

    def use(self, player: int, response: Any) -> None:
        self._responses[player] = response

    def strategies(self) -> Strategies:
        return lambda player, infosets, masks: self._responses[player](infosets, masks)

    def policy_of(self, learners: Sequence[Learner], kind: str, discount: float | None = None) -> NetworkPolicy:
        return NetworkPolicy(self.game, [learner.copy() for learner in learners], kind, discount)

    def prepare(self) -> None:
        Trajectories(uniform).sample(self.observer, 1, np.random.default_rng(0))

    def state(self) -> dict[str, Any]:
        return super().state() | {f"average/player{player}": each for player, each in enumerate(self._memories)}

    def start(self, solver: Any, rngs: np.ndarray) -> None:
        capacity, power = solver.config.policy_capacity, solver.config.exponents[1]
        columns = [infoset_columns(capacity, inputs, self.num_actions) for inputs in self.inputs]
        self._memories = [Reservoir(each, own, power=power) for each, own in zip(columns, rngs, strict=True)]

    def turn(self, solver: Any, histories: Any, player: int, iteration: int) -> Iterator[Any]:
        count, parallel = solver.config.traversals, solver.config.parallel_traversals
        for found in self.sample(histories, count, parallel):
            if self.num_players == 2:
                self.add_strategies(1 - player, found, iteration)
            yield found
        if self.num_players > 2:  # players who do not explore leave out some information sets in some iterations
            others = [other for other in range(self.num_players) if other != player]
            for paths in self.sample(Trajectories(self.strategies(), others, solver.exploration), count, parallel):
                self.add_strategies(player, paths, iteration)

    def add_strategies(self, player: int, found: Branches | Paths, iteration: int) -> None:
        """Stores a player's strategies on histories in which all others explore."""
        weights = None
        if isinstance(found, Paths):  # external sampling follows all actions of the other player
            weights = found.importance([other for other in range(self.num_players) if other != player])
        self._memories[player].add(Samples.of(found, player, found.strategies, weights), iteration)

    def average_policy(self, solver: Any) -> NetworkPolicy:
        """Returns the average policy; its networks are trained once. If that diverges, it is a TrainingError."""
        iterations = solver.iterations
        of_run = (iterations, *(int(memory.rng[0]) for memory in self._memories))  # those of other seeds differ
        if self._latest is None or self._latest[0] != of_run:
            learners = []
            with torch_threads(solver.config.threads):
                for player, memory in enumerate(self._memories):
                    name = f"policy_training's loss of the average policy of player {player}"
                    rngs = new_states(int(memory.rng[0]) ^ iterations, 2)
                    arguments = solver.config.policy_training, rngs, name, self.modules
                    learners.append(Learner(self.inputs[player], self.num_actions, *arguments))
                    learners[-1].fit(memory, max(iterations, 1), cross_entropy)
            self._latest = of_run, self.policy_of(learners, SOFTMAX)
        return self._latest[1]
