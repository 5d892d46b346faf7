"""A lazily expanded tree: the arrays of a compiled one, filled where traversals have been."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, NoReturn

import numpy as np
import pyspiel

from mccfr_plus.errors import ConfigError, GameError
from mccfr_plus.kernels.intrinsics import address_of, callback
from mccfr_plus.tree import expansion as g
from mccfr_plus.tree.arrays import INFOSET, NODE, OUTCOME, TreeArrays
from mccfr_plus.tree.expander import Expander, Places
from mccfr_plus.tree.game import load_game
from mccfr_plus.tree.game_error import WrongAnswerError, different_actions, game_error
from mccfr_plus.tree.keys import TEXT_OVERHEAD, Keys
from mccfr_plus.tree.layout import Shape
from mccfr_plus.tree.memory import MemoryPlan

_MAX_PAYOFFS, _MAX_OUTCOMES = 1 << 20, 1 << 22
_FIRST_TABLE = 1 << 12

NODE_COST = NODE.itemsize + 4  # bytes of a node and its parent
_KEY_COST, _CHECK_COST, _TABLE_COST, _TOUCHED_COST = 16, 8, 16, 12
SLOT_ACTION_COST = 8  # bytes of a slot in the tree


def infoset_cost(keys: Keys) -> int:
    """Returns the bytes of an infoset without its slots, and without its text, which is counted when it is found."""
    return INFOSET.itemsize + _KEY_COST + _TABLE_COST + _TOUCHED_COST + (_CHECK_COST if keys.checked else 0)


# Entries of `expansion` that `Sizes` lists, in its order.
_SIZES = (g.NUM_NODES, g.NUM_INFOSETS, g.NUM_SLOTS, g.NUM_PAYOFFS, g.NUM_OUTCOMES)


class Sizes(NamedTuple):
    """How much of a lazy tree's arrays is in use."""

    nodes: int
    infosets: int
    slots: int
    payoffs: int
    outcomes: int
    text_bytes: int


