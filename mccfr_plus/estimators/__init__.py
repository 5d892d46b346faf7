"""How a gradient is sampled: by `traversal`, with one table of switches (`sampling`), or as the other files say."""

from mccfr_plus.estimators.base import Estimator, SamplingWeights
from mccfr_plus.estimators.control_variates import Baseline
from mccfr_plus.estimators.escher import Escher
from mccfr_plus.estimators.full import BestResponseOpponent, Full
from mccfr_plus.estimators.outcome import BalancedOutcomeSampling, OutcomeSampling, balanced_strategy
from mccfr_plus.estimators.sampling import AverageStrategySampling, ChanceSampling, ExternalSampling, OpponentSampling

__all__ = [
    "AverageStrategySampling",
    "BalancedOutcomeSampling",
    "Baseline",
    "BestResponseOpponent",
    "ChanceSampling",
    "Escher",
    "Estimator",
    "ExternalSampling",
    "Full",
    "OpponentSampling",
    "OutcomeSampling",
    "SamplingWeights",
    "balanced_strategy",
]
