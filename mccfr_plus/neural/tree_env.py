"""A compiled tree as the environment of neural solvers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mccfr_plus.estimators.balanced import balanced_strategy
from mccfr_plus.kernels.random_numbers import new_states
from mccfr_plus.neural import config as configs
from mccfr_plus.neural.config import AdvantageConfig
from mccfr_plus.neural.features import compile_with_tensors, features_of
from mccfr_plus.neural.learner import Learner
from mccfr_plus.neural.matching import matched
from mccfr_plus.neural.memory import Aggregated, Discounted, Reservoir, Samples, add_sums
from mccfr_plus.neural.sampling import PathSampler, Sampler


class TreeEnv:
    """A compiled tree: information sets are rows, kernels sample, and the strategy is a table.

    One forward pass over all information sets of a player fills its part of the table. So the average strategy is
    exact, which replaces the memories of strategies of the papers.

    Args:
        game: A `pyspiel.Game`, a game string, or a `GameTree`.
        name: The solver, for error messages.

    Attributes:
        strategy: ``[num_slots]`` float64, of the next traversals.
        average: ``[num_slots + num_players]`` float64: sums of weight x own reach x strategy, and of the weights.
        sampler: A `Sampler`, or NFSP's `Episodes`; set by the solver.
    """

    sampler: Any

    def __init__(self, game: Any, name: str):
        self.tree = compile_with_tensors(game, name)
        self.game, self.num_players = self.tree.game, self.tree.num_players
        self.num_actions = self.game.num_distinct_actions()
        self.features = features_of(self.tree)
        self.strategy = self.tree.uniform_strategy()
        self.average = np.zeros(self.tree.num_slots + self.num_players)

    def unit_of(self, player: int, is_scaled: bool) -> float:
        """Returns the divisor of a player's targets: half of its payoff range, if they are scaled."""
        half_range = float(self.tree.payoff_range[player]) / 2.0
        return half_range if is_scaled and half_range > 0.0 else 1.0

    def inputs_of(self, player: int) -> np.ndarray:
        """Returns the inputs of a player's networks that are known from the beginning, ``[num_rows, size]``."""
        return self.features[player].tensors

    def places_of(self, player: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Returns a player's slots, and the row of `Features` and the action of each."""
        slots = np.arange(*self.tree.arrays.slot_range[player : player + 2])
        rows = self.tree.infoset_of_slot[slots] - self.tree.arrays.infoset_range[player]
        return slots, rows, self.tree.slot_action[slots]

    def fill(self, player: int, strategies: np.ndarray) -> None:
        """Fills a player's part of the table with strategies, ``[num_rows, num_actions]``."""
        slots, rows, actions = self.places_of(player)
        self.strategy[slots] = strategies[rows, actions]

    # --- what `AdvantageSolver` asks for ---

    def start(self, solver: Any, seed: Any) -> tuple[np.ndarray, np.ndarray]:
        """Makes the sampler; returns states of generators, ``[2]`` for values and ``[num_players, 3]``."""
        rngs, config = new_states(seed, 3 + 3 * self.num_players), solver.config
        self._config: AdvantageConfig = config
        if solver.is_external:
            self.sampler = Sampler(self.tree, rngs[:1].copy())
        else:
            is_balanced = getattr(config, "sampling", None) == configs.BALANCED
            exploration = balanced_strategy(self.tree) if is_balanced else None
            self.sampler = PathSampler(self.tree, rngs[:1].copy(), None, exploration)
        return rngs[-2:], rngs[1:-2].reshape(self.num_players, 3)

    def new_player(self, player: int, rngs: np.ndarray, name: str, modules: Any) -> tuple[Learner, Any]:
        """Returns the network of a player's regrets, and its memory."""
        config, features = self._config, self.features[player]
        learner = Learner(features.tensors, self.num_actions, config, rngs[1:], name, modules)
        unit = self.unit_of(player, config.scale_targets)
        if config.minimizer != configs.CFR:
            predictive = config.minimizer == configs.PDCFR_PLUS
            return learner, Discounted(features, config.discount, predictive=predictive, unit=unit)
        power = config.exponents[1]
        if config.memory == configs.AGGREGATED:
            return learner, Aggregated(features, power=power, unit=unit)
        rows = {"rows": np.zeros(config.memory_capacity, np.int32)}
        return learner, Reservoir(rows, self.num_actions, rngs[:1], features, power=power, unit=unit)

    def begin_turn(self, player: int, weight: float) -> None:
        """Adds a player's strategy to the average."""
        self.sampler.add_to_average(self.strategy, self.average, player, weight)

    def sample(self, solver: Any, player: int, iteration: int) -> Iterator[Samples]:
        """Yields the samples of a player's traversals; see `Sampler.sample`."""
        return self.sampler.sample(self.strategy, player, self._config.traversals, *self.options_of(solver, player))

    @staticmethod
    def options_of(solver: Any, player: int) -> tuple[Any, ...]:
        """Returns the options of a player's traversals; see `Sampler.sample`."""
        return () if solver.is_external else (solver.values.table[player], solver.exploration, solver.is_corrected)

    def use(self, player: int, learner: Learner, iteration: int) -> None:
        """Fills a player's part of the table by regret matching."""
        outputs, masks = learner.predict(iteration), self.features[player].masks
        is_argmax = self._config.fallback == configs.ARGMAX
        self.fill(player, matched(outputs.astype(np.float64), masks, is_argmax))

    def new_values(self, kind: Any, *arguments: Any) -> Any:
        """Returns values of histories of a class of `history_values`; see it for the arguments after the first."""
        return kind(self, *arguments)

    def visit(self, solver: Any, player: int, iteration: int) -> None:
        """Samples the histories that values are learned from, in which players explore in turn."""
        config = solver.config
        for other in range(self.num_players):
            options = None, config.value_exploration, False
            for _ in self.sampler.sample(self.strategy, other, config.value_traversals, *options):
                pass

    def prepare(self) -> None:
        """Compiles the kernels."""
        self.sampler.prepare()
        nothing = np.zeros((0, self.num_actions))
        add_sums(np.zeros(0, np.int32), nothing, np.zeros(0), nothing, np.zeros(0))

    def state(self) -> dict[str, np.ndarray]:
        """Returns the state between iterations, without memories: views, by name."""
        sampler = {f"sampler/{name}": array for name, array in self.sampler.state().items()}
        return {"strategy": self.strategy, "average": self.average} | sampler

    def memories(self) -> dict[str, Any]:
        """Returns the memories by name: none."""
        return {}

    @property
    def nodes_touched(self) -> int:
        """Histories visited so far."""
        return self.sampler.nodes_touched
