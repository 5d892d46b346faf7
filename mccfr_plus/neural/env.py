"""Environments of neural solvers: where histories are sampled, and what becomes of strategies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from mccfr_plus.kernels.random_numbers import next_word
from mccfr_plus.neural.sampling.paths import ExternalSampling, Trajectories

# Makes strategies of a network's outputs and legal actions, each [n, num_actions].
Rule = Callable[[np.ndarray, np.ndarray], np.ndarray]


class Env:
    """Samples many histories in parallel: see `TreeEnv` and `BatchedEnv`, which have these methods, too.

    | method | what it does |
    |---|---|
    | ``prepare()`` | compiles the kernels |
    | ``responses(player, learner, rule, iteration)`` | what a player does by a network, until the network's next step |
    | ``use(player, response)`` | takes that over for the next histories |
    | ``strategies()`` | the `Strategies` of all players |
    | ``policy_of(learners, kind, discount)`` | the policy of a network per player; see `NetworkPolicy` |
    | ``turn(solver, histories, player, iteration)`` | yields the traversals of a turn, adds to the average policy |
    | ``average_policy(solver)`` | the average policy of an `AdvantageSolver` |

    Where all outputs are known, ``responses`` raises a TrainingError if one is not finite; it names the iteration,
    unless that is None.

    Args:
        name: The solver, for error messages.
        observer: Of the game.
        inputs: Of each player's networks, those that are known from the beginning, ``[num_rows, size]`` float32.
        payoff_ranges: Of each player, the largest payoff less the smallest one.
        constant_sum: Of the payoffs of all players; None: there is none.

    Attributes:
        rng: ``[1]`` uint64, the state of the generator of seeds, one of which each part of the histories has.
    """

    tree: Any = None  # the game's `GameTree`, if it is compiled
    rng: np.ndarray

    def __init__(self, name: str, observer: Any, inputs: Any, payoff_ranges: Any, constant_sum: float | None):
        self.name, self.observer, self.inputs, self.constant_sum = name, observer, inputs, constant_sum
        self.game, self.num_players, self.num_actions = observer.game, observer.num_players, observer.num_actions
        self._payoff_ranges, self.nodes = payoff_ranges, np.zeros(1, np.int64)

    def sample(self, histories: Trajectories | ExternalSampling, count: int, parallel: int) -> Iterator[Any]:
        """Yields so many traversals, `Paths` or `Branches`, so many of them in parallel."""
        for part in self.parts(histories, count, parallel):
            found = histories.sample(self.observer, part, np.random.default_rng(self.new_seed()))
            self.nodes[0] += found.nodes
            yield found

    def parts(self, histories: Trajectories | ExternalSampling, count: int, parallel: int) -> Iterator[int]:
        """Yields parts of a number of traversals; those of a part are run in parallel."""
        return chunks(count, parallel)

    def new_seed(self) -> int:
        """Returns a new seed for some histories."""
        return int(next_word(self.rng))

    def state(self) -> dict[str, Any]:
        """Returns what changes in an iteration, by name; see `named`."""
        return {"rng": self.rng, "nodes": self.nodes}

    def unit_of(self, player: int, is_scaled: bool = True) -> float:
        """Returns the divisor of a player's targets: half of its payoff range, if they are scaled."""
        half_range = float(self._payoff_ranges[player]) / 2.0
        return half_range if is_scaled and half_range > 0.0 else 1.0

    def start(self, solver: Any, rngs: np.ndarray) -> None:
        """Called once the solver's players have their networks; `rngs` are of their memories of strategies."""


def chunks(count: int, size: int) -> Iterator[int]:
    """Yields parts of a number, none larger than a size."""
    while count > 0:
        yield min(count, size)
        count -= size
