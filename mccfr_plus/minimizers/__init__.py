"""How an infoset learns from sampled values: `RegretMatching` and its family."""

from mccfr_plus.minimizers.base import Minimizer
from mccfr_plus.minimizers.rules import (
    Discounted,
    PredictiveRegretMatching,
    PredictiveRegretMatchingPlus,
    RegretMatching,
    RegretMatchingPlus,
    linear,
)

__all__ = [
    "Discounted",
    "Minimizer",
    "PredictiveRegretMatching",
    "PredictiveRegretMatchingPlus",
    "RegretMatching",
    "RegretMatchingPlus",
    "linear",
]
