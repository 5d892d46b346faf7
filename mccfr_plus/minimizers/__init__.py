"""How an infoset learns from sampled values: the regret matching family, Hedge, and FTRL and OMD on whole sequences."""

from mccfr_plus.minimizers.base import Minimizer
from mccfr_plus.minimizers.dilated import FTRL, OMD, MagneticMirrorDescent
from mccfr_plus.minimizers.discounted import (
    Discounted,
    PredictiveDiscounted,
    ScheduledDiscounted,
    dcfr_pruning,
    discounted_plus,
    linear,
    linear_plus,
)
from mccfr_plus.minimizers.hedge import Hedge
from mccfr_plus.minimizers.regret_matching import (
    AsymmetricPredictive,
    PredictiveRegretMatching,
    PredictiveRegretMatchingPlus,
    RegretMatching,
    RegretMatchingPlus,
    simple_asymmetric,
)
from mccfr_plus.minimizers.regularized import RegularizedMirrorDescent
from mccfr_plus.minimizers.reward_transformation import RewardTransformation
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
