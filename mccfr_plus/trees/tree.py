"""What all trees have in common: `Tree`, and what a tree provides."""

import abc
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyspiel

from mccfr_plus.display import html_summary
from mccfr_plus.kernels.slots import Bindings
from mccfr_plus.trees.arrays import Shape, TreeArrays


class Sizes(NamedTuple):
    """How much of a tree's arrays is in use."""

    nodes: int
    infosets: int
    slots: int
    payoffs: int = 0
    outcomes: int = 0
    block_words: int = 0  # of the table of successors


class Tree(abc.ABC):
    """What a solver needs of a game. The methods here are those of a complete tree, which never grows.

    Attributes:
        arrays: What the kernels read; see `mccfr_plus.trees.arrays`.
        slot_action: OpenSpiel's action of each slot.
        slot_capacity: Length of arrays with an entry per slot; `num_slots` are in use.
        node_capacity: Length of arrays with an entry per node; a traversal lists at most as many visits.
        perfect_recall: Whether every infoset tells its player all that the player saw and did before.
        found_infosets: The infosets known, ``[num_infosets]`` INFOSET, parents first.
    """

    game: pyspiel.Game
    kind: ClassVar[str]  # as `Solver` calls it
    provides: ClassVar[frozenset[str]]
    arrays: TreeArrays
    shape: Shape
    slot_action: np.ndarray

    slot_capacity: Any
    node_capacity: Any
    num_slots: Any
    perfect_recall: Any
    found_infosets: Any

    # --- what a solver runs on ---

    @property
    def bindings(self) -> Bindings:
        """What fills slots of estimators, minimizers and averages for this tree."""
        return {}

    def attach(self, ones: np.ndarray | None, *, check_depth: bool, single_trajectory: bool) -> np.ndarray:
        """Makes the tree a solver's, and returns the uniform strategy, ``[slot_capacity]`` float64.

        Args:
            ones: ``[slot_capacity]`` float64: new infosets get a 1 at their first slot; None for nothing.
            check_depth: Whether histories longer than ``shape.max_depth`` are to be refused.
            single_trajectory: Whether a traversal visits a single history.
        """
        counts = self.found_infosets["num_actions"]
        return np.repeat(1.0 / counts, counts)

    def arrays_to_run_on(self, with_leaves: bool) -> tuple[TreeArrays, np.ndarray]:
        """Returns the arrays for a solver's kernels, perhaps with leaf tables, and their `expansion`, writable."""
        raise NotImplementedError

    def check(self) -> None:  # noqa: B027
        """Raises what has ended the last traversal, if that was an error; the tree can then be used again."""

    def why_full(self) -> str:
        """Returns why the tree cannot grow, and what would help."""
        raise NotImplementedError

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

    def begin_loading(self) -> None:  # noqa: B027
        """Clears all that was found."""

    def end_loading(self, sizes: Sizes) -> None:  # noqa: B027
        """Makes what was read into `places` the tree."""

    def why_too_small(self, sizes: Sizes) -> str | None:
        """Returns why a tree of these sizes has no room here, or None if it has."""
        return None

    # --- infosets ---

    @abc.abstractmethod
    def require_perfect_recall(self, what: str) -> None:
        """Raises GameError if the game has imperfect recall; `what` names what needs perfect recall."""

    @property
    @abc.abstractmethod
    def num_nodes(self) -> int:
        """Number of histories that are stored."""

    @property
    @abc.abstractmethod
    def num_infosets(self) -> int:
        """Number of information sets of all players together; of a tree that is not compiled those found so far."""

    def _repr_html_(self) -> str:
        stored = {"nodes": f"{self.num_nodes:,}"} if self.num_nodes else {}
        rows = {"kind": self.kind, "players": self.num_players, **stored, "information sets": f"{self.num_infosets:,}"}
        return html_summary(f"Tree of {self.game}", rows)

    @property
    def num_players(self) -> int:
        """Number of players, chance not counted."""
        return len(self.arrays.slot_range) - 1

    def infoset(self, info_state: str, player: int | None = None) -> int | None:
        """Returns the number of the infoset with this information state string, or None where there is none.

        Of a tree that is not compiled, only infosets that a traversal has met are there.

        Args:
            info_state: The string that ``state.information_state_string(player)`` gives.
            player: Whose infoset; None: the first player who has one.
        """
        owners = range(self.num_players) if player is None else [player]
        return next((found for owner in owners if (found := self._find(info_state, owner)) is not None), None)

    @abc.abstractmethod
    def _find(self, info_state: str, player: int) -> int | None:
        """Returns the number of a player's infoset, or None."""

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
