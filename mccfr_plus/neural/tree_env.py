"""A compiled tree as the environment of neural solvers."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mccfr_plus.estimators.balanced import balanced_strategy
from mccfr_plus.estimators.visits import max_visits
from mccfr_plus.evaluation.kernels import normalize
from mccfr_plus.kernels.compile import kernel
from mccfr_plus.kernels.scratch import new_scratch, refresh_reach
from mccfr_plus.neural.env import Env, Rule
from mccfr_plus.neural.features import check_has_tensors, tensors_of
from mccfr_plus.neural.learner import Learner
from mccfr_plus.neural.matching import RULES
from mccfr_plus.neural.memory import add_sums
from mccfr_plus.neural.sampling.branches import ExternalSampling
from mccfr_plus.neural.sampling.observer import Strategies, uniform
from mccfr_plus.neural.sampling.tree_positions import TreeObserver
from mccfr_plus.neural.tree_values import LearnedValues
from mccfr_plus.policies.tree_policy import TreePolicy
from mccfr_plus.tree.game import load_game
from mccfr_plus.tree.game_tree import GameTree, compile_game


class TreeEnv(Env):
    """A compiled tree: information sets are rows, and the strategy is a table.

    One forward pass over all information sets of a player fills its part of the table. So the average strategy is
    exact, which replaces the memories of strategies of the papers.

    Args:
        game: A `pyspiel.Game`, a game string, or a `GameTree`.
        name: The solver, for error messages.

    Attributes:
        masks: Of each player, ``[num_rows, num_actions]`` bool, legal actions.
        strategy: ``[num_slots]`` float64, of the next traversals.
        average: ``[num_slots + num_players]`` float64: sums of weight x own reach x strategy, and of the weights.
    """

    observer: TreeObserver

    def __init__(self, game: Any, name: str):
        game = game if isinstance(game, GameTree) else load_game(game)
        check_has_tensors(game.game if isinstance(game, GameTree) else game, name)
        tree = compile_game(game)
        tree.require_perfect_recall(name)
        observer = TreeObserver(tree, tree.game.num_distinct_actions())
        constant_sum = float(tree.arrays.payoffs[0].sum()) if tree.is_constant_sum else None
        super().__init__(name, tree.game, observer, tensors_of(tree), tree.payoff_range, constant_sum)
        self.tree, self.masks = tree, np.split(observer.masks, tree.arrays.infoset_range[1:-1])
        self.strategy = tree.uniform_strategy()
        self.average = np.zeros(tree.num_slots + self.num_players)
        self._scratch = new_scratch(tree.arrays, tree.shape, np.zeros(1, np.uint64))

    def parts(self, histories: Any, count: int, parallel: int) -> Iterator[int]:
        if isinstance(histories, ExternalSampling):  # no level has more histories than a traversal has leaves
            infosets = self._most_infosets[histories.player]
            parallel = min(parallel, max(histories.max_histories // (infosets * self.num_actions + 1), 1))
        return super().parts(histories, count, parallel)

    @functools.cached_property
    def _most_infosets(self) -> list[int]:
        """Of each player, how many of its information sets a traversal of external sampling may meet."""
        nodes = self.tree.arrays.nodes
        return [int(max_visits(nodes, player, True, False, True)) for player in range(self.num_players)]

    def _fill(self, table: np.ndarray, player: int, strategies: np.ndarray) -> None:
        """Writes a player's strategies, ``[num_rows, num_actions]``, to a table, ``[num_slots]``."""
        slots = self.observer.slots[slice(*self.tree.arrays.infoset_range[player : player + 2])]
        masks = self.masks[player]
        table[slots[masks]] = strategies[masks]

    def responses(self, player: int, learner: Learner, rule: Rule, iteration: int | None) -> np.ndarray:
        return rule(learner.predict(iteration).astype(np.float64), self.masks[player])

    def use(self, player: int, response: np.ndarray) -> None:
        self._fill(self.strategy, player, response)

    def strategies(self) -> Strategies:
        return self.observer.tables(self.strategy)

    def policy_of(self, learners: Sequence[Learner], kind: str, discount: float | None = None) -> TreePolicy:
        table = np.zeros(self.tree.num_slots)
        for player, learner in enumerate(learners):
            self._fill(table, player, self.responses(player, learner, RULES[kind], None))
        return TreePolicy(self.tree, table)

    # --- what `AdvantageSolver` needs ---

    def exploration(self, sampling: str) -> Strategies:
        return self._balanced if sampling == "balanced" else uniform

    @functools.cached_property
    def _balanced(self) -> Strategies:
        return self.observer.tables(balanced_strategy(self.tree))

    def add_to_average(self, player: int, weight: float) -> None:
        """Adds a player's strategy with a weight to the average."""
        add_player(self.tree.arrays, self.strategy, self.average, self._scratch, player, weight)

    def turn(self, solver: Any, histories: Any, player: int, iteration: int) -> Iterator[Any]:
        self.add_to_average(player, float(iteration) ** solver.config.exponents[1])
        yield from self.sample(histories, solver.config.traversals, solver.config.parallel_traversals)

    def new_values(self, *arguments: Any) -> LearnedValues:
        return LearnedValues(self, *arguments)

    def average_policy(self, iterations: int) -> TreePolicy:
        strategy = np.empty(self.tree.num_slots)
        normalize(self.average, self.tree.arrays.infosets, strategy)
        return TreePolicy(self.tree, strategy)

    def prepare(self) -> None:
        nothing = np.zeros((0, self.num_actions))
        add_sums(np.zeros(0, np.int64), nothing, np.zeros(0), nothing, np.zeros(0))
        self.add_to_average(0, 0.0)

    def state(self) -> dict[str, Any]:
        return super().state() | {"strategy": self.strategy, "average": self.average}


@kernel
def add_player(tree, strategy, average, scratch, player, weight):
    """Adds weight x own reach x strategy at all of a player's slots to ``average``.

    Args:
        tree: `TreeArrays`.
        strategy: ``[num_slots]`` float64.
        average: ``[num_slots + num_players]`` float64; the last entries sum the weights. Modified in place.
        scratch: `Scratch`. Modified in place.
        player, weight: The player and the weight.
    """
    scratch.reach_valid[player] = 0
    refresh_reach(tree, strategy, scratch, player)
    for slot in range(tree.slot_range[player], tree.slot_range[player + 1]):
        average[slot] += weight * scratch.reach[slot]
    average[tree.slot_range[-1] + player] += weight
