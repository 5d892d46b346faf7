"""The convergence record of a neural solver."""

from typing import NamedTuple


class Point(NamedTuple):
    """One evaluation of the average policy."""

    iteration: int
    seconds: float  # spent in iterations until then, evaluations not counted
    nodes: int  # histories visited until then
    exploitability: float  # NashConv / number of players, in the game's payoffs
