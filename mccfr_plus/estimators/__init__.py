"""How a gradient is sampled: by `traversal`, with other constants (`estimator`), or as the other files say."""

from mccfr_plus.estimators.control_variates import Baseline as Baseline
from mccfr_plus.estimators.escher import Escher as Escher
from mccfr_plus.estimators.estimator import AverageStrategySampling as AverageStrategySampling
from mccfr_plus.estimators.estimator import ChanceSampling as ChanceSampling
from mccfr_plus.estimators.estimator import Estimator as Estimator
from mccfr_plus.estimators.estimator import ExternalSampling as ExternalSampling
from mccfr_plus.estimators.estimator import OpponentSampling as OpponentSampling
from mccfr_plus.estimators.estimator import SamplingWeights as SamplingWeights
from mccfr_plus.estimators.full import BestResponseOpponent as BestResponseOpponent
from mccfr_plus.estimators.full import Full as Full
from mccfr_plus.estimators.outcome import BalancedOutcomeSampling as BalancedOutcomeSampling
from mccfr_plus.estimators.outcome import OutcomeSampling as OutcomeSampling
from mccfr_plus.estimators.outcome import balanced_strategy as balanced_strategy
from mccfr_plus.estimators.public_chance import PublicChanceSampling as PublicChanceSampling
