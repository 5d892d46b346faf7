"""What the papers print about the sizes of these games, and what the rules give (`catalogue.json`).

``tests/games/test_page.py`` checks the figures under `ours` by enumeration. Where a printed figure does not follow
from the rules as the paper tells them, the verdict says so; no rule was changed to reproduce one.
"""

import json
from importlib import resources
from typing import Any, NamedTuple

LANCTOT = "Lanctot et al. 2009"


class Size(NamedTuple):
    """One figure of a game.

    It is the number of ``"histories"``, ``"histories without chance"``, ``"infosets"`` or ``"sequences"`` (of each
    player, the empty one included), ``"l"`` (longest history in moves of players) or ``"M"`` (of each player).
    """

    what: str
    published: str  # as the paper prints it
    ours: int | float | tuple[int, ...] | tuple[float, ...]  # by enumeration; a tuple has one entry per player
    verdict: str = "exact"  # whether they agree, in a few words


class Published(NamedTuple):
    """A game of a paper: its game string, the paper, and its sizes."""

    game: str
    paper: str
    sizes: tuple[Size, ...]


def _size(what: str, published: str, ours: Any, verdict: str) -> Size:
    return Size(what, published, tuple(ours) if isinstance(ours, list) else ours, verdict)


_FILE = resources.files("mccfr_plus.experiments.papers") / "catalogue.json"
CATALOGUE = tuple(
    Published(each["game"], each["paper"], tuple(_size(*size) for size in each["sizes"]))
    for each in json.loads(_FILE.read_text(encoding="utf-8"))["games"]
)
