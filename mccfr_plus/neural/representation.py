"""How an algorithm sees a game, where histories are sampled and strategies averaged: as batches of tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
import pyspiel

from mccfr_plus.errors import ConfigError
from mccfr_plus.kernels.random_numbers import next_word
from mccfr_plus.neural.backend import torch_threads
from mccfr_plus.neural.memory import Reservoir, Samples, infoset_columns
from mccfr_plus.neural.network import Learner, cross_entropy
from mccfr_plus.neural.network_policy import SOFTMAX, NetworkPolicy
from mccfr_plus.neural.paths import Branches, Paths, Strategies, Trajectories, uniform
from mccfr_plus.parameters import new_states
from mccfr_plus.trees.batches import Observer
from mccfr_plus.trees.loading import load_game

# Makes strategies of a network's outputs and legal actions, each [n, num_actions].
Rule = Callable[[np.ndarray, np.ndarray], np.ndarray]


class Representation:
    """Samples many histories in parallel, and holds the strategies of one solver. See also `TreeRepresentation`.

    ``inputs`` are those of each player's networks that are known from the beginning, ``[num_rows, size]`` float32,
    ``payoff_ranges`` each player's largest payoff less the smallest one, ``constant_sum`` the sum of payoffs, or None.
    """

    kind: ClassVar[str]
    tree: Any = None  # the game's `GameTree`, if it is compiled
    name = ""  # the solver, for error messages

    def __init__(self, observer: Any, inputs: Any, payoff_ranges: Any, constant_sum: float | None):
        self.observer, self.inputs, self.constant_sum = observer, inputs, constant_sum
        self.game, self.num_players, self.num_actions = observer.game, observer.num_players, observer.num_actions
        self._payoff_ranges, self.nodes = payoff_ranges, np.zeros(1, np.int64)
        self.rng = np.zeros(1, np.uint64)  # draws a seed for each part of the histories

    def attach(self, name: str) -> None:
        """Makes this the representation of a solver; a second one is a ConfigError."""
        if self.name:
            raise ConfigError(f"representation= belongs to a {self.name} already: make one for each solver.")
        self.name = name

    def sample(self, histories: Any, count: int, parallel: int) -> Iterator[Any]:
        """Yields traversals, `Paths` or `Branches`, ``parallel`` of which run at once."""
        for part in chunks(count, parallel):
            found = histories.sample(self.observer, part, np.random.default_rng(self.new_seed()))
            self.nodes[0] += found.nodes
            yield found

    def new_seed(self) -> int:
        """Returns a new seed for some histories."""
        return int(next_word(self.rng))

    def parts(self) -> dict[str, Any]:
        return {"rng": self.rng, "nodes": self.nodes}

    def unit_of(self, player: int, is_scaled: bool = True) -> float:
        """Returns the divisor of a player's targets: half of its payoff range, if they are scaled."""
        half_range = float(self._payoff_ranges[player]) / 2.0
        return half_range if is_scaled and half_range > 0.0 else 1.0

    def start(self, solver: Any, rngs: np.ndarray) -> None:
        """Called once the solver's players have their networks; `rngs` are of their memories of strategies."""


def chunks(count: int, size: int) -> Iterator[int]:
    """Yields parts of a number, none larger than a size."""
    return (min(size, count - start) for start in range(0, count, size))


class BatchedRepresentation(Representation):
    """Compiled rules or pyspiel's states: information sets are tensors, and strategies are networks.

    The average policy is learned from each player's strategies, weighted by their gamma and own reach. They are sampled
    where the player draws by its strategy and all others explore. With two players the other one's traversals do.
    """

    kind = "batched"
    observer: Observer
    _memories: Sequence[Reservoir] = ()  # of each player's strategies
    _latest: tuple[tuple[int, ...], NetworkPolicy] | None = None

    def __init__(self, game: Any, reader: str = "a neural solver"):
        game = load_game(game)
        observer = Observer(game, reader)
        ranges = [game.max_utility() - game.min_utility()] * game.num_players()
        is_zero_sum = game.get_type().utility == pyspiel.GameType.Utility.ZERO_SUM
        no_inputs = [np.zeros((0, observer.size), np.float32)] * game.num_players()
        super().__init__(observer, no_inputs, ranges, 0.0 if is_zero_sum else None)
        self._responses: dict[int, Any] = {}

    def responses(self, player: int, learner: Learner, rule: Rule) -> Any:
        return lambda infosets, masks: rule(learner.outputs(infosets), masks)

    def use(self, player: int, response: Any) -> None:
        self._responses[player] = response

    def strategies(self) -> Strategies:
        return lambda player, infosets, masks: self._responses[player](infosets, masks)

    def policy_of(self, learners: Sequence[Learner], kind: str, discount: float | None = None) -> NetworkPolicy:
        return NetworkPolicy(self.game, [learner.copy() for learner in learners], kind, discount)

    def prepare(self) -> None:
        Trajectories(uniform).sample(self.observer, 1, np.random.default_rng(0))

    def parts(self) -> dict[str, Any]:
        return super().parts() | {f"average/player{player}": each for player, each in enumerate(self._memories)}

    def start(self, solver: Any, rngs: np.ndarray) -> None:
        capacity, power = solver.config.memory_capacity, solver.config.gamma
        columns = [infoset_columns(capacity, inputs, self.num_actions) for inputs in self.inputs]
        self._memories = [Reservoir(each, own, power=power) for each, own in zip(columns, rngs, strict=True)]

    def turn(self, solver: Any, histories: Any, player: int, iteration: int) -> Iterator[Any]:
        count, parallel = solver.config.traversals, solver.config.parallel_traversals
        for found in self.sample(histories, count, parallel):
            if self.num_players == 2:
                self.add_strategies(1 - player, found, iteration)
            yield found
        if self.num_players != 2:  # players who do not explore leave out some information sets in some iterations
            others = [other for other in range(self.num_players) if other != player]
            for paths in self.sample(Trajectories(self.strategies(), others, solver.exploration), count, parallel):
                self.add_strategies(player, paths, iteration)

    def add_strategies(self, player: int, found: Branches | Paths, iteration: int) -> None:
        """Stores a player's strategies on histories in which all others explore.

        Weights are (the others' reach under uniform play) / (the probability of their draws): else iterations whose
        others come often to an information set would count more there.
        """
        weights = None
        if isinstance(found, Paths):  # external sampling follows all actions of the other player
            weights = found.importance([other for other in range(self.num_players) if other != player])
        self._memories[player].add(Samples.of(found, player, found.strategies, weights), iteration)

    def average_policy(self, solver: Any) -> NetworkPolicy:
        """Returns the average policy; its networks are trained once per iteration."""
        iterations, training = solver.iterations, solver.config.policy_training
        of_run = (iterations, *(int(memory.rng[0]) for memory in self._memories))  # those of other seeds differ
        if self._latest is None or self._latest[0] != of_run:
            learners = []
            with torch_threads(solver.config.threads):
                for player, memory in enumerate(self._memories):
                    name = f"policy_training's loss of the average policy of player {player}"
                    rngs, inputs = new_states(int(memory.rng[0]) ^ iterations, 2), self.inputs[player]
                    learner = Learner(inputs, self.num_actions, training, rngs, name, "average", solver.modules)
                    learner.fit(memory, max(iterations, 1), cross_entropy)
                    if not len(memory):  # outputs of 0 instead of those of initial parameters: uniform
                        for parameter in learner.module.parameters():
                            parameter.data.zero_()
                    learners.append(learner)
            self._latest = of_run, self.policy_of(learners, SOFTMAX)
        return self._latest[1]
