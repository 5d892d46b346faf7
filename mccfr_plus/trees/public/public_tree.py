"""`PublicTree`: a game of two players whose private information is dealt by chance and all else is public."""

import copy
import hashlib
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pyspiel

from mccfr_plus.errors import GameError, PolicyError
from mccfr_plus.games.game import RulesGame
from mccfr_plus.games.openspiel import compiled_rules
from mccfr_plus.games.rules import CHANCE
from mccfr_plus.kernels.slots import Bindings
from mccfr_plus.trees.arrays import INFOSET, NUM_EXPANSION, NUM_SLOTS, OUTCOME, Shape, read_only
from mccfr_plus.trees.flattening import alias_table, rows_of
from mccfr_plus.trees.game_tree import GameTree, compile_game
from mccfr_plus.trees.info_states import InfoStates, key_places
from mccfr_plus.trees.loading import action_name, is_converted, load_game
from mccfr_plus.trees.needs import INFOSETS, PUBLIC
from mccfr_plus.trees.public import histories
from mccfr_plus.trees.public.arrays import ADD_END, HANDS, MATRIX, SLOT, PublicArrays, with_changes
from mccfr_plus.trees.public.builder import build
from mccfr_plus.trees.public.dealt import Prediction, build_dealt, predicted_sizes
from mccfr_plus.trees.public.sharing import segments_of
from mccfr_plus.trees.public.showdowns import add_end_by_strength
from mccfr_plus.trees.public.sources import source_of_rules, source_of_tree
from mccfr_plus.trees.public.suits import representative_infosets
from mccfr_plus.trees.scratch import IS_PUBLIC
from mccfr_plus.trees.tree import Tree

_FEW_LEAVES = 500_000  # of games that are stored in a second, for policies with all of OpenSpiel's attributes
_TRIAL_HISTORIES = 5_000_000
_INSTEAD = "Use tree='compiled', 'rules' or 'lazy'; search needs a public tree."
FINGERPRINT = "public "  # begins those of public trees
_REASONS = {
    histories.DIFFERENT_MOVERS: "who moves next depends on private information",
    histories.DIFFERENT_ACTIONS: "the legal actions depend on private information",
    histories.IMPERFECT_RECALL: "the player to move has imperfect recall",
}


