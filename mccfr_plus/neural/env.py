"""Environments of neural solvers: where histories are sampled."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from mccfr_plus.kernels.random_numbers import next_word
from mccfr_plus.neural.learner import Learner
from mccfr_plus.neural.sampling.branches import ExternalSampling
from mccfr_plus.neural.sampling.observer import Strategies, uniform
from mccfr_plus.neural.sampling.paths import Trajectories

# Makes strategies of a network's outputs and legal actions, each [n, num_actions].
Rule = Callable[[np.ndarray, np.ndarray], np.ndarray]


class Env(abc.ABC):
    """Samples many histories in parallel: see `TreeEnv` and `BatchedEnv`.

    Args:
        name: The solver, for error messages.
        game: The game.
        observer: Of the game.
        inputs: Of each player's networks, those that are known from the beginning, ``[num_rows, size]`` float32.
        payoff_ranges: Of each player, the largest payoff less the smallest one.
        constant_sum: Of the payoffs of all players; None: there is none.

    Attributes:
        rng: ``[1]`` uint64, the state of the generator of seeds, one of which each part of the histories has.
    """

    tree: Any = None  # the game's `GameTree`, if it is compiled
    rng: np.ndarray

    def __init__(
        self,
        name: str,
        game: Any,
        observer: Any,
        inputs: Sequence[np.ndarray],
        payoff_ranges: Any,
        constant_sum: float | None,
    ):
        self.name, self.game, self.observer = name, game, observer
        self.inputs, self.constant_sum = inputs, constant_sum
        self.num_players, self.num_actions = game.num_players(), game.num_distinct_actions()
        self._payoff_ranges, self._nodes = payoff_ranges, np.zeros(1, np.int64)

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

    def state(self) -> dict[str, Any]:
        """Returns what changes in an iteration, by name; see `named`."""
        return {"rng": self.rng, "nodes": self._nodes}

    @abc.abstractmethod
    def prepare(self) -> None:
        """Compiles the kernels."""

    def unit_of(self, player: int, is_scaled: bool = True) -> float:
        """Returns the divisor of a player's targets: half of its payoff range, if they are scaled."""
        half_range = float(self._payoff_ranges[player]) / 2.0
        return half_range if is_scaled and half_range > 0.0 else 1.0

    @abc.abstractmethod
    def responses(self, player: int, learner: Learner, rule: Rule, iteration: int | None) -> Any:
        """Returns what a player does by a network, for `use`; valid until the network's next step.

        Raises:
            TrainingError: If an output is not finite, where all are known; it names the iteration, unless that is None.
        """

    @abc.abstractmethod
    def use(self, player: int, response: Any) -> None:
        """Takes over what a player does in the next histories."""

    @abc.abstractmethod
    def strategies(self) -> Strategies:
        """Returns the strategies of all players."""

    @abc.abstractmethod
    def policy_of(self, learners: Sequence[Learner], kind: str, discount: float | None = None) -> Any:
        """Returns the policy of a network per player; see `NetworkPolicy`."""

    # --- what `AdvantageSolver` needs ---

    def start(self, solver: Any, rngs: np.ndarray) -> None:  # noqa: B027 - most have nothing to do
        """Called once the solver's players have their networks; `rngs` are of their memories of strategies."""

    def exploration(self, sampling: str) -> Strategies:
        """Returns the exploration strategy of a name."""
        return uniform

    @abc.abstractmethod
    def turn(self, solver: Any, histories: Any, player: int, iteration: int) -> Iterator[Any]:
        """Yields the traversals of a player's turn, and adds to the average policy."""

    @abc.abstractmethod
    def new_values(self, uses_model: bool, *arguments: Any) -> Any:
        """Returns values of histories that are learned; see `LearnedValues`, also for the arguments."""

    @abc.abstractmethod
    def average_policy(self, iterations: int) -> Any:
        """Returns the average policy after so many iterations."""


def chunks(count: int, size: int) -> Iterator[int]:
    """Yields parts of a number, none larger than a size."""
    while count > 0:
        yield min(count, size)
        count -= size
