"""A policy that search starts from: its public tree, its subgames, and the values of best responses to it."""

import copy
from collections.abc import Iterator, Sequence
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
from mccfr_plus.search.ends import Decoded
from mccfr_plus.search.partial_game import Subgame, hands_before, subgame_at, whole
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
            raise GameError(f"{self.tree.game} is not a zero-sum game: subgame solving needs a zero-sum game.")
        self.outside = np.zeros(self.tree.num_slots, bool)  # actions that the blueprint's game lacks
        if own is None or str(own) == str(self.tree.game) or is_abstraction(own, self.tree.game):
            self.strategy = strategy_of(self.tree, policy)
            self.own = self.tree, self.strategy
        else:
            smaller: PublicTree = given_public_tree(getattr(policy, "tree", None)) or PublicTree(own)
            self.own = smaller, strategy_of(smaller, policy)
            self._take_over(*self.own)
        self.decoded: Decoded = {}
        self.subgames = [subgame_at(self.tree, node) for node in self._beginnings(start)]
        if not self.subgames:
            raise ConfigError(
                f"start={start!r}: {self.tree.game} has no decision there. Give another number of actions."
            )

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
                f"{tree.game} has only {found:,} of the {own.num_infosets:,} information states of the blueprint's "
                f"game {own.game} with all of their actions: give a game that has all of them; it may have more."
            )

    def _beginnings(self, start: int | str) -> Iterator[int]:
        """Yields the first decisions after `start` or after an action that the blueprint's game lacks, in order."""
        arrays, waiting = self.tree.arrays, [(0, 0, False, False)]
        while waiting:
            node, moves, is_dealt, is_outside = waiting.pop()
            record = arrays.nodes[node]
            if is_decision := record["kind"] >= 0:
                if is_outside or (is_dealt if start == AFTER_CHANCE else moves == start):
                    yield node
                    continue
                first = int(arrays.infosets[record["first"]]["first_slot"])
            elif is_outside:
                raise GameError(
                    f"{self.tree.game} has an action that the blueprint's game lacks and that no decision follows, so "
                    "search cannot respond to it: use a blueprint whose game has this action."
                )
            elif record["kind"] != CHANCE:
                continue
            for index, child in reversed(list(enumerate(self._children(node)))):
                lacks = is_decision and bool(self.outside[first + index])
                waiting.append((child, moves + is_decision, is_dealt or not is_decision, is_outside or lacks))

    def _children(self, node: int) -> list[int]:
        arrays, record = self.tree.arrays, self.tree.arrays.nodes[node]
        if record["kind"] == CHANCE:
            return arrays.outcome_node[record["first"] : record["first"] + record["num_children"]].tolist()
        children = [node + 1]
        while len(children) < record["num_children"]:
            children.append(max(int(arrays.nodes[children[-1]]["last"]), children[-1] + 1))
        return children

    # --- what has been solved again ---

    def after(self, subgame: Subgame, player: int, strategies: Sequence[np.ndarray]) -> "Blueprint":
        """Returns the blueprint with new strategies of both players in a subgame, which the player has solved again."""
        assert self._values_before  # the copy has them, too
        result, opponent = copy.copy(self), 1 - player
        result.strategy, result.outside = self.strategy.copy(), self.outside.copy()
        for slots, strategy in zip(subgame.slots, strategies, strict=True):
            result.strategy[slots] = strategy
        result.outside[subgame.slots[opponent]] = False  # there is an answer to each of these now
        result.__dict__.pop("reach", None)
        if "gifts" in self.__dict__:
            places = [subgame_at(self.tree, node) for node in self.following(subgame, player)]
            found = result._share_out(opponent, result.values(opponent, subgame), subgame.infosets[opponent], places)
            result.gifts = [self.gifts[each] | (found if each == opponent else {}) for each in range(2)]
        return result

    def decisions(self, player: int, begin: int, end: int) -> list[int]:
        """Returns the player's decisions among the nodes begin .. end - 1 where a choice is still to come."""
        nodes, more = self.tree.arrays.nodes, self._choices[player]
        own = begin + np.flatnonzero(nodes["kind"][begin:end] == player)
        return own[more[nodes["last"][own]] > more[own]].tolist()

    @cached_property
    def _choices(self) -> list[np.ndarray]:
        """By player, at how many nodes before each one it has a choice, ``[num_nodes + 1]``."""
        nodes = self.tree.arrays.nodes
        return [np.cumsum([0, *((nodes["kind"] == each) & (nodes["num_children"] > 1))]) for each in range(2)]

    def following(self, subgame: Subgame, player: int) -> Iterator[int]:
        """Yields the player's next decisions inside a subgame."""
        last, nodes = 0, self.tree.arrays.nodes
        for node in self.decisions(player, subgame.node + 1, int(nodes[subgame.node]["last"])):
            if node >= last:
                yield node
                last = int(nodes[node]["last"])

    # --- values ---

    @cached_property
    def reach(self) -> np.ndarray:
        """Each player's own reach of each sequence, ``[num_slots + 2]``."""
        reach = np.empty(self.tree.num_slots + 2)
        _write_reach(self.tree.arrays, self.strategy, reach)
        return reach

    def values(self, player: int, subgame: Subgame | None = None) -> np.ndarray:
        """Returns the player's best-response value behind each of the player's sequences, ``[num_slots + 2]``.

        These are counterfactual values, weighted by the reach of the other player and of chance, and -inf behind
        actions that the blueprint's game lacks. With a subgame, they are the values in the subgame alone.
        """
        arrays, values, part = self.tree.arrays, np.zeros(self.tree.num_slots + 2), subgame or whole(self.tree)
        ends, infosets, slots = part.ends, part.infosets[player], part.slots[player]
        values[slots] = np.where(self.outside[slots], -np.inf, 0.0)
        respond = bind(_respond, self.tree.bindings, partial=True)
        best = np.empty(len(arrays.infosets), np.int32)
        respond(arrays, self.reach, values, best, player, ends.start, ends.stop, infosets.start, infosets.stop)
        return values

    def allowed(self, player: int, subgame: Subgame) -> np.ndarray:
        """Returns the value that each hand of a player may get in a subgame, that of a best response, ``[num_hands]``.

        Behind an action that the blueprint's game lacks, it is the value of the best other action.
        """
        hands = hands_before(self.tree, subgame, player)
        if hands.slot >= self.tree.num_slots or not self.outside[hands.slot]:
            return self.values(player, subgame)[hands.slots]
        firsts = self.tree.arrays.infosets["first_slot"]
        first = int(firsts[np.searchsorted(firsts, hands.slot, side="right") - 1])
        values = self._values_before[player][first : first + hands.stride * hands.num_hands]
        return values.reshape(hands.num_hands, hands.stride).max(1)

    def reaches(self, subgame: Subgame, player: int) -> bool:
        """Returns whether the player comes to a subgame with some hand, if the other player and chance allow it."""
        return bool(self.reach[hands_before(self.tree, subgame, player).slots].any())

    @cached_property
    def gifts(self) -> list[dict[int, np.ndarray]]:
        """The amounts that may be added to the value of each hand, ``[num_hands]``, by player and subgame (its node).

        A player who came to a subgame may have given something up: at each earlier decision of the player, the value of
        the best action minus that of the action taken. This amount is divided equally among the hands of all subgames
        behind the action, so that adding it raises no earlier value above the best one.
        """
        values, infosets = self._values_before, whole(self.tree).infosets
        return [self._share_out(player, values[player], infosets[player], self.subgames) for player in range(2)]

    @cached_property
    def _values_before(self) -> list[np.ndarray]:
        """By player, its values in the whole tree before any subgame was solved again."""
        return [self.values(player) for player in range(2)]

    def _share_out(
        self, player: int, values: np.ndarray, infosets: slice, subgames: list[Subgame]
    ) -> dict[int, np.ndarray]:
        """Returns what the player gives up at its infosets before subgames, by the node of each."""
        before = np.zeros(self.tree.num_infosets, bool)
        before[infosets] = True
        shares, total = np.zeros(len(values)), np.zeros(len(values))
        slots = {subgame.node: hands_before(self.tree, subgame, player).slots for subgame in subgames}
        for subgame in subgames:
            before[subgame.infosets[player]] = False
            np.add.at(shares, slots[subgame.node], 1.0)
        _give(self.tree.arrays.infosets, np.flatnonzero(before), values, shares, total)
        return {node: total[own] for node, own in slots.items()}


@kernel
def _write_reach(tree, strategy, reach):
    own_reach(tree, strategy, reach)


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