class PublicTree(Tree):
    """The public tree of a game, in which slots and information sets of a public node are adjacent; see `arrays`.

    With `symmetry`, in poker, what permutations of suits map to each other is one: see `mccfr_plus.trees.public.suits`.

    Raises:
        GameError: If the game is not of this kind, with the first action that is not public.
    """

    kind: ClassVar[str] = "public"
    provides: ClassVar[frozenset[str]] = frozenset({INFOSETS, PUBLIC})

    def __init__(self, game: pyspiel.Game | str | GameTree, symmetry: bool = False):
        loaded = load_game(game)
        if (players := loaded.num_players()) != 2:
            raise GameError(f"tree='public': {loaded} has {players} players, but a public tree needs two. {_INSTEAD}")
        self.game, self.num_players, self.is_converted = loaded, 2, is_converted(game, loaded)
        self.perfect_recall = True
        self.bindings: Bindings = {IS_PUBLIC: True}
        self._rules: RulesGame | None = None if isinstance(game, GameTree) else compiled_rules(loaded)
        self._stored: GameTree | None = None
        self._symmetry = symmetry
        # Whether players know the order of later cards, which OpenSpiel's information states do not tell.
        self.adds_order = self._rules is not None and not self._rules.sizes.perfect_recall
        if self._rules is not None and self._rules.deal is not None:
            self.bindings[ADD_END] = add_end_by_strength
            self._take(*build_dealt(self._rules, symmetry))
            return
        if symmetry:
            raise GameError(f"tree='public', symmetry=True: {loaded} has no suits to merge, so leave symmetry out.")
        if self._rules is not None:
            rules, source = source_of_rules(self._rules)
        else:
            self._stored = compile_game(game)
            rules, source = source_of_tree(self._stored)
        status, found, counts, path = build(rules, source)
        if status != histories.DONE:
            raise GameError(_refusal(loaded, status, path))
        self._take(found, counts.tolist(), source.max_depth)

    def _take(self, found: Any, counts: list[int], max_depth: int, tables: dict[str, np.ndarray] | None = None) -> None:
        """Numbers infosets and slots of both players together."""
        self.num_nodes = self.node_capacity = num_nodes = counts[histories.NODES]
        infosets, slots = (counts[begin : begin + 2] for begin in (histories.INFOSETS, histories.SLOTS))
        self.num_slots = self.slot_capacity = num_slots = sum(slots)
        nodes, ends = found.nodes[:num_nodes].copy(), found.ends[: counts[histories.ENDS]]
        records = np.zeros(sum(infosets), INFOSET)
        first_action = np.cumsum(np.where(nodes["kind"] >= 0, nodes["num_children"], 0)) - nodes["num_children"]
        order = []
        for player in range(2):
            begin, first_slot = player * infosets[0], player * slots[0]
            own = np.flatnonzero(nodes["kind"] == player)
            rows = records[begin : begin + infosets[player]]
            rows["num_actions"], rows["player"] = np.repeat(nodes["num_children"][own], nodes["num_hands"][own]), player
            rows["first_slot"] = first_slot + np.cumsum(rows["num_actions"]) - rows["num_actions"]
            for last, given in (
                (rows["parent_slot"], found.parents[: len(rows), player]),
                (ends[:, player, SLOT],) * 2,
            ):
                last[...] = np.where(given < 0, num_slots + player, given + first_slot)
            nodes["first"][own] += begin
            order.append(own)
        own = np.concatenate(order)  # decisions in the order of their infosets
        self._first_infoset, self._first_action = nodes["first"][own], first_action[own]
        self._actions = found.actions[: counts[histories.ACTIONS]].copy()
        self.num_leaves = counts[histories.LEAVES]  # histories that end the game
        self.keys = np.concatenate([found.keys[: infosets[player], player] for player in range(2)])
        chance = nodes[nodes["kind"] == CHANCE]
        outcomes = [found.outcomes[first:][:count] for first, count in chance[["first", "num_children"]].tolist()]
        self.arrays = PublicArrays(
            nodes=nodes,
            chance=np.concatenate([np.zeros(0, OUTCOME), *(alias_table(each / each.sum()) for each in outcomes)]),
            outcome_node=found.outcome_node[: counts[histories.OUTCOMES]].copy(),
            infosets=records,
            infoset_range=np.array([0, infosets[0], len(records)]),
            slot_range=np.array([0, slots[0], num_slots]),
            **(with_changes(ends, found.matrices) if tables is None else {**tables, "ends": ends}),
            scales=found.scales[: len(ends)].copy(),
            matrices=found.matrices[: counts[histories.VALUES]].copy(),
        )
        for array in self.arrays:
            array.flags.writeable = False
        self.shape = Shape(max_depth, max_depth + 1, perfect_recall=True)
        self.num_infosets, self.found_infosets = len(records), records

    @cached_property
    def slot_action(self) -> np.ndarray:  # type: ignore[override]
        """OpenSpiel's action for each slot, ``[num_slots]`` int64."""
        infosets = self.arrays.infosets
        hands = np.diff(self._first_infoset, append=self.num_infosets)
        first = np.repeat(self._first_action, hands) - infosets["first_slot"]
        return self._actions[np.repeat(first, infosets["num_actions"]) + np.arange(self.num_slots)].astype(np.int64)

    def legal_actions(self, infoset: int) -> list[int]:
        first = self._first_action[np.searchsorted(self._first_infoset, infoset, side="right") - 1]
        return self._actions[first : first + self.arrays.infosets[infoset]["num_actions"]].tolist()

    @cached_property
    def info_states(self) -> Sequence[str]:
        """Per infoset, its information state string, made when it is read where the game has rules."""
        if self._stored is not None:
            return [self._stored.info_states[number] for number in (self.keys[:, 0] >> 1).tolist()]
        assert self._rules is not None
        return InfoStates(self._rules, self.keys, self.arrays.infosets["player"])

    @cached_property
    def _lookup(self) -> dict[tuple[str, int], int]:
        players = self.arrays.infosets["player"].tolist()
        return {key: infoset for infoset, key in enumerate(zip(self.info_states, players, strict=True))}

    def _find(self, info_state: str, player: int) -> int | None:
        return None if self.adds_order else self._lookup.get((info_state, player))

    @cached_property
    def _sorted_keys(self) -> tuple[np.ndarray, np.ndarray]:
        """Keys as single numbers, ascending, and their infosets."""
        folded = _folded(self.keys)
        order = np.argsort(folded, kind="stable").astype(np.int32)
        return folded[order], order

    def infoset_of_state(self, state: pyspiel.State, player: int) -> int | None:
        """Returns the number of the infoset that a player is in, or None; by rules without texts."""
        if self._rules is None:
            return super().infoset_of_state(state, player)
        key, (places, _) = np.zeros_like(self.keys[0]), key_places(self._rules.sizes)
        view = self._rules.view_after(state.history(), player)
        key[0], used = player, places.word >= 0
        np.bitwise_or.at(key, places.word[used], view[used] << places.shift[used])
        values, order = self._sorted_keys
        begin, end = (np.searchsorted(values, _folded(key[None])[0], side=side) for side in ("left", "right"))
        return next((int(infoset) for infoset in order[begin:end] if (self.keys[infoset] == key).all()), None)

    @cached_property
    def fingerprint(self) -> str:
        """A SHA-256 over all information states and their legal actions, marked as that of a public tree."""
        digest = hashlib.sha256(self.arrays.infoset_range.astype("<i8").tobytes())
        for array in (self.keys, self.arrays.infosets["num_actions"], self._first_action, self._actions):
            digest.update(np.ascontiguousarray(array).data)
        return FINGERPRINT + digest.hexdigest()

    @property
    def is_small(self) -> bool:
        """Whether the game is stored within a second, so that policies are those of the stored tree."""
        return self._stored is not None or (self.num_leaves <= _FEW_LEAVES and not self.adds_order)

    @cached_property
    def whole(self) -> "PublicTree":
        """The tree in which no suits are merged."""
        return PublicTree(self.game) if self._symmetry else self

    @cached_property
    def slots_of_whole(self) -> Any:
        """The slot here of each slot of `whole`, ``[whole.num_slots]`` int64, or all of them as a slice."""
        if self._rules is None or not self._symmetry:
            return slice(None)
        own, others = (representative_infosets(self._rules.deal, tree.info_states) for tree in (self, self.whole))
        order = np.argsort(own)
        infosets = self.arrays.infosets[order[np.searchsorted(own[order], others)]]
        return rows_of(infosets["first_slot"], infosets["num_actions"])

    def require_texts(self) -> None:
        if self.adds_order:
            what = "may depend on the order of later cards, which information states do not contain"
            raise PolicyError(f"a policy of the public tree {what}: evaluate it on that tree, or use tree='compiled'.")

    def on_stored(self, strategy: np.ndarray) -> np.ndarray:
        """Returns a strategy by the slots of the stored tree. PolicyError if it has another for each order of cards."""
        self.require_texts()
        result = np.empty(self.num_slots)
        result[self.stored_slots] = strategy
        return result

    @cached_property
    def stored(self) -> GameTree:
        """The stored tree: that it was made from, or else it is compiled."""
        return compile_game(self.game) if self._stored is None else self._stored

    @cached_property
    def stored_slots(self) -> np.ndarray:
        """The slot of the stored tree for each slot here, ``[num_slots]`` int64."""
        stored, infosets = self.stored, self.keys[:, 0] >> 1
        if self._stored is None:
            players = self.arrays.infosets["player"].tolist()
            found = [stored.infoset(text, player) for text, player in zip(self.info_states, players, strict=True)]
            infosets = np.array(found, np.int64)
        return rows_of(stored.arrays.infosets["first_slot"][infosets], self.arrays.infosets["num_actions"])

    # A public tree can also belong to many solvers.
    uniform_strategy: Any = GameTree.uniform_strategy
    attach: Any = GameTree.attach

    def for_threads(self, threads: int) -> "PublicTree":
        """Returns the tree with its parts for so many threads of one solver; arrays are shared."""
        tree = copy.copy(self)
        segments = segments_of(self.arrays, threads) if threads > 1 else self.arrays.segments
        expansion = np.zeros(NUM_EXPANSION, np.int64)
        expansion[NUM_SLOTS] = self.num_slots if threads > 1 else 0  # a thread's slots are not in a row
        tree.arrays = self.arrays._replace(segments=read_only(segments), expansion=read_only(expansion))
        return tree

    @property
    def arrays_with_leaves(self) -> PublicArrays:
        """The arrays, whose ends take the place of leaf tables."""
        return self.arrays

    folded_arrays = arrays_with_leaves

    def arrays_to_run_on(self, with_leaves: bool, folded: bool = False) -> tuple[PublicArrays, np.ndarray]:
        """Returns the arrays for a solver's kernels and their `expansion`, writable."""
        expansion = self.arrays.expansion.copy()
        return self.arrays._replace(expansion=read_only(expansion)), expansion


