"""How an infoset learns from sampled values: the regret matching family, Hedge, and FTRL and OMD on whole sequences."""

from mccfr_plus.minimizers.discounted import Discounted as Discounted
from mccfr_plus.minimizers.discounted import PredictiveDiscounted as PredictiveDiscounted
from mccfr_plus.minimizers.discounted import ScheduledDiscounted as ScheduledDiscounted
from mccfr_plus.minimizers.discounted import dcfr_pruning as dcfr_pruning
from mccfr_plus.minimizers.discounted import discounted_plus as discounted_plus
from mccfr_plus.minimizers.discounted import linear as linear
from mccfr_plus.minimizers.discounted import linear_plus as linear_plus
from mccfr_plus.minimizers.exponential_weights import FTRL as FTRL
from mccfr_plus.minimizers.exponential_weights import OMD as OMD
from mccfr_plus.minimizers.exponential_weights import Hedge as Hedge
from mccfr_plus.minimizers.exponential_weights import MagneticMirrorDescent as MagneticMirrorDescent
from mccfr_plus.minimizers.minimizer import Minimizer as Minimizer
from mccfr_plus.minimizers.minimizer import PredictiveRegretMatching as PredictiveRegretMatching
from mccfr_plus.minimizers.minimizer import PredictiveRegretMatchingPlus as PredictiveRegretMatchingPlus
from mccfr_plus.minimizers.minimizer import RegretMatching as RegretMatching
from mccfr_plus.minimizers.minimizer import RegretMatchingPlus as RegretMatchingPlus
from mccfr_plus.minimizers.minimizer import simple_asymmetric as simple_asymmetric
from mccfr_plus.minimizers.predictive import AsymmetricPredictive as AsymmetricPredictive
from mccfr_plus.minimizers.predictive import SmoothPredictive as SmoothPredictive
from mccfr_plus.minimizers.regularized import RegularizedMirrorDescent as RegularizedMirrorDescent
from mccfr_plus.minimizers.regularized import RewardTransformation as RewardTransformation
