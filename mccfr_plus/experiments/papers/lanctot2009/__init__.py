"""Lanctot, Waugh, Zinkevich, Bowling 2009, "Monte Carlo sampling for regret minimization in extensive games"."""

from mccfr_plus.experiments.papers.item import Item, Paper
from mccfr_plus.experiments.papers.lanctot2009 import figure1, table1

LANCTOT_2009 = Paper(
    "lanctot2009",
    "Lanctot, Waugh, Zinkevich, Bowling 2009",
    (
        Item("table1", "table 1: sizes of the games, and seconds per iteration", table1.compute),
        Item("figure1", "figure 1: exploitability against histories touched", figure1.compute),
    ),
)

__all__ = ["LANCTOT_2009"]
