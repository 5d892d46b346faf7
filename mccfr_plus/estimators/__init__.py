"""How a gradient is sampled. All rows of one table:

| scheme | at chance | at opponents | at own nodes |
|---|---|---|---|
| `Full` | all | all | all |
| `ChanceSampling` | one | all | all |
| `OpponentSampling` | all | one | all |
| `ExternalSampling` | one | one | all |
| `AverageStrategySampling` | one | one | a subset, by the average strategy |
| `OutcomeSampling` | one | one | one, epsilon-on-policy |
| `BalancedOutcomeSampling` | one | one | one, from the exploration-balanced strategy |
| `BestResponseOpponent` | all | the best response | all |
| `Escher` | one | one | one, from a fixed strategy; values of histories instead of weights |
"""

from mccfr_plus.estimators.base import Estimator, SamplingWeights
from mccfr_plus.estimators.best_response import BestResponseOpponent
from mccfr_plus.estimators.control_variates import Baseline
from mccfr_plus.estimators.escher import Escher
from mccfr_plus.estimators.full import Full
from mccfr_plus.estimators.outcome import BalancedOutcomeSampling, OutcomeSampling, balanced_strategy
from mccfr_plus.estimators.sampling import (
    AverageStrategySampling,
    ChanceSampling,
    ExternalSampling,
    OpponentSampling,
)

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
