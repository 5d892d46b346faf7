"""How a gradient is sampled: by `traversal`, with one table of switches (`sampling`), or as the other files say."""

from mccfr_plus.estimators.base import Estimator as Estimator
from mccfr_plus.estimators.base import SamplingWeights as SamplingWeights
from mccfr_plus.estimators.control_variates import Baseline as Baseline
from mccfr_plus.estimators.escher import Escher as Escher
from mccfr_plus.estimators.full import BestResponseOpponent as BestResponseOpponent
from mccfr_plus.estimators.full import Full as Full
from mccfr_plus.estimators.outcome import BalancedOutcomeSampling as BalancedOutcomeSampling
from mccfr_plus.estimators.outcome import OutcomeSampling as OutcomeSampling
from mccfr_plus.estimators.outcome import balanced_strategy as balanced_strategy
from mccfr_plus.estimators.sampling import AverageStrategySampling as AverageStrategySampling
from mccfr_plus.estimators.sampling import ChanceSampling as ChanceSampling
from mccfr_plus.estimators.sampling import ExternalSampling as ExternalSampling
from mccfr_plus.estimators.sampling import OpponentSampling as OpponentSampling
