"""A compiled tree as an algorithm sees it: information sets are rows, and the strategy is a table."""

from __future__ import annotations

import functools
import logging
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mccfr_plus.errors import BudgetError, ConfigError
from mccfr_plus.estimators.draws import max_visits
from mccfr_plus.evaluation.kernels import normalize, own_reach
from mccfr_plus.kernels.compile import kernel
from mccfr_plus.neural import paths
from mccfr_plus.neural.config import check_representation
from mccfr_plus.neural.network_policy import RULES
from mccfr_plus.neural.paths import ExternalSampling, Strategies
from mccfr_plus.neural.representation import BatchedRepresentation, Representation, Rule
from mccfr_plus.policies.tree_policy import TreePolicy
from mccfr_plus.trees.batches import TreeObserver, check_has_tensors
from mccfr_plus.trees.game_tree import GameTree, compile_game
from mccfr_plus.trees.loading import load_game
from mccfr_plus.trees.order import representative_states

logger = logging.getLogger("mccfr_plus")

_MAX_NODES = 1_000_000  # of a tree that was not requested: larger ones need a long forward pass per iteration


class TreeRepresentation(Representation):
    """A compiled tree: a forward pass over a player's information sets fills its part of a strategy table.

    So the average strategy is exact, which replaces the papers' memories of strategies.

    Args:
        game: A `pyspiel.Game`, a game string, or a `GameTree`: perfect recall, with information-state tensors.
        **limits: Keyword arguments of `compile_game`; see there, and `DeepCFR`, for errors.

    Attributes:
        masks: Of each player, ``[num_rows, num_actions]`` bool, legal actions.
        strategy: ``[num_slots]`` float64, of the next traversals.
        average: ``[num_slots]`` float64, sums of weight x own reach x strategy.
    """

    kind = "tree"
    observer: TreeObserver

    def __init__(self, game: Any, reader: str = "a neural solver", **limits: Any):
        check_has_tensors(load_game(game), reader)
        tree = compile_game(game, **limits)
        tree.require_perfect_recall(reader)
        observer = TreeObserver(tree, tree.game.num_distinct_actions())
        constant_sum = float(tree.arrays.payoffs[0].sum()) if tree.is_constant_sum else None
        pairs = zip(representative_states(tree), tree.arrays.infosets["player"].tolist(), strict=True)
        tensors = np.array([state.information_state_tensor(player) for state, player in pairs], np.float32)
        self.tree, ends = tree, tree.arrays.infoset_range[1:-1]
        super().__init__(observer, np.split(tensors, ends), tree.payoff_range, constant_sum)
        self.masks, self._slots = np.split(observer.masks, ends), np.split(observer.slots, ends)
        self.strategy = tree.uniform_strategy()
        self.average, self._reach = np.zeros(tree.num_slots), np.ones(tree.num_slots + self.num_players)

    def sample(self, histories: Any, count: int, parallel: int) -> Iterator[Any]:
        if isinstance(histories, ExternalSampling):  # no level has more histories than a traversal has leaves
            infosets = self._most_infosets[histories.player]
            parallel = min(parallel, max(paths.MAX_HISTORIES // (infosets * self.num_actions + 1), 1))
        return super().sample(histories, count, parallel)

    @functools.cached_property
    def _most_infosets(self) -> list[int]:
        """Of each player, the maximum number of its information sets in a traversal of external sampling."""
        nodes = self.tree.arrays.nodes
        return [int(max_visits(nodes, player, True, False, True)) for player in range(self.num_players)]

    def _fill(self, table: np.ndarray, player: int, strategies: np.ndarray) -> None:
        masks = self.masks[player]
        table[self._slots[player][masks]] = strategies[masks]

    def responses(self, player: int, learner: Any, rule: Rule) -> np.ndarray:
        """Returns a player's strategies by a network, until the network's next step."""
        return rule(learner.outputs(), self.masks[player])

    def use(self, player: int, response: np.ndarray) -> None:
        self._fill(self.strategy, player, response)

    def strategies(self) -> Strategies:
        return self.observer.tables(self.strategy)

    def policy_of(self, learners: Sequence[Any], kind: str, discount: float | None = None) -> TreePolicy:
        """Returns the policy of a network per player; see `NetworkPolicy`."""
        table = np.zeros(self.tree.num_slots)
        for player, learner in enumerate(learners):
            self._fill(table, player, self.responses(player, learner, RULES[kind]))
        return TreePolicy(self.tree, table)

    def add_to_average(self, player: int, weight: float) -> None:
        """Adds a player's strategy with a weight to the average."""
        add_player(self.tree.arrays, self.strategy, self._reach, self.average, player, weight)

    def turn(self, solver: Any, histories: Any, player: int, iteration: int) -> Iterator[Any]:
        """Yields the traversals of a player's turn, and adds its strategy to the average policy."""
        self.add_to_average(player, float(iteration) ** solver.config.gamma)
        return self.sample(histories, solver.config.traversals, solver.config.parallel_traversals)

    def average_policy(self, solver: Any) -> TreePolicy:
        strategy = np.empty(self.tree.num_slots)
        normalize(self.average, self.tree.arrays.infosets, strategy)
        return TreePolicy(self.tree, strategy)

    def prepare(self) -> None:
        self.add_to_average(0, 0.0)

    def parts(self) -> dict[str, Any]:
        return super().parts() | {"strategy": self.strategy, "average": self.average}


def new_representation(game: Any, wanted: Any, reader: str, **limits: Any) -> Representation:
    """Returns the representation of a game for a solver, `reader`; see `DeepCFR` for the kinds, `compile_game` for the
    limits.
    """
    if isinstance(wanted, Representation):
        if str(wanted.game) != str(load_game(game)):
            raise ConfigError(
                f"representation= is of {wanted.game}, and the game is {load_game(game)}: give one game to both."
            )
        return wanted
    check_representation(wanted)
    if wanted == "batched":
        return BatchedRepresentation(game, reader)
    try:
        if wanted is None and not isinstance(game, GameTree):
            limits = {"max_nodes": _MAX_NODES, "estimate_margin": 2.0} | limits
        return TreeRepresentation(game, reader, **limits)
    except BudgetError as error:
        if wanted == "tree":
            raise BudgetError(f"{error} Or give representation='batched', which compiles no tree.") from None
        logger.info("%s gets representation='batched': %s", reader, error)
    return BatchedRepresentation(game, reader)


@kernel
def add_player(tree, strategy, reach, average, player, weight):
    """Adds weight x own reach x strategy at a player's slots to ``average``, which, like ``reach``, is modified."""
    own_reach(tree, strategy, reach)
    for slot in range(tree.slot_range[player], tree.slot_range[player + 1]):
        average[slot] += weight * reach[slot]
