"""How a gradient is sampled. All rows of one table:

| scheme | at chance | at opponents | at own nodes |
|---|---|---|---|
| `Full` | all | all | all |
| `ChanceSampling` | one | all | all |
| `OpponentSampling` | all | one | all |
| `ExternalSampling` | one | one | all |
| `OutcomeSampling` | one | one | one, epsilon-on-policy |
"""

from mccfr_plus.estimators.base import Average, Estimator
from mccfr_plus.estimators.schemes import (
    ChanceSampling,
    ExternalSampling,
    Full,
    OpponentSampling,
    OutcomeSampling,
)

__all__ = [
    "Average",
    "ChanceSampling",
    "Estimator",
    "ExternalSampling",
    "Full",
    "OpponentSampling",
    "OutcomeSampling",
]
