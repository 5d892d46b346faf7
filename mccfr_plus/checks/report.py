"""Reports of checks, and their errors."""

from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from mccfr_plus.checks.games import name_of
from mccfr_plus.errors import CheckError
from mccfr_plus.trees.game_tree import GameTree


@dataclass(frozen=True)
class CheckLine:
    """A line of a report."""

    check: str  # its name
    compared: str  # the compared objects, and where
    result: str


@dataclass(frozen=True)
class Report:
    """The checks that a component passed. ``str(report)`` is a table."""

    component: str
    lines: tuple[CheckLine, ...]
    figures: dict[str, float] = field(default_factory=dict)  # further results, such as "bias"

    def __str__(self) -> str:
        widths = [max((len(getattr(line, name)) for line in self.lines), default=0) for name in ("check", "compared")]
        rows = [f"  {a.check:<{widths[0]}}  {a.compared:<{widths[1]}}  {a.result}" for a in self.lines]
        return "\n".join([f"{self.component}: {len(self.lines)} checks passed", *rows])


@dataclass(frozen=True)
class Subject:
    """A component, game and player that are checked: each message names them."""

    component: Any
    tree: GameTree | None = None
    player: int | None = None  # None: all players

    def require(self, good: Any, what: str, look_at: str, **details: Any) -> None:
        """Raises CheckError unless all of `good` is true; see `fail` for the other arguments.

        Args:
            good: A truth value, or one per slot: then the message names the first slot where it is false, and shows the
                entries of `expected` and `found` there if they are arrays.
        """
        if np.ndim(good) and not np.all(good):
            slot = int(np.argmin(good))
            details = {name: value[slot] if np.ndim(value) else value for name, value in details.items()}
            details["slot"] = slot
        if not np.all(good):
            self.fail(what, look_at, **details)

    def fail(
        self, what: str, look_at: str, *, slot: int | None = None, expected: Any = None, found: Any = None
    ) -> NoReturn:
        """Raises CheckError.

        Args:
            what: The fault, as a sentence without its full stop.
            look_at: Where to look for the cause.
            slot: The slot; the empty sequences follow the last one.
            expected: The right value.
            found: The wrong one.
        """
        places = [f"game {name_of(self.tree)}"] if self.tree is not None else []
        places += [f"player {self.player}"] if self.player is not None else []
        places += [_place_of(self.tree, int(slot))] if self.tree is not None and slot is not None else []
        details = {"where": ", ".join(places) or None, "expected": expected, "found": found, "look at": look_at}
        lines = [f"  {name}: {_text(value)}" for name, value in details.items() if value is not None]
        raise CheckError("\n".join([f"{self.component!r}: {what}.", *lines]))


def _place_of(tree: GameTree, slot: int) -> str:
    """Returns a description of a slot's information state and action."""
    if tree.num_slots <= slot < tree.num_slots + tree.num_players:
        return f"the empty sequence of player {slot - tree.num_slots}"
    if not 0 <= slot < tree.num_slots:
        return f"slot {slot}, which is not an (information state, action) pair"
    infoset = int(tree.infoset_of_slot[slot])
    return (
        f"information state {tree.info_states[infoset]!r} of player {int(tree.arrays.infosets[infoset]['player'])}, "
        f"action {int(tree.slot_action[slot])} (slot {slot})"
    )


def _text(value: Any) -> str:
    if isinstance(value, float | np.floating):
        return f"{float(value):.12g}"
    if isinstance(value, np.ndarray):
        return np.array2string(value, precision=6, max_line_width=200)
    return str(value)
