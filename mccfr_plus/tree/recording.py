"""A game tree in the order of a depth-first traversal, before it is laid out in arrays.

Whoever traversals a game, in Python or in compiled rules, appends to a `Recording`; `layout` turns it into arrays. The
stream needs no child pointers: the order of visit and the number of children say it all.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field


@dataclass
class Recording:
    """What a depth-first traversal saw, in the order in which it saw it."""

    num_players: int
    kinds: array = field(default_factory=lambda: array("b"))  # per node: its player, CHANCE or TERMINAL
    payloads: array = field(default_factory=lambda: array("i"))  # per node: infoset, distribution or payoff index
    infoset_player: list[int] = field(default_factory=list)
    infoset_key: list[str] = field(default_factory=list)
    infoset_actions: list[list[int]] = field(default_factory=list)
    distributions: list[tuple[tuple[int, float], ...]] = field(default_factory=list)
    payoffs: list[tuple[float, ...]] = field(default_factory=list)