class LazyTree:
    """A game that is asked for nodes when a traversal first comes to them.

    Its arrays have room for all that the plan allows; what nobody has touched takes no memory. Slots are numbered as
    they are found, not player by player. It belongs to one solver, whose strategy is part of what is_lazy.

    Args:
        game: A `pyspiel.Game` or a game string.
        plan: How many places there are.
        keys: How infosets are told apart.
        threads: How many threads may traversal at once.
        perfect_recall: False if players are known to forget; True if traversals are to find out.

    Attributes:
        game: The turn-based pyspiel game.
        arrays: What the kernels read; see `mccfr_plus.tree.arrays`.
        shape: Depth and stack size; perfect recall holds as far as it has been seen.
    """

    is_lazy = True

    def __init__(
        self,
        game: pyspiel.Game | str,
        plan: MemoryPlan,
        keys: Keys,
        threads: int = 1,
        perfect_recall: bool = True,
    ):
        self.game = load_game(game)
        self.plan = plan
        self.keys = keys
        self.threads = threads
        self._is_known_to_forget = not perfect_recall
        num_players, total = self.game.num_players(), plan.max_nodes + plan.max_transient
        width = g.ANSWER_ACTIONS + max(self.game.num_distinct_actions(), num_players)
        self._places = Places(
            nodes=np.zeros(total, NODE),
            parents=np.zeros(total, np.int32),
            slot_actions=np.zeros(plan.max_slots, np.int64),
            payoffs=np.zeros((_MAX_PAYOFFS, num_players)),
            chance=np.zeros(_MAX_OUTCOMES, OUTCOME),
            outcome_actions=np.zeros(_MAX_OUTCOMES, np.int64),
            answers=np.zeros((threads, width), np.int64),
            expansion=np.zeros(g.NUM_EXPANSION, np.int64),
        )
        self._infosets = np.zeros(plan.max_infosets, INFOSET)
        self._info_keys = np.zeros((plan.max_infosets, 2), np.int64)
        self._checks = np.zeros(plan.max_infosets if keys.checked else 0, np.int64)
        self._table = np.zeros(max(1 << (2 * plan.max_infosets - 1).bit_length(), _FIRST_TABLE), np.int32)
        self._transient_parents = np.zeros(plan.max_transient, np.int32)
        self._max_depth = self.game.max_game_length() + self.game.max_chance_nodes_in_history() + 1
        self.shape = Shape(max_depth=self._max_depth, max_stack=total, perfect_recall=True)
        infoset_range = np.arange(num_players + 1, dtype=np.int64) * plan.max_infosets
        slot_range = np.zeros(num_players + 1, np.int64)
        slot_range[-1] = plan.max_slots
        self.arrays = TreeArrays(
            nodes=_read_only(self._places.nodes),
            payoffs=_read_only(self._places.payoffs),
            chance=_read_only(self._places.chance),
            infosets=_read_only(self._infosets),
            infoset_range=_read_only(infoset_range),
            slot_range=_read_only(slot_range),
            leaf_range=_read_only(np.zeros(num_players + 1, np.int64)),
            leaf_start=_read_only(np.zeros(1, np.int64)),
            leaf_row=_read_only(np.zeros(0, np.int32)),
            leaf_others=_read_only(np.zeros(0, np.int32)),
            leaf_value=_read_only(np.zeros(0)),
            expansion=_read_only(self._places.expansion),
        )
        self._owned = False

    # --- lazy ---

    def bind(
        self,
        strategy: np.ndarray,
        ones: np.ndarray | None = None,
        *,
        check_depth: bool = False,
        single_trajectory: bool = False,
    ) -> None:
        """Makes the tree that of a solver: from now on it can expand.

        Args:
            strategy: ``[slot_capacity]`` float64: new infosets get a uniform strategy there.
            ones: ``[slot_capacity]`` float64: new infosets get a 1 at their first slot; None for nothing.
            check_depth: Whether histories longer than `shape.max_depth` are to be refused.
            single_trajectory: Whether a traversal visits a single history.

        Raises:
            ConfigError: If it is another solver's.
        """
        if self._owned:
            raise ConfigError("this lazy tree belongs to another solver: give each solver the game itself.")
        self._owned = True
        self._bound = strategy, ones  # keeps them alive as long as kernels may write to them
        self.expander = Expander(
            self.game,
            self._places,
            self.keys,
            self.plan.state_bytes,
            self._max_depth if check_depth else None,
            single_trajectory,
        )
        self._callback = callback(self.expander.answer)
        expansion, plan = self._places.expansion, self.plan
        expansion[g.SELF] = address_of(expansion)
        expansion[g.CALLBACK] = address_of(self._callback)
        expansion[g.NODES] = address_of(self._places.nodes)
        expansion[g.PARENTS] = address_of(self._places.parents)
        expansion[g.INFOSETS] = address_of(self._infosets)
        expansion[g.KEYS] = address_of(self._info_keys)
        expansion[g.CHECKS] = address_of(self._checks) if len(self._checks) else 0
        expansion[g.TABLE] = address_of(self._table)
        expansion[g.SLOT_ACTIONS] = address_of(self._places.slot_actions)
        expansion[g.TRANSIENT_PARENTS] = address_of(self._transient_parents)
        expansion[g.ANSWERS] = address_of(self._places.answers)
        expansion[g.ANSWER_WIDTH] = self._places.answers.shape[1]
        expansion[g.STRATEGY] = address_of(strategy)
        expansion[g.ONES] = 0 if ones is None else address_of(ones)
        expansion[g.MAX_NODES], expansion[g.MAX_TRANSIENT] = plan.max_nodes, plan.max_transient
        expansion[g.MAX_INFOSETS], expansion[g.MAX_SLOTS] = plan.max_infosets, plan.max_slots
        expansion[g.INFOSET_COST], expansion[g.SLOT_COST] = plan.infoset_cost, plan.slot_cost
        expansion[g.MAX_COST] = plan.infosets_bytes
        expansion[g.NUM_NODES], expansion[g.TABLE_SIZE] = 1, _FIRST_TABLE
        self.keys.count_in(expansion[g.TEXT_COST : g.TEXT_COST + 1].data)

    def count(self, entry: int) -> int:
        """Returns an entry of ``arrays.expansion``."""
        return int(self._places.expansion[entry])

    @property
    def status(self) -> int:
        """Why the last traversal has ended; see `expansion`."""
        return self.count(g.STATUS)

    def evict(self) -> slice:
        """Forgets the nodes that pass and returns which they were. Not while a traversal is under way."""
        forgotten = slice(self.plan.max_nodes, self.plan.max_nodes + self.count(g.NUM_TRANSIENT))
        g.evict(self._places.expansion)
        self.expander.evict_states(self.plan.max_nodes)
        return forgotten

    def raise_error(self) -> None:
        """Raises what has ended the last traversal, if that was an error; the tree can then be used again.

        Raises:
            GameError: If the game has raised an error, or two information states have one key.
        """
        status, error = self.status, self.expander.error
        if status == g.FAILED:
            self.go_on()
            raise error or GameError(f"{self.game} was asked for a node, and an error came before it could answer.")
        if status in (g.KEYS_COLLIDE, g.ACTIONS_DIFFER):
            self.go_on()
            raise self._conflict(status)

    def _conflict(self, status: int) -> Exception:
        """Returns the error for a node whose infoset contradicts what is known of it."""
        node, infoset = self.count(g.CONFLICT_NODE), self.count(g.CONFLICT_INFOSET)
        state = self.expander.state_at(node)
        info_state, player = state.information_state_string(), state.current_player()
        if status == g.KEYS_COLLIDE:
            what = f"the information state {info_state!r} has the 128-bit key of another one: use keys='text'"
        else:
            what = different_actions(info_state, player, self.legal_actions(infoset), state.legal_actions())
        return game_error(self.game, self.expander.actions_to(node), WrongAnswerError(what))

    def why_full(self) -> str:
        """Returns why the tree cannot expand, and what would help."""
        limit = f"memory={self.plan.limit / 1e6:,.0f}MB"
        if self.status == g.INFOSETS_FULL:
            return (
                f"{self.num_infosets:,} information sets have filled their share of {limit}. The policy so far is "
                "kept; it plays uniformly at random where no traversal has been. Give more memory, or smaller "
                "parameters of the game."
            )
        return (
            "a single traversal, or the traversals of all threads together, need more nodes than fit into their share "
            f"of {limit}. Give more memory, or use estimator='outcome', whose traversals visit one history, or one "
            "thread."
        )

    def interrupt(self) -> None:
        """Ends the traversals under way soon, from any thread."""
        if self.status == g.EXPANDING:
            self._places.expansion[g.STATUS] = g.INTERRUPTED

    def go_on(self) -> None:
        """Lets traversals expand the tree again after they could not."""
        self._places.expansion[g.STATUS] = g.EXPANDING
        self.expander.error = None

    # --- the state ---

    def sizes(self) -> Sizes:
        """Returns how much of the arrays is in use; nodes that pass are not counted."""
        nodes, infosets, slots, payoffs, outcomes = map(self.count, _SIZES)
        return Sizes(nodes, infosets, slots, payoffs, outcomes, len(self.keys.as_bytes()))

    def why_too_small(self, sizes: Sizes) -> str | None:
        """Returns why a tree of these sizes has no room here, or None if it has."""
        cost = sizes.infosets * self.plan.infoset_cost + sizes.slots * self.plan.slot_cost
        if self.keys.kind == "text":
            cost += sizes.text_bytes + sizes.infosets * TEXT_OVERHEAD
        fits = sizes.nodes <= self.plan.max_nodes and cost <= self.plan.infosets_bytes
        if fits and sizes.slots <= self.plan.max_slots and sizes.infosets <= self.plan.max_infosets:
            return None
        return (
            f"it has {sizes.nodes:,} nodes and {sizes.infosets:,} information sets, which do not fit into "
            f"memory={self.plan.limit / 1e6:,.0f}MB"
        )

    def places(self, sizes: Sizes) -> dict[str, np.ndarray]:
        """Returns the arrays that the state of a tree of these sizes is read into, by name; see `end_loading`."""
        places = self._places
        return {
            "nodes": places.nodes[: sizes.nodes],
            "parents": places.parents[: sizes.nodes],
            "infosets": self._infosets[: sizes.infosets],
            "keys": self._info_keys[: sizes.infosets],
            "checks": self._checks[: sizes.infosets],
            "slot_actions": places.slot_actions[: sizes.slots],
            "payoffs": places.payoffs[: sizes.payoffs],
            "chance": places.chance[: sizes.outcomes],
            "outcome_actions": places.outcome_actions[: sizes.outcomes],
            "texts": np.zeros(sizes.text_bytes, np.uint8),
        }

    def state(self, sizes: Sizes) -> dict[str, np.ndarray]:
        """Returns what has lazy, by name, in arrays that do not depend on the memory limit. Forget first."""
        state = self.places(sizes)
        state["infosets"] = state["infosets"].copy()
        self._swap_orphans(state["infosets"])
        state["texts"] = np.frombuffer(self.keys.as_bytes(), np.uint8)
        return state

    def _swap_orphans(self, infosets: np.ndarray) -> None:
        """Numbers the empty sequences from the end of the places or, in files, -1, -2, ...; and back."""
        parents = infosets["parent_slot"]
        orphans = (parents >= self.plan.max_slots) | (parents < 0)
        parents[orphans] = self.plan.max_slots - 1 - parents[orphans]

    def begin_loading(self) -> None:
        """Forgets all that has lazy."""
        self.evict()
        self._places.nodes[: self.count(g.NUM_NODES)] = 0
        self.expander.clear()

    def end_loading(self, sizes: Sizes, texts: np.ndarray) -> None:
        """Makes what was read into `places` the tree."""
        expansion = self._places.expansion
        expansion[list(_SIZES)] = sizes[: len(_SIZES)]
        expansion[g.RECALL_LOST_AT] = 0
        self.keys.restore(texts.tobytes())
        self._swap_orphans(self._infosets[: sizes.infosets])
        while expansion[g.TABLE_SIZE] < 2 * sizes.infosets:
            expansion[g.TABLE_SIZE] *= 2
        g.enter_all(expansion)

    def __getstate__(self) -> dict:
        return {
            "game": self.game,
            "plan": self.plan,
            "keys": self.keys.kind,
            "threads": self.threads,
            "perfect_recall": not self._is_known_to_forget,
        }

    def __setstate__(self, state: dict) -> None:
        self.__init__(**{**state, "keys": Keys(state["keys"])})  # type: ignore[misc]

    # --- sizes ---

    @property
    def num_players(self) -> int:
        """Number of players, chance not counted."""
        return len(self.arrays.slot_range) - 1

    @property
    def num_nodes(self) -> int:
        """Number of nodes that have places now, visited or not."""
        return self.count(g.NUM_NODES) + self.count(g.NUM_TRANSIENT)

    @property
    def num_expanded(self) -> int:
        """Number of nodes that pyspiel was asked for, those forgotten meanwhile included."""
        return self.count(g.NUM_EXPANDED)

    @property
    def num_infosets(self) -> int:
        """Number of information sets found so far, of all players together."""
        return self.count(g.NUM_INFOSETS)

    @property
    def num_slots(self) -> int:
        """Number of (infoset, action) pairs found so far."""
        return self.count(g.NUM_SLOTS)

    @property
    def slot_capacity(self) -> int:
        """Length of arrays with an entry per slot."""
        return self.plan.max_slots

    @property
    def node_capacity(self) -> int:
        """Length of arrays with an entry per node."""
        return self.plan.max_nodes + self.plan.max_transient

    # --- asking ---

    @property
    def perfect_recall(self) -> bool:
        """Whether nobody was seen to have forgotten what he did or saw."""
        return not self._is_known_to_forget and self.count(g.RECALL_LOST_AT) == 0

    def require_perfect_recall(self, what: str) -> None:
        """Raises GameError if a player was seen to forget; `what` names what needs perfect recall."""
        if not self.perfect_recall:
            node = self.count(g.RECALL_LOST_AT) - 1
            where = f", at history {self.expander.actions_to(node)}" if node >= 0 else ""
            raise GameError(
                f"{self.game.get_type().short_name} has imperfect recall (a player reaches one information set by "
                f"different own actions{where}), and {what} needs perfect recall. Use "
                "estimator='outcome' with averaging='stochastic', which has no guarantees on such games."
            )

    def require_whole(self, what: str) -> NoReturn:
        """Raises ConfigError; `what` names what needs a compiled tree."""
        raise ConfigError(f"{what} needs the whole tree, and this one is_lazy: give tree='compiled'.")

    def infoset(self, info_state: str, player: int | None = None) -> int | None:
        """Returns the number of the infoset with this information state string, or None if no traversal has been there.

        Args:
            info_state: The string that ``state.information_state_string(player)`` gives.
            player: Whose infoset; None: whoever has one (first player first).
        """
        key = self.keys.find(info_state)
        if key is None:
            return None
        for someone in range(self.num_players) if player is None else [player]:
            found = int(g.find(self._places.expansion, someone, *key))
            if found >= 0:
                return found
        return None

    def infoset_of_state(self, state: pyspiel.State, player: int) -> int | None:
        """Returns the number of the infoset that a player is in, or None if no traversal has been there."""
        text = state.information_state_string(player)
        infoset = self.infoset(text, player)
        if infoset is None:  # the conversion to turn-based puts this line before the original's string
            infoset = self.infoset(f"Current player: {player}\n{text}", player)
        return infoset

    @property
    def info_states(self) -> Sequence[str]:
        """Per infoset found, its information state string.

        Raises:
            ConfigError: If only hashes are kept.
        """
        if self.keys.kind != "text":
            raise ConfigError("this lazy tree keeps hashes of information states, not the texts: use keys='text'.")
        return [self.keys.texts[number] for number in self._info_keys[: self.num_infosets, 0].tolist()]

    def slots(self, infoset: int) -> slice:
        """Returns the slots of an infoset, in the order of its legal actions."""
        record = self._infosets[infoset]
        first = int(record["first_slot"])
        return slice(first, first + int(record["num_actions"]))

    def legal_actions(self, infoset: int) -> list[int]:
        """Returns OpenSpiel's legal actions at an infoset."""
        return self._places.slot_actions[self.slots(infoset)].tolist()

    @property
    def found_infosets(self) -> np.ndarray:
        """The infosets found, ``[num_infosets]`` INFOSET, parents first."""
        return self.arrays.infosets[: self.num_infosets]

    @property
    def found_keys(self) -> np.ndarray:
        """Their keys, ``[num_infosets, 2]`` int64."""
        return self._info_keys[: self.num_infosets]

    @property
    def found_actions(self) -> np.ndarray:
        """OpenSpiel's action of each slot found, ``[num_slots]`` int64."""
        return self._places.slot_actions[: self.num_slots]


def _read_only(array: np.ndarray) -> np.ndarray:
    view = array.view()
    view.flags.writeable = False  # as in compiled trees: one compiled kernel serves both
    return view
