"""What all trees have in common: `Tree`, and what a tree provides."""

from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyspiel

from mccfr_plus.display import html_summary
from mccfr_plus.errors import ConfigError, GameError
from mccfr_plus.trees.arrays import Shape
from mccfr_plus.trees.needs import HISTORIES


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

    ``arrays_to_run_on(with_leaves, folded)`` gives arrays for a solver's kernels, perhaps with leaf tables, and their
    `expansion`, writable; ``why_full()`` says why the tree cannot grow; ``attach(*, check_depth,
    single_trajectory)`` makes the tree a solver's and returns the uniform strategy, ``[slot_capacity]`` float64;
    ``check_depth`` refuses histories longer than ``shape.max_depth``; ``single_trajectory`` says that a traversal
    visits one history.
    """

    kind: ClassVar[str]  # as `Solver` calls it
    provides: ClassVar[frozenset[str]]  # words of `needs`
    game: pyspiel.Game
    arrays: Any  # `TreeArrays`, or `PublicArrays` of a public tree
    shape: Shape
    bindings: Any  # what fills slots of estimators, minimizers and averages for this tree
    slot_action: np.ndarray  # OpenSpiel's action for each slot
    num_players: int  # chance not counted
    num_nodes: Any  # histories that are stored
    num_infosets: Any  # found so far, of all players together, like `num_slots`
    num_slots: Any
    slot_capacity: Any  # length of arrays with an entry per slot
    node_capacity: Any  # length of arrays with an entry per node; a traversal lists at most as many visits
    perfect_recall: Any  # whether every infoset tells its player all that the player saw and did before; if not, TIED
    found_infosets: Any  # [num_infosets] INFOSET, parents first
    arrays_to_run_on: Any
    attach: Any
    why_full: Any
    refined: Any  # the game with perfect recall, of trees with `entries`
    entries: Any = (0, 0)  # see `scratch.new_scratch`
    _find: Any  # (info_state, player): the number of a player's infoset, or None

    @cached_property
    def infoset_of_slot(self) -> np.ndarray:
        """The infoset of each slot, ``[num_slots]`` int32, of a tree that does not grow."""
        return np.repeat(np.arange(self.num_infosets, dtype=np.int32), self.found_infosets["num_actions"])

    def check(self) -> None:
        """Raises what has ended the last traversal, if that was an error; the tree can then be used again."""

    def require_perfect_recall(self, what: str) -> None:
        """Raises GameError if the game has imperfect recall; `what` names what needs perfect recall."""
        if not self.perfect_recall:
            raise GameError(
                f"{self.game.get_type().short_name} has imperfect recall (a player reaches the same information set by "
                f"different sequences of its own actions), but {what} needs perfect recall."
            )

    def require_whole(self, what: str) -> Any:
        """Returns the tree, a `GameTree`. ConfigError, which says what needs it, if not all histories are stored."""
        if HISTORIES not in self.provides:
            raise ConfigError(f"{what} needs the whole tree, which is not stored here: give tree='compiled'.")
        return self

    def require_texts(self) -> None:
        """Raises PolicyError if strategies may differ where texts of information states are equal."""

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

    def _repr_html_(self) -> str:
        stored = {"nodes": f"{self.num_nodes:,}"} if self.num_nodes else {}
        rows = {"kind": self.kind, "players": self.num_players, **stored, "information sets": f"{self.num_infosets:,}"}
        return html_summary(f"Tree of {self.game}", rows)

    def infoset(self, info_state: str, player: int | None = None) -> int | None:
        """Returns the number of the infoset with an information state string, or None where none was found.

        Without a `player`, it is the infoset of the first player who has one.
        """
        owners = range(self.num_players) if player is None else [player]
        return next((found for owner in owners if (found := self._find(info_state, owner)) is not None), None)

    def infoset_of_state(self, state: pyspiel.State, player: int) -> int | None:
        """Returns the number of the infoset that a player is in, or None where there is none.

        The state may be of the simultaneous game that the tree's game was converted from.
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
