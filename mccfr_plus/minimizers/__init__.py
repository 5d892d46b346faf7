"""How an infoset learns from sampled values: the regret matching family, Hedge, and FTRL and OMD on whole sequences."""

from mccfr_plus.minimizers.asymmetric import AsymmetricPredictive
from mccfr_plus.minimizers.base import Minimizer
from mccfr_plus.minimizers.discounted import Discounted, dcfr_pruning, discounted_plus, linear, linear_plus
from mccfr_plus.minimizers.ftrl import FTRL
from mccfr_plus.minimizers.hedge import Hedge
from mccfr_plus.minimizers.mmd import MagneticMirrorDescent
from mccfr_plus.minimizers.omd import OMD
from mccfr_plus.minimizers.predictive_discounted import PredictiveDiscounted
from mccfr_plus.minimizers.predictive_regret_matching import PredictiveRegretMatching
from mccfr_plus.minimizers.predictive_regret_matching_plus import PredictiveRegretMatchingPlus, simple_asymmetric
from mccfr_plus.minimizers.regret_matching import RegretMatching
from mccfr_plus.minimizers.regret_matching_plus import RegretMatchingPlus
from mccfr_plus.minimizers.regularized import RegularizedMirrorDescent
from mccfr_plus.minimizers.reward_transformation import RewardTransformation
from mccfr_plus.minimizers.scheduled_discounted import ScheduledDiscounted
from mccfr_plus.minimizers.smooth import SmoothPredictive

__all__ = [
    "FTRL",
    "OMD",
    "AsymmetricPredictive",
    "Discounted",
    "Hedge",
    "MagneticMirrorDescent",
    "Minimizer",
    "PredictiveDiscounted",
    "PredictiveRegretMatching",
    "PredictiveRegretMatchingPlus",
    "RegretMatching",
    "RegretMatchingPlus",
    "RegularizedMirrorDescent",
    "RewardTransformation",
    "ScheduledDiscounted",
    "SmoothPredictive",
    "dcfr_pruning",
    "discounted_plus",
    "linear",
    "linear_plus",
    "simple_asymmetric",
]
