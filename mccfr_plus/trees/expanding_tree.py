"""What trees have in common whose infosets are numbered as traversals find them: `LazyTree` and `ImplicitTree`."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyspiel

from mccfr_plus.errors import ConfigError
from mccfr_plus.kernels.intrinsics import address_of
from mccfr_plus.kernels.slots import Bindings
from mccfr_plus.trees import expansion
from mccfr_plus.trees.arrays import NODE, OUTCOME, Shape, TreeArrays, read_only
from mccfr_plus.trees.info_states import Keys
from mccfr_plus.trees.memory import KERNELS, MemoryPlan
from mccfr_plus.trees.scratch import ENTRY, IS_LAZY, TIED
from mccfr_plus.trees.tree import Sizes, Tree

# Entries of `expansion` that `Sizes` lists, in its order.
_SIZES = [getattr(expansion, f"NUM_{name.upper()}") for name in Sizes._fields if name != "block_words"]

_SHARE_OF_ENTRIES = 4  # a fourth of the memory
_BYTES_PER_ENTRY_SLOT = ENTRY.itemsize + 8 + 8 + 4  # of the list, gradient, reach and what is behind a slot
_LAST_INDEX = int(np.iinfo(np.int32).max) - 1

_SLACK = 1.05  # of the plan: what checkpoints may take, as processes differ by some MB


class ExpandingTree(Tree):
    """A game whose infosets are numbered when they are first visited; it belongs to one solver.

    Its arrays have room for all that the plan allows, which takes no memory; the subclass makes those in ``stored``.
    """

    keys: Keys
    threads: int

    def __init__(self, game: pyspiel.Game, plan: MemoryPlan, shape: Shape, **stored: np.ndarray):
        self.game, self.plan, self.shape, self.slot_capacity = game, plan, shape, plan.max_slots
        self.max_slots = plan.max_slots  # (infoset, action) pairs that may be found
        self.perfect_recall = shape.perfect_recall
        self.num_players = num_players = game.num_players()
        slot_range = np.zeros(num_players + 1, np.int64)
        slot_range[-1] = plan.max_slots
        none = {"nodes": np.zeros(0, NODE), "payoffs": np.zeros((0, num_players)), "chance": np.zeros(0, OUTCOME)}
        arrays = TreeArrays(
            **{**none, **stored},
            infoset_range=np.arange(num_players + 1, dtype=np.int64) * plan.max_infosets,
            slot_range=slot_range,
        )
        self._expansion, self._infosets = arrays.expansion, arrays.infosets
        self.arrays = TreeArrays(*map(read_only, arrays))
        self._info_keys = np.zeros((plan.max_infosets, 2), np.int64)
        self._strategy = np.zeros(plan.max_slots)  # what new infosets play
        self._kept: dict[int, Any] = {}
        self._owned = False

    def _keep(self, things: Mapping[int, Any]) -> None:
        """Writes the addresses of arrays or callbacks to words of `expansion`, and keeps these things alive."""
        self._kept |= things
        for word, thing in things.items():
            self._expansion[word] = address_of(thing)

    @property
    def bindings(self) -> Bindings:
        return {IS_LAZY: True} if self.perfect_recall else {IS_LAZY: True, TIED: True}

    @property
    def entries(self) -> tuple[int, int]:  # type: ignore[override]
        """Room for the entries of tied infosets: those of a gradient, which end the run if they do not fit."""
        if self.perfect_recall:
            return 0, 0
        slots = self._entry_bytes // (_BYTES_PER_ENTRY_SLOT * self.threads)
        if self.plan.max_slots + self.num_players + slots > _LAST_INDEX:
            raise ConfigError(
                f"memory={self.plan.limit / 1e6:,.0f}MB is too high with imperfect recall: give a lower limit."
            )
        return slots, slots  # an entry has at least one

    @property
    def _entry_bytes(self) -> int:
        """The memory for entries of all threads."""
        return 0 if self.perfect_recall else self.plan.tree_bytes // _SHARE_OF_ENTRIES

    def attach(self, *, check_depth: bool, single_trajectory: bool) -> np.ndarray:
        """See `Tree`: from now on the tree can grow. One that belongs to another solver is a ConfigError."""
        if self._owned:
            raise ConfigError("this tree belongs to another solver: pass the game itself to each solver.")
        self._owned = True
        words, plan = self._expansion, self.plan
        self._keep({expansion.SELF: words, expansion.INFOSETS: self._infosets, expansion.STRATEGY: self._strategy})
        words[expansion.MAX_NODES], words[expansion.NODE_COST] = plan.max_nodes, plan.node_cost
        words[expansion.MAX_INFOSETS], words[expansion.INFOSET_COST] = plan.max_infosets, plan.infoset_cost
        words[expansion.MAX_SLOTS], words[expansion.SLOT_COST] = plan.max_slots, plan.slot_cost
        words[expansion.MAX_COST] = plan.tree_bytes - self._entry_bytes
        return self._strategy

    def arrays_to_run_on(self, with_leaves: bool, folded: bool = False) -> tuple[TreeArrays, np.ndarray]:
        return self.arrays, self._expansion

    def why_full(self, status: int) -> str:
        if status == expansion.LIST_FULL:
            return (
                f"memory={self.plan.limit / 1e6:,.0f}MB has no room for all information sets that one gradient enters, "
                "which are listed once per past (imperfect recall): give more memory, or a smaller batch."
            )
        found = f"{self.num_infosets:,} information sets" + (f" and {self.num_nodes:,} nodes" if self.num_nodes else "")
        return (
            f"{found} have filled memory={self.plan.limit / 1e6:,.0f}MB. The policy of the iterations so far is kept; "
            "it plays uniformly at random where no traversal has been. Give more memory, or smaller parameters of the "
            "game."
        )

    # --- its part of a checkpoint ---

    def sizes(self) -> Sizes:
        return Sizes(*map(self.count, _SIZES))

    def state(self, sizes: Sizes) -> dict[str, np.ndarray]:
        state = self.places(sizes)
        state["infosets"] = state["infosets"].copy()
        self._swap_orphans(state["infosets"])
        return state

    def end_loading(self, sizes: Sizes) -> None:
        self._expansion[list(_SIZES)] = sizes[: len(_SIZES)]
        self._swap_orphans(self._infosets[: sizes.infosets])

    def _swap_orphans(self, infosets: np.ndarray) -> None:
        """Numbers the empty sequences from the end of the places or, in files, -1, -2, ...; and back."""
        parents = infosets["parent_slot"]
        orphans = (parents >= self.plan.max_slots) | (parents < 0)
        parents[orphans] = self.plan.max_slots - 1 - parents[orphans]

    def why_too_small(self, sizes: Sizes) -> str | None:
        plan = self.plan
        fits = self._cost(sizes) <= _SLACK * plan.tree_bytes + KERNELS and sizes.nodes <= max(plan.max_nodes, 1)
        if fits and sizes.slots <= self.max_slots and sizes.infosets <= plan.max_infosets:
            return None
        return (
            f"it has {sizes.nodes:,} nodes and {sizes.infosets:,} information sets, which do not fit into "
            f"memory={plan.limit / 1e6:,.0f}MB"
        )

    def _cost(self, sizes: Sizes) -> int:
        """Returns the bytes of what `sizes` lists."""
        return sizes.infosets * self.plan.infoset_cost + sizes.slots * self.plan.slot_cost

    # --- infosets ---

    def count(self, entry: int) -> int:
        """Returns an entry of ``arrays.expansion``."""
        return int(self._expansion[entry])

    @property
    def num_nodes(self) -> int:
        return self.count(expansion.NUM_NODES)

    @property
    def num_infosets(self) -> int:
        return self.count(expansion.NUM_INFOSETS)

    @property
    def num_slots(self) -> int:
        return self.count(expansion.NUM_SLOTS)

    @property
    def found_infosets(self) -> np.ndarray:
        return self.arrays.infosets[: self.num_infosets]

    @property
    def found_actions(self) -> np.ndarray:
        """OpenSpiel's action for each slot found, ``[num_slots]`` int64."""
        return self.slot_action[: self.num_slots].astype(np.int64, copy=False)

    @property
    def found_keys(self) -> np.ndarray:
        """The keys of the infosets found, ``[num_infosets, 2]`` int64."""
        return self._info_keys[: self.num_infosets]