def predict(rules: RulesGame, num_leaves: float) -> Prediction | None:
    """Returns about how large a public tree is, or None if the game is seen not to be public.

    `num_leaves` is the game's number of terminal nodes, which poker counts itself.
    """
    if rules.sizes.num_players != 2 or rules.sizes.max_chance_nodes == 0:  # hands are dealt
        return None
    if rules.deal is not None:
        return predicted_sizes(rules.deal)
    status, found, counts, _ = build(*source_of_rules(rules), _TRIAL_HISTORIES)
    leaves = int(counts[histories.LEAVES])
    if status not in (histories.DONE, histories.PAUSED) or not leaves:
        return None
    ends, scale = found.ends[: counts[histories.ENDS]], 1.0 if status == histories.DONE else num_leaves / leaves
    changes = with_changes(ends, found.matrices)
    dense = ends[changes["ends"][:, 0, MATRIX] >= 0]
    products = 2.0 * dense[:, :, HANDS].prod(1, dtype=float).sum() + len(changes["change"])
    slots, infosets = (float(counts[begin : begin + 2].sum()) for begin in (histories.SLOTS, histories.INFOSETS))
    return Prediction(scale * slots, scale * infosets, scale * products, num_leaves)


def _folded(keys: np.ndarray) -> np.ndarray:
    """Returns a number for each key, ``[n, words]``, which seldom is that of another one."""
    return (keys * np.int64(0x9E3779B97F4A7C1 | 1) ** np.arange(keys.shape[1])).sum(1)


def given_public_tree(given: object) -> PublicTree | None:
    """Returns the public tree that was given in place of a game, None if it was something else."""
    return given if isinstance(given, PublicTree) else None


def _refusal(game: pyspiel.Game, status: int, path: list[tuple[int, int]]) -> str:
    """Returns why a game has no public tree, given the players' actions up to where that showed."""
    names = [f"{action_name(game, player, action)!r} of player {player}" for player, action in path]
    if status == histories.HIDDEN_ACTION:
        *before, last = names
        where = f" after {', '.join(before)}" if before else ""
        return f"tree='public': {game} has private actions: {last}{where} is not public. {_INSTEAD}"
    where = ", ".join(names[:-1]) or "the deal"
    return f"tree='public': in {game}, after {where}, {_REASONS[status]}. {_INSTEAD}"
