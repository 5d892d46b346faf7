"""Farina, Kroer, Sandholm 2020, "Stochastic regret minimization in extensive-form games"."""

from mccfr_plus.experiments.papers.farina2020 import figures
from mccfr_plus.experiments.papers.item import Item, Paper

FARINA_2020 = Paper(
    "farina2020",
    "Farina, Kroer, Sandholm 2020",
    (
        Item("figure3", "figure 3: MCCFR, FTRL and OMD with external sampling", figures.external),
        Item("figure4", "figure 4: MCCFR, FTRL and OMD with exploration-balanced outcome sampling", figures.balanced),
    ),
)

__all__ = ["FARINA_2020"]
