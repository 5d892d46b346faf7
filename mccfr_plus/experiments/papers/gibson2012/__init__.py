"""Gibson, Burch, Lanctot, Szafron 2012, "Efficient Monte Carlo CFR in games with many player actions"."""

from mccfr_plus.experiments.papers.gibson2012 import claims, curves, parameters, stacks
from mccfr_plus.experiments.papers.item import Item, Paper

GIBSON_2012 = Paper(
    "gibson2012",
    "Gibson, Burch, Lanctot, Szafron 2012",
    (
        Item("figure1a", "figure 1a: epsilon of average strategy sampling in 2-NL Hold'em", parameters.epsilon),
        Item("figure1b", "figure 1b: tau of average strategy sampling in 2-NL Hold'em", parameters.tau),
        Item("figure2a", "figure 2a: exploitability against histories touched in 2-NL Hold'em", curves.result),
        Item("figure2b", "figure 2b: exploitability against stacks in 2-NL Hold'em", stacks.result),
        Item("figure3a", "figure 3a: exploitability against histories touched in Bluff(1, 1)", curves.result),
        Item("figure3b", "figure 3b: exploitability against histories touched in Bluff(2, 1)", curves.result),
        Item("claims", "claim by claim", claims.result),
    ),
)
