"""How an infoset learns from sampled values: the regret matching family, Hedge, and FTRL and OMD on whole sequences."""

from mccfr_plus.minimizers.base import Minimizer
from mccfr_plus.minimizers.discounted import Discounted, dcfr_pruning, linear, linear_plus
from mccfr_plus.minimizers.ftrl import FTRL
from mccfr_plus.minimizers.hedge import Hedge
from mccfr_plus.minimizers.omd import OMD
from mccfr_plus.minimizers.predictive_regret_matching import PredictiveRegretMatching
from mccfr_plus.minimizers.predictive_regret_matching_plus import PredictiveRegretMatchingPlus
from mccfr_plus.minimizers.regret_matching import RegretMatching
from mccfr_plus.minimizers.regret_matching_plus import RegretMatchingPlus

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
