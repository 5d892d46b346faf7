"""How an infoset learns from sampled values: the regret matching family, Hedge, and FTRL and OMD on whole sequences."""

from mccfr_plus.minimizers.base import Minimizer
from mccfr_plus.minimizers.exponential import FTRL, OMD, Hedge
from mccfr_plus.minimizers.rules import (
    Discounted,
    PredictiveRegretMatching,
    PredictiveRegretMatchingPlus,
    RegretMatching,
    RegretMatchingPlus,
    dcfr_pruning,
    linear,
    linear_plus,
)

__all__ = [
    "FTRL",
    "OMD",
    "Discounted",
    "Hedge",
    "Minimizer",
    "PredictiveRegretMatching",
    "PredictiveRegretMatchingPlus",
    "RegretMatching",
    "RegretMatchingPlus",
    "dcfr_pruning",
    "linear",
    "linear_plus",
]
