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
| `Escher` | one | one | one, from a fixed strategy; values of histories instead of weights |
"""

from mccfr_plus.estimators.balanced import balanced_strategy
from mccfr_plus.estimators.base import AverageMethod, Estimator, SamplingWeights
from mccfr_plus.estimators.baselines import Baseline
from mccfr_plus.estimators.schemes import (
    AverageStrategySampling,
    BalancedOutcomeSampling,
    ChanceSampling,
    Escher,
    ExternalSampling,
    Full,
    OpponentSampling,
    OutcomeSampling,
)

__all__ = [
    "AverageMethod",
    "AverageStrategySampling",
    "BalancedOutcomeSampling",
    "Baseline",
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
