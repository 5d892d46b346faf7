"""A policy that search starts from: its public tree, its subgames, and the values of best responses to it."""

import copy
from collections.abc import Mapping
from functools import cached_property

import numpy as np
import pyspiel

from mccfr_plus.errors import ConfigError, GameError
from mccfr_plus.evaluation.exact import own_reach, pass_best
from mccfr_plus.evaluation.strategies import JointPolicy, strategy_of
from mccfr_plus.games.rules import CHANCE
from mccfr_plus.kernels.compile import kernel
from mccfr_plus.kernels.slots import bind
from mccfr_plus.parameters import check_whole
from mccfr_plus.search.partial_game import Subgame, children, decisions, outermost, slots_before, subgame_at
from mccfr_plus.trees.abstraction import is_abstraction
from mccfr_plus.trees.public.arrays import ADD_END
from mccfr_plus.trees.public.public_tree import PublicTree, given_public_tree

AFTER_CHANCE = "chance"


class Blueprint:
    """A policy of a two-player zero-sum game that has a public tree, and the places where search begins.

    Args:
        policy: The policy.
        game: The game that is searched, or its public tree; by default the policy's game. It may have more actions, but
            must have all information states of the policy's game, with the same texts and all of their actions.
        start: Where subgames begin: after this number of players' actions, or with ``"chance"`` at the first decision
            after the first public chance outcome. A subgame also begins after each action that the policy's game lacks.

    Attributes:
        tree: The public tree that is searched.
        strategy: ``[num_slots]`` float64, the policy on this tree; uniform at nodes that its game does not have.
        subgames: Where search begins, in the order of the tree.
        own: The public tree of the policy's game, and the policy's strategy in it.
    """

    def __init__(
        self, policy: JointPolicy, game: pyspiel.Game | str | PublicTree | None = None, start: int | str = AFTER_CHANCE
    ):
        if start != AFTER_CHANCE:
            check_whole("start", start)
        own = getattr(policy, "game", None)
        if game is None and own is None:
            raise ConfigError(f"a blueprint of type {type(policy).__name__} does not name its game: give game=...")
        self.tree: PublicTree = given_public_tree(game) or PublicTree(own if game is None else game)
        if self.tree.game.get_type().utility != pyspiel.GameType.Utility.ZERO_SUM:
            raise GameError(f"subgame solving needs a zero-sum game, and {self.tree.game} is not one.")
        self.outside = np.zeros(self.tree.num_slots, bool)  # actions that the blueprint's game lacks
        if own is None or str(own) == str(self.tree.game) or is_abstraction(own, self.tree.game):
            self.strategy = strategy_of(self.tree, policy)
            self.own = self.tree, self.strategy
        else:
            smaller: PublicTree = given_public_tree(getattr(policy, "tree", None)) or PublicTree(own)
            self.own = smaller, strategy_of(smaller, policy)
            self._take_over(*self.own)
        self.subgames = outermost(self.tree, self._beginnings(start))
        if not self.subgames:
            raise ConfigError(
                f"start={start!r}: {self.tree.game} has no decision after that many actions. Give another number."
            )
        self.reach = self._reach()
        self.respond = bind(_respond, self.tree.bindings, partial=True)
        self._first_values = [self.values(player) for player in range(2)]

    def _take_over(self, own: PublicTree, given: np.ndarray) -> None:
        """Sets `strategy` and `outside` by a policy of a game with fewer actions."""
        tree, found = self.tree, 0
        self.strategy = tree.uniform_strategy()
        players = tree.arrays.infosets["player"].tolist()
        for infoset, (text, player) in enumerate(zip(tree.info_states, players, strict=True)):
            there = own.infoset(text, player)
            if there is None:
                continue
            row = dict(zip(own.legal_actions(there), given[own.slots(there)].tolist(), strict=True))
            slots, actions = tree.slots(infoset), tree.legal_actions(infoset)
            self.strategy[slots] = [row.get(action, 0.0) for action in actions]
            self.outside[slots] = [action not in row for action in actions]
            found += row.keys() <= set(actions)
        if found < own.num_infosets:
            raise GameError(
                f"of the {own.num_infosets:,} information states of the blueprint's game {own.game}, only {found:,} "
                f"occur in {tree.game} with all of their actions: give a game that has all of these states and "
                "actions, and possibly others."
            )

    def _beginnings(self, start: int | str) -> np.ndarray:
        """Returns decisions after `start`, and right after actions that the blueprint's game lacks, in order."""
        nodes, infosets = self.tree.arrays.nodes, self.tree.arrays.infosets
        is_decision, is_dealt = nodes["kind"] >= 0, start == AFTER_CHANCE
        counted = np.flatnonzero(nodes["kind"] == CHANCE if is_dealt else is_decision)
        change = np.zeros(len(nodes) + 1, np.int64)
        np.add.at(change, counted + 1, 1)
        np.add.at(change, nodes["last"][counted], -1)
        begins = change.cumsum()[:-1] >= (1 if is_dealt else start)  # how many are above each node
        for node in np.flatnonzero(is_decision & ~begins).tolist():
            first = int(infosets[nodes[node]["first"]]["first_slot"])
            for index, child in enumerate(children(self.tree, node)):
                if self.outside[first + index] and not is_decision[child]:
                    raise GameError(
                        f"{self.tree.game} has an action that the blueprint's game lacks and that is not followed by "
                        "a decision, so search cannot respond to it: use a blueprint whose game has this action."
                    )
                begins[child] |= self.outside[first + index]
        return np.flatnonzero(begins & is_decision)

    def _reach(self) -> np.ndarray:
        reach = np.empty(self.tree.num_slots + 2)
        own_reach(self.tree.arrays, self.strategy, reach)
        return reach

    def reaches(self, subgame: Subgame, player: int) -> bool:
        """Returns whether the player comes to a subgame with some hand, if the other player and chance allow it."""
        return bool(self.reach[slots_before(self.tree, subgame, player)].any())

    def values(self, player: int, subgame: Subgame | None = None) -> np.ndarray:
        """Returns the player's best-response value behind each of the player's sequences, ``[num_slots + 2]``.

        These are counterfactual values, weighted by the reach of the other player and of chance, and -inf behind
        actions that the blueprint's game lacks. With a subgame, they are the values in the subgame alone.
        """
        values, part = np.zeros(self.tree.num_slots + 2), subgame or subgame_at(self.tree, 0)
        arrays, ends, infosets, slots = self.tree.arrays, part.ends, part.infosets[player], part.slots[player]
        values[slots], best = np.where(self.outside[slots], -np.inf, 0.0), np.empty(len(arrays.infosets), np.int32)
        args = player, ends.start, ends.stop, infosets.start, infosets.stop
        self.respond(arrays, self.reach, values, best, *args)
        return values

    def allowed(self, player: int, subgame: Subgame, *, with_gifts: bool = False) -> np.ndarray:
        """Returns the value that each hand of a player may get in a subgame, that of a best response, ``[num_hands]``.

        Behind an action that the blueprint's game lacks, it is the value of the best other action. See `gifts`.
        """
        tree, slots = self.tree, slots_before(self.tree, subgame, player)
        gifts = self.gifts[player].get(subgame.node, 0.0) if with_gifts else 0.0
        if slots[0] >= tree.num_slots or not self.outside[slots[0]]:
            return self.values(player, subgame)[slots] + gifts
        records = tree.arrays.infosets[tree.infoset_of_slot[slots]]
        actions = records["first_slot"][:, None] + np.arange(records["num_actions"][0])
        return self._first_values[player][actions].max(1) + gifts

    def after(self, subgame: Subgame, player: int, strategies: Mapping[int, np.ndarray]) -> "Blueprint":
        """Returns the blueprint with the strategies of both players in a subgame that a player has solved again."""
        result = copy.copy(self)
        result.strategy, result.outside = self.strategy.copy(), self.outside.copy()
        for each, strategy in strategies.items():
            result.strategy[subgame.slots[each]] = strategy
        result.outside[subgame.slots[1 - player]] = False  # there is an answer to each of these now
        result.reach = result._reach()
        return result

    # --- gifts ---

    @cached_property
    def gifts(self) -> list[dict[int, np.ndarray]]:
        """The amounts that may be added to the value of each hand, ``[num_hands]``, by player and subgame (its node).

        A player who came to a subgame may have given something up: at each earlier decision of the player, the value of
        the best action minus that of the action taken. This amount is divided equally among the hands of all subgames
        behind the action, so that adding it raises no earlier value above the best one.
        """
        return [self._given(player, subgame_at(self.tree, 0), self.subgames) for player in range(2)]

    def add_gifts(self, subgame: Subgame, player: int) -> None:
        """Adds what the other player gives up in a subgame before the player's next decisions, to its gifts there."""
        last = int(self.tree.arrays.nodes[subgame.node]["last"])
        places = outermost(self.tree, decisions(self.tree, player, subgame.node + 1, last))
        self.gifts = list(self.gifts)
        self.gifts[1 - player] = self.gifts[1 - player] | self._given(1 - player, subgame, places)

    def _given(self, player: int, part: Subgame, subgames: list[Subgame]) -> dict[int, np.ndarray]:
        """Returns what the player gives up in a part of the tree before subgames, by the node of each."""
        values, before = self.values(player, part), np.zeros(self.tree.num_infosets, bool)
        before[part.infosets[player]] = True
        shares, total = np.zeros(len(values)), np.zeros(len(values))
        slots = {subgame.node: slots_before(self.tree, subgame, player) for subgame in subgames}
        for subgame in subgames:
            before[subgame.infosets[player]] = False
            np.add.at(shares, slots[subgame.node], 1.0)
        _give(self.tree.arrays.infosets, np.flatnonzero(before), values, shares, total)
        return {node: total[own] for node, own in slots.items()}


@kernel
def _respond(tree, reach, values, best, player, first_end, last_end, begin, end):
    """Adds up the values of a best response in a part of the tree. `values` is modified in place."""
    for number in range(first_end, last_end):
        ADD_END(tree, reach, values, player, number, 1.0)
    pass_best(tree.infosets, values, best, begin, end)


@kernel
def _give(infosets, own, values, shares, total):
    """Divides what is given up at some infosets among the shares behind. `shares` and `total` are modified in place."""
    for index in range(len(own) - 1, -1, -1):
        record = infosets[own[index]]
        for slot in range(record["first_slot"], record["first_slot"] + record["num_actions"]):
            shares[record["parent_slot"]] += shares[slot]
    for infoset in own:
        record, most = infosets[infoset], -np.inf
        for slot in range(record["first_slot"], record["first_slot"] + record["num_actions"]):
            most = max(most, values[slot])
        for slot in range(record["first_slot"], record["first_slot"] + record["num_actions"]):
            given_up = most - values[slot] if values[slot] > -np.inf else 0.0
            total[slot] = total[record["parent_slot"]] + given_up / max(shares[slot], 1.0)
