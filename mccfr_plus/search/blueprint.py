"""A policy that search starts from: its public tree, its subgames, and the values of best responses to it."""

from collections.abc import Iterator
from functools import cached_property

import numpy as np
import pyspiel

from mccfr_plus.errors import ConfigError, GameError, shortened
from mccfr_plus.evaluation.exact import own_reach, pass_best
from mccfr_plus.evaluation.strategies import JointPolicy, strategy_of
from mccfr_plus.games.rules import CHANCE
from mccfr_plus.kernels.compile import kernel
from mccfr_plus.kernels.slots import bind
from mccfr_plus.parameters import check_whole
from mccfr_plus.search.partial_game import Subgame, hands_before, subgame_at
from mccfr_plus.trees.public.arrays import ADD_END
from mccfr_plus.trees.public.public_tree import PublicTree, given_public_tree

AFTER_CHANCE = "chance"


class Blueprint:
    """A policy of a two-player zero-sum game with a public tree, and the public states from which search replaces it.

    Args:
        game: The game, or its public tree.
        policy: The policy.
        start: The beginning of subgames: a number of players' actions, or ``"chance"`` for the first decision after the
            first public chance outcome.
    """

    def __init__(self, game: pyspiel.Game | str | PublicTree, policy: JointPolicy, start: int | str = AFTER_CHANCE):
        if start != AFTER_CHANCE:
            check_whole("start", start)
        self.tree: PublicTree = given_public_tree(game) or PublicTree(game)
        if len(self.tree.arrays.tables):
            raise ConfigError(f"{shortened(self.tree.game)}: search needs payoff matrices; two-card poker has none.")
        if self.tree.game.get_type().utility != pyspiel.GameType.Utility.ZERO_SUM:
            raise GameError(f"{self.tree.game} is not a zero-sum game: subgame solving is defined for these.")
        self.strategy = strategy_of(self.tree, policy)
        self.subgames = [subgame_at(self.tree, node) for node in _beginnings(self.tree.arrays.nodes, start)]
        if not self.subgames:
            raise ConfigError(f"start={start!r}: {self.tree.game} has no public state there.")

    @cached_property
    def reach(self) -> np.ndarray:
        """Each player's own reach of each sequence, ``[num_slots + 2]``."""
        reach = np.empty(self.tree.num_slots + 2)
        _write_reach(self.tree.arrays, self.strategy, reach)
        return reach

    def values(self, player: int, subgame: Subgame | None = None) -> np.ndarray:
        """Returns the player's best-response value behind each of its own sequences, ``[num_slots + 2]``.

        Values are counterfactual, weighted by the reach of the other player and of chance; with a subgame, within it
        only.
        """
        arrays, values = self.tree.arrays, np.zeros(self.tree.num_slots + 2)
        ends, infosets = slice(0, len(arrays.ends)), slice(*arrays.infoset_range[player : player + 2].tolist())
        if subgame is not None:
            ends, infosets = subgame.ends, subgame.infosets[player]
        respond = bind(_respond, self.tree.bindings, partial=True)
        best = np.empty(len(arrays.infosets), np.int32)
        respond(arrays, self.reach, values, best, player, ends.start, ends.stop, infosets.start, infosets.stop)
        return values

    def reaches(self, subgame: Subgame, player: int) -> bool:
        """Returns whether the player reaches a subgame with any hand, if the other player and chance allow it."""
        return bool(self.reach[hands_before(self.tree, subgame, player).slots].any())

    def subgame_of(self, infoset: int, player: int) -> int | None:
        """Returns the index of the subgame of one of the player's information sets; None before all subgames."""
        place = int(np.searchsorted(self._begins[player], infoset, side="right")) - 1
        return place if place >= 0 and infoset < self.subgames[place].infosets[player].stop else None

    @cached_property
    def _begins(self) -> list[list[int]]:
        return [[subgame.infosets[player].start for subgame in self.subgames] for player in range(2)]

    @cached_property
    def gifts(self) -> list[np.ndarray]:
        """By player, what may be added to the value of each hand in each subgame, ``[num_slots + 2]``.

        A player who came to a subgame may have given something up: at each own decision before, what its best action
        is worth more than its own. That is divided equally among the hands of all subgames behind the action, so that
        adding it raises no value before above the best one.
        """
        return [self._gifts(player) for player in range(2)]

    def _gifts(self, player: int) -> np.ndarray:
        values, infosets = self.values(player), self.tree.arrays.infosets
        shares, total = np.zeros(self.tree.num_slots + 2), np.zeros(self.tree.num_slots + 2)
        for subgame in self.subgames:
            np.add.at(shares, hands_before(self.tree, subgame, player).slots, 1.0)
        before = np.ones(len(infosets), bool)
        for subgame in self.subgames:
            before[subgame.infosets[player]] = False
        own = np.flatnonzero(before & (infosets["player"] == player))
        for infoset in own[::-1].tolist():
            slots = self.tree.slots(infoset)
            shares[infosets[infoset]["parent_slot"]] += shares[slots].sum()
        for infoset in own.tolist():
            slots, parent = self.tree.slots(infoset), infosets[infoset]["parent_slot"]
            given_up = values[slots].max() - values[slots]
            total[slots] = total[parent] + given_up / np.maximum(shares[slots], 1.0)
        return total


@kernel
def _write_reach(tree, strategy, reach):
    own_reach(tree, strategy, reach)


@kernel
def _respond(tree, reach, values, best, player, first_end, last_end, begin, end):
    """Writes the values of a best response in a part of the tree. `values`, of zeros, is modified in place."""
    for number in range(first_end, last_end):
        ADD_END(tree, reach, values, player, number, 1.0)
    pass_best(tree.infosets, values, best, begin, end)


def _beginnings(nodes: np.ndarray, start: int | str) -> Iterator[int]:
    """Yields the first decisions after `start`, in order."""
    node, above = 0, list[tuple[int, int]]()  # the path: where each subtree ends, and who decides there
    kinds, lasts = nodes["kind"].tolist(), nodes["last"].tolist()
    while node < len(kinds):
        while above and above[-1][0] <= node:
            above.pop()
        if kinds[node] >= 0 or kinds[node] == CHANCE:
            is_chance = [kind == CHANCE for _, kind in above]
            if kinds[node] >= 0 and (any(is_chance) if start == AFTER_CHANCE else is_chance.count(False) == start):
                yield node
                node = lasts[node]
                continue
            above.append((lasts[node], kinds[node]))
        node += 1
