"""What a check returns, and how it fails."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from mccfr_plus.checks.games import name_of
from mccfr_plus.errors import CheckError
from mccfr_plus.tree.game_tree import GameTree


@dataclass(frozen=True)
class Line:
    """One thing that was checked.

    Attributes:
        check: Its name.
        compared: What was compared with what, and where.
        result: What came out.
    """

    check: str
    compared: str
    result: str


@dataclass(frozen=True)
class Report:
    """What was checked of a part that passed. ``str(report)`` is a table.

    Attributes:
        part: The part, as text.
        lines: What was checked, in order.
        figures: Numbers that somebody may want to look at, such as ``"bias"``.
    """

    part: str
    lines: tuple[Line, ...]
    figures: dict[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        widths = [max((len(getattr(line, name)) for line in self.lines), default=0) for name in ("check", "compared")]
        rows = [f"  {a.check:<{widths[0]}}  {a.compared:<{widths[1]}}  {a.result}" for a in self.lines]
        return "\n".join([f"{self.part}: {len(self.lines)} checks passed", *rows])


def fail(
    part: Any,
    what: str,
    *,
    look_at: str,
    tree: GameTree | None = None,
    player: int | None = None,
    slot: int | None = None,
    expected: Any = None,
    found: Any = None,
) -> NoReturn:
    """Raises CheckError.

    Args:
        part: What is checked.
        what: What is wrong, in a sentence without its full stop.
        look_at: What its author should look at.
        tree: The game on which it went wrong.
        player: For which player.
        slot: At which slot; behind the last one stand the empty sequences.
        expected: What should have been found.
        found: What was.
    """
    places = []
    if tree is not None:
        places.append(f"game {name_of(tree)}")
    if player is not None:
        places.append(f"player {player}")
    if tree is not None and slot is not None:
        places.append(place_of(tree, int(slot)))
    lines = [f"{part!r}: {what}."]
    if places:
        lines.append(f"  where: {', '.join(places)}")
    if expected is not None:
        lines.append(f"  expected: {_text(expected)}")
    if found is not None:
        lines.append(f"  found: {_text(found)}")
    lines.append(f"  look at: {look_at}")
    raise CheckError("\n".join(lines))


def place_of(tree: GameTree, slot: int) -> str:
    """Returns a text that says which information state and action a slot is."""
    if tree.num_slots <= slot < tree.num_slots + tree.num_players:
        return f"the empty sequence of player {slot - tree.num_slots}"
    if not 0 <= slot < tree.num_slots:
        return f"slot {slot}, which is no (information state, action) pair"
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
