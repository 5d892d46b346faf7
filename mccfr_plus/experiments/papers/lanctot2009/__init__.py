"""Lanctot, Waugh, Zinkevich, Bowling 2009, "Monte Carlo sampling for regret minimization in extensive games"."""

from mccfr_plus.experiments.papers.item import Item, Paper
from mccfr_plus.experiments.papers.lanctot2009 import claims, epsilon, figure1, table1

LANCTOT_2009 = Paper(
    "lanctot2009",
    "Lanctot, Waugh, Zinkevich, Bowling 2009",
    (
        Item("table1", "table 1: sizes of the games, and seconds per iteration", table1.result),
        Item("figure1", "figure 1: exploitability against histories touched", figure1.result),
        Item("epsilon", "section 5: epsilon of outcome sampling", epsilon.result),
        Item("claims", "claim by claim", claims.result),
    ),
)
