"""Reports of checks, and their errors."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from mccfr_plus.checks.games import name_of
from mccfr_plus.errors import CheckError, shortened
from mccfr_plus.trees.game_tree import GameTree


class CheckLine(NamedTuple):
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
        """Raises the `error` unless `good` is true; with an entry per slot, about the first one that is false."""
        if np.ndim(good) and not np.all(good):
            slot = np.argmin(good)
            details = {name: value[slot] if np.ndim(value) else value for name, value in details.items()}
            details["slot"] = slot
        if not np.all(good):
            raise self.error(what, look_at, **details)

    def error(self, what: str, look_at: str, slot: Any = None, expected: Any = None, found: Any = None) -> CheckError:
        """Returns the error for a fault (a sentence without its full stop) whose cause is to be found at `look_at`."""
        places = [f"game {name_of(self.tree)}"] if self.tree is not None else []
        places += [f"player {self.player}"] if self.player is not None else []
        places += [_place_of(self.tree, int(slot))] if self.tree is not None and slot is not None else []
        expected, found = (None if value is None else _text(value) for value in (expected, found))
        details = {"where": ", ".join(places) or None, "expected": expected, "found": found, "look at": look_at}
        lines = [f"  {name}: {text}" for name, text in details.items() if text is not None]
        return CheckError("\n".join([f"{shortened(repr(self.component))}: {what}.", *lines]))


def _place_of(tree: GameTree, slot: int) -> str:
    """Returns a description of a slot's information state and action."""
    if tree.num_slots <= slot < tree.num_slots + tree.num_players:
        return f"the empty sequence of player {slot - tree.num_slots}"
    if not 0 <= slot < tree.num_slots:
        return f"slot {slot}, which is not an (information state, action) pair"
    infoset = int(tree.infoset_of_slot[slot])
    state, owner = shortened(repr(tree.info_states[infoset])), int(tree.arrays.infosets[infoset]["player"])
    return f"information state {state} of player {owner}, action {int(tree.slot_action[slot])} (slot {slot})"


def _text(value: Any) -> str:
    if isinstance(value, float | np.floating):
        return f"{float(value):.12g}"
    text = np.array2string(value, precision=6) if isinstance(value, np.ndarray) else str(value)
    return shortened(text)
