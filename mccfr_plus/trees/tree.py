"""What all trees have in common: `Tree`, and what a tree provides."""

from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyspiel

from mccfr_plus.display import html_summary
from mccfr_plus.trees.arrays import Shape, TreeArrays


class Sizes(NamedTuple):
    """How much of a tree's arrays is in use."""

    nodes: int
    infosets: int
    slots: int
    payoffs: int = 0
    outcomes: int = 0
    block_words: int = 0  # of the table of successors


class Tree:
    """What a solver needs of a game. Methods for growing and for checkpoints do nothing here, as in complete trees.

    Subclasses define ``arrays_to_run_on(with_leaves)``, the arrays for a solver's kernels, perhaps with leaf tables,
    and their `expansion`, writable; ``why_full()``, why the tree cannot grow; and ``attach(ones, *, check_depth,
    single_trajectory)``, which makes the tree a solver's and returns the uniform strategy, ``[slot_capacity]`` float64.
    New infosets get a 1 at their first slot in ``ones``, ``[slot_capacity]`` float64 or None; ``check_depth`` refuses
    histories longer than ``shape.max_depth``; ``single_trajectory`` says that a traversal visits one history.

    Attributes:
        kind: The kind of tree, as `Solver` calls it.
        bindings: What fills slots of estimators, minimizers and averages for this tree.
        arrays: What the kernels read; see `mccfr_plus.trees.arrays`.
        slot_action: OpenSpiel's action of each slot.
        num_players: Number of players, chance not counted.
        num_nodes: Number of histories that are stored.
        num_infosets: Number of information sets of all players together, found so far.
        num_slots: Number of (infoset, action) pairs, found so far.
        slot_capacity: Length of arrays with an entry per slot.
        node_capacity: Length of arrays with an entry per node; a traversal lists at most as many visits.
        perfect_recall: Whether every infoset tells its player all that the player saw and did before.
        found_infosets: The infosets known, ``[num_infosets]`` INFOSET, parents first.
    """

    kind: ClassVar[str]
    provides: ClassVar[frozenset[str]]
    bindings: Any
    game: pyspiel.Game
    arrays: TreeArrays
    shape: Shape
    slot_action: np.ndarray
    num_players: int
    num_nodes: Any
    num_infosets: Any
    num_slots: Any
    slot_capacity: Any
    node_capacity: Any
    perfect_recall: Any
    found_infosets: Any
    arrays_to_run_on: Any
    attach: Any
    why_full: Any

    def check(self) -> None:
        """Raises what has ended the last traversal, if that was an error; the tree can then be used again."""

    def require_perfect_recall(self, what: str) -> None:
        """Raises GameError if the game has imperfect recall; `what` names what needs perfect recall."""

    # --- its part of a checkpoint ---

    def sizes(self) -> Sizes:
        """Returns how much of the arrays is in use."""
        return Sizes(self.num_nodes, self.num_infosets, self.num_slots)

    def places(self, sizes: Sizes) -> dict[str, np.ndarray]:
        """Returns the arrays that the state of a tree of these sizes is read into, by name; see `end_loading`."""
        return {}

    def state(self, sizes: Sizes) -> dict[str, np.ndarray]:
        """Returns what was found, by name, in arrays that do not depend on the memory limit."""
        return {}

    def begin_loading(self) -> None:
        """Clears all that was found."""

    def end_loading(self, sizes: Sizes) -> None:
        """Makes what was read into `places` the tree."""

    def why_too_small(self, sizes: Sizes) -> str | None:
        """Returns why a tree of these sizes has no room here, or None if it has."""
        return None

    # --- infosets ---

    def _repr_html_(self) -> str:
        stored = {"nodes": f"{self.num_nodes:,}"} if self.num_nodes else {}
        rows = {"kind": self.kind, "players": self.num_players, **stored, "information sets": f"{self.num_infosets:,}"}
        return html_summary(f"Tree of {self.game}", rows)

    def infoset(self, info_state: str, player: int | None = None) -> int | None:
        """Returns the number of the infoset with this information state string, or None where there is none.

        Of a tree that is not compiled, only infosets that a traversal has met are there.

        Args:
            info_state: The string that ``state.information_state_string(player)`` gives.
            player: Whose infoset; None: the first player who has one.
        """
        owners = range(self.num_players) if player is None else [player]
        return next((found for owner in owners if (found := self._find(info_state, owner)) is not None), None)

    def _find(self, info_state: str, player: int) -> int | None:
        raise NotImplementedError

    def infoset_of_state(self, state: pyspiel.State, player: int) -> int | None:
        """Returns the number of the infoset that a player is in, or None where there is none.

        Args:
            state: A state of the tree's game, or of the simultaneous game that this was converted from.
        """
        text = state.information_state_string(player)
        infoset = self._find(text, player)
        if infoset is None:  # the conversion to turn-based puts this line before the original's string
            infoset = self._find(f"Current player: {player}\n{text}", player)
        return infoset

    def slots(self, infoset: int) -> slice:
        """Returns the slots of an infoset, in the order of its legal actions."""
        record = self.arrays.infosets[infoset]
        first = int(record["first_slot"])
        return slice(first, first + int(record["num_actions"]))

    def legal_actions(self, infoset: int) -> list[int]:
        """Returns OpenSpiel's legal actions at an infoset."""
        return self.slot_action[self.slots(infoset)].tolist()
