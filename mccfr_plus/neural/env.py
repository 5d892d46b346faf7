"""Environments of neural solvers: where histories are sampled."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from mccfr_plus.kernels.random_numbers import next_word
from mccfr_plus.neural.learner import Learner
from mccfr_plus.neural.network import Modules
from mccfr_plus.neural.sampling.branches import ExternalSampling
from mccfr_plus.neural.sampling.observer import Strategies
from mccfr_plus.neural.sampling.paths import Trajectories

Rule = Callable[[np.ndarray, np.ndarray], np.ndarray]


class Env(abc.ABC):
    """Samples many histories in parallel: see `TreeEnv` and `BatchedEnv`.

    Args:
        game: The game.
        observer: Of the game.

    Attributes:
        rng: ``[1]`` uint64, the state of the generator of seeds, one of which each part of the histories has.
    """

    tree: Any = None  # the game's `GameTree`, if it is compiled
    rng: np.ndarray
    _config: Any  # of an `AdvantageSolver`; set by `start`

    def __init__(self, game: Any, observer: Any):
        self.game, self.observer = game, observer
        self.num_players, self.num_actions = game.num_players(), game.num_distinct_actions()
        self._nodes = np.zeros(1, np.int64)

    @property
    def nodes_touched(self) -> int:
        """Histories visited so far."""
        return int(self._nodes[0])

    def sample(self, histories: Trajectories | ExternalSampling, count: int, parallel: int) -> Iterator[Any]:
        """Yields so many traversals, `Paths` or `Branches`, so many of them in parallel."""
        for part in self.parts(histories, count, parallel):
            found = histories.sample(self.observer, part, np.random.default_rng(self.new_seed()))
            self._nodes[0] += found.nodes
            yield found

    def parts(self, histories: Trajectories | ExternalSampling, count: int, parallel: int) -> Iterator[int]:
        """Yields parts of a number of traversals; those of a part are run in parallel."""
        return chunks(count, parallel)

    def new_seed(self) -> int:
        """Returns a new seed for some histories."""
        return int(next_word(self.rng))

    @abc.abstractmethod
    def prepare(self) -> None:
        """Compiles the kernels."""

    def state(self) -> dict[str, np.ndarray]:
        """Returns the state between iterations, without memories: views, by name."""
        return {"rng": self.rng, "nodes": self._nodes}

    def memories(self) -> dict[str, Any]:
        """Returns the memories by name."""
        return {}

    @abc.abstractmethod
    def unit_of(self, player: int, is_scaled: bool) -> float:
        """Returns the divisor of a player's targets: half of its payoff range, if they are scaled."""

    @abc.abstractmethod
    def inputs_of(self, player: int) -> np.ndarray:
        """Returns the inputs of a player's networks that are known from the beginning, ``[num_rows, size]``."""

    @abc.abstractmethod
    def responses(self, player: int, learner: Learner, rule: Rule, iteration: int) -> Any:
        """Returns what a player does by a network, for `joint`; valid until the network's next step.

        Args:
            player: The player.
            learner: The network.
            rule: Makes strategies of its outputs and legal actions, each ``[n, num_actions]``.
            iteration: The current one, for the error message.

        Raises:
            TrainingError: If an output is not finite, where all are known.
        """

    @abc.abstractmethod
    def joint(self, responses: Sequence[Any]) -> Strategies:
        """Returns the strategies of all players of what each of them does."""

    @abc.abstractmethod
    def policy_of(self, learners: Sequence[Learner], kind: str) -> Any:
        """Returns the policy of a network per player; see `RULES` for the kind."""

    # --- what `AdvantageSolver` needs ---

    @abc.abstractmethod
    def average_policy(self, iterations: int) -> Any:
        """Returns the average policy after so many iterations."""

    @abc.abstractmethod
    def current_policy(self, iterations: int) -> Any:
        """Returns the policy of the next iteration."""

    @abc.abstractmethod
    def start(self, solver: Any, seed: Any) -> tuple[np.ndarray, np.ndarray]:
        """Takes over the solver's config; returns states of generators, ``[2]`` for values and ``[num_players, n]``."""

    @abc.abstractmethod
    def new_player(self, player: int, rngs: np.ndarray, name: str, modules: Modules) -> tuple[Learner, Any]:
        """Returns the network of a player's regrets, and its memory."""

    @abc.abstractmethod
    def begin_turn(self, player: int, weight: float) -> None:
        """Called before a player's traversals; the weight is that of its strategy in the average."""

    @abc.abstractmethod
    def strategies(self) -> Strategies:
        """Returns the strategies of all players."""

    @abc.abstractmethod
    def exploration(self, sampling: str) -> Strategies:
        """Returns the exploration strategy of a name."""

    def turn(self, histories: Any, player: int, epsilon: float, iteration: int) -> Iterator[Any]:
        """Yields the traversals of a player's turn, in which the player explores with probability epsilon."""
        return self.sample(histories, self._config.traversals, self._config.parallel_traversals)

    @abc.abstractmethod
    def use(self, player: int, learner: Learner, iteration: int) -> None:
        """Takes over a player's new strategy."""

    @abc.abstractmethod
    def new_values(self, kind: Any, *arguments: Any) -> Any:
        """Returns values of histories; see `history_values`."""


def chunks(count: int, size: int) -> Iterator[int]:
    """Yields parts of a number, none larger than a size."""
    while count > 0:
        yield min(count, size)
        count -= size
