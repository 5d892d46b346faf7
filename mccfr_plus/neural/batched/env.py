"""Many histories at once as the environment of neural solvers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mccfr_plus.kernels.random_numbers import new_states, next_word
from mccfr_plus.neural import config as configs
from mccfr_plus.neural.batched.average import NetworkAverage
from mccfr_plus.neural.batched.bootstrap import Bootstrapped
from mccfr_plus.neural.batched.branches import sample_branches
from mccfr_plus.neural.batched.network_policy import MATCHING, NetworkPolicy
from mccfr_plus.neural.batched.observer import Decisions, Observer
from mccfr_plus.neural.batched.paths import Paths, sample_paths
from mccfr_plus.neural.batched.values import PathValues
from mccfr_plus.neural.learner import Learner
from mccfr_plus.neural.matching import matched, predicted_regrets
from mccfr_plus.neural.memory import Reservoir, Samples, tensor_columns
from mccfr_plus.tree.game import load_game
from mccfr_plus.tree.game_tree import GameTree


class BatchedEnv:
    """Many histories at once, by compiled rules or pyspiel: information sets are tensors, and strategies networks.

    Args:
        game: A `pyspiel.Game` or a game string: sequential moves, with information-state tensors.
        name: The solver, for error messages.

    Attributes:
        rng: ``[1]`` uint64, of histories; set by the solver.
        average: The average policy of an `AdvantageSolver`; set by `start`.
    """

    tree = None
    rng: np.ndarray
    average: Any = None

    def __init__(self, game: Any, name: str):
        self.game = load_game(game.game if isinstance(game, GameTree) else game)
        self.observer = Observer(self.game, name)
        self.num_players, self.num_actions = self.game.num_players(), self.game.num_distinct_actions()
        self._nodes = np.zeros(1, np.int64)
        self._trained = np.zeros(self.num_players, np.int64)  # iteration of the last training

    def unit_of(self, player: int, is_scaled: bool) -> float:
        half_range = (self.game.max_utility() - self.game.min_utility()) / 2.0
        return half_range if is_scaled and half_range > 0.0 else 1.0

    def inputs_of(self, player: int) -> np.ndarray:
        return np.zeros((0, self.observer.size), np.float32)

    @property
    def nodes_touched(self) -> int:
        """Histories visited so far."""
        return int(self._nodes[0])

    def paths(
        self, strategies: Any, explorers: Sequence[int], epsilon: float, traversals: int, parallel: int
    ) -> Iterator[Paths]:
        """Yields trajectories in which some players explore, so many in parallel; see `sample_paths`."""
        for count in chunks(traversals, parallel):
            paths = sample_paths(self.observer, strategies, explorers, epsilon, count, self.new_rng())
            self._nodes[0] += paths.nodes
            yield paths

    def new_rng(self) -> np.random.Generator:
        """Returns a new generator for some histories."""
        return np.random.default_rng(int(next_word(self.rng)))

    # --- what `AdvantageSolver` asks for: see `TreeEnv` ---

    def start(self, solver: Any, seed: Any) -> tuple[np.ndarray, np.ndarray]:
        rngs, config = new_states(seed, 3 + 4 * self.num_players), solver.config
        self.rng, self._config = rngs[:1].copy(), config
        self._is_predictive = config.minimizer == configs.PDCFR_PLUS
        self._learners: list[Learner] = []
        self._unit = self.unit_of(0, config.scale_targets)
        self.average = NetworkAverage(self.game, self.observer.size, config, solver._modules)
        return rngs[1:3], rngs[3:].reshape(self.num_players, 4)

    def new_player(self, player: int, rngs: np.ndarray, name: str, modules: Any) -> tuple[Learner, Any]:
        size, actions, config = self.observer.size, self.num_actions, self._config
        num_outputs = actions * (2 if self._is_predictive else 1)
        learner = Learner(self.inputs_of(player), num_outputs, config, rngs[2:], name, modules)
        self._learners.append(learner)
        self.average.add_player(rngs[:2])
        if config.minimizer != configs.CFR:
            return learner, Bootstrapped(learner, config.discount, predictive=self._is_predictive, unit=self._unit)
        columns = tensor_columns(config.memory_capacity, size, actions)
        return learner, Reservoir(columns, actions, rngs[:1], power=config.exponents[1], unit=self._unit)

    def begin_turn(self, player: int, weight: float) -> None:
        pass  # strategies enter the average where traversals meet them

    def sample(self, solver: Any, player: int, iteration: int) -> Iterator[Samples]:
        for decisions, regrets, weights in (
            self._branches(player) if solver.is_external else self._paths(solver, player)
        ):
            if self.num_players == 2:
                self.average.add(1 - player, decisions, iteration)
            own = np.flatnonzero(decisions.players == player)
            infosets = {"tensors": decisions.tensors[own], "masks": decisions.masks[own]}
            yield Samples(infosets, regrets[own], None if weights is None else weights[own])
        if self.num_players > 2:  # players who do not explore leave out some information sets in some iterations
            others = [other for other in range(self.num_players) if other != player]
            for paths in self._own_paths(others, solver.exploration, self._config.traversals):
                self.average.add(player, paths, iteration)

    def _branches(self, player: int) -> Iterator[tuple[Decisions, np.ndarray, None]]:
        limit, config = self._config.max_parallel_histories, self._config
        for count in chunks(config.traversals, config.parallel_traversals):
            rng = self.new_rng()
            found = sample_branches(self.observer, self.strategy_of, player, count, rng, limit)
            self._nodes[0] += found.nodes
            yield found.decisions, found.regrets, None

    def _paths(self, solver: Any, player: int) -> Iterator[tuple[Paths, np.ndarray, np.ndarray | None]]:
        for paths in self._own_paths((player,), solver.exploration, self._config.traversals):
            yield paths, solver.regrets(paths, player), solver.weights(paths, player)

    def _own_paths(self, explorers: Sequence[int], epsilon: float, traversals: int) -> Iterator[Paths]:
        return self.paths(self.strategy_of, explorers, epsilon, traversals, self._config.parallel_traversals)

    def use(self, player: int, learner: Learner, iteration: int) -> None:
        self._trained[player] = iteration

    def strategy_of(self, player: int, tensors: np.ndarray, masks: np.ndarray) -> np.ndarray:
        """Returns a player's strategies at information sets; see `Strategies`."""
        if not self._trained[player]:
            return uniform(player, tensors, masks)
        outputs = self._learners[player].outputs(tensors)
        if self._is_predictive:
            outputs = predicted_regrets(outputs, self._config.discount(int(self._trained[player])))
        return matched(outputs, masks, self._config.fallback == configs.ARGMAX)

    def new_values(self, kind: Any, *arguments: Any) -> PathValues:
        return PathValues(self.game, self.observer.history_size, self._unit, *arguments)

    def visit(self, solver: Any, player: int, iteration: int) -> None:
        epsilon, traversals = solver.config.value_exploration, solver.config.value_traversals
        for explorer in range(self.num_players):
            for paths in self._own_paths((explorer,), epsilon, traversals):
                solver.values.note(paths, solver.values.at(paths))

    def current_policy(self, iterations: int) -> NetworkPolicy:
        """Returns a copy of the policy of the next iteration."""
        discount = self._config.discount(iterations) if self._is_predictive else None
        return NetworkPolicy(self.game, [learner.copy() for learner in self._learners], MATCHING, discount)

    def prepare(self) -> None:
        sample_paths(self.observer, uniform, (), 0.0, 1, np.random.default_rng(0))

    def state(self) -> dict[str, np.ndarray]:
        return {"rng": self.rng, "nodes": self._nodes, "trained": self._trained}

    def memories(self) -> dict[str, Reservoir]:
        memories = [] if self.average is None else self.average.memories
        return {f"player{player}/strategies": memory for player, memory in enumerate(memories)}


def uniform(player: int, tensors: np.ndarray, masks: np.ndarray) -> np.ndarray:
    """Returns uniform strategies; see `Strategies`."""
    return masks / masks.sum(1, keepdims=True)


def chunks(count: int, size: int) -> Iterator[int]:
    """Yields parts of a number, none larger than a size."""
    while count > 0:
        yield min(count, size)
        count -= size
