"""Evaluation of policies: exact on compiled trees and with compiled rules, and by sampling in games of any size."""

from mccfr_plus.evaluation.by_rules import evaluate_by_rules as evaluate_by_rules
from mccfr_plus.evaluation.exact import BestResponse as BestResponse
from mccfr_plus.evaluation.exact import Evaluation as Evaluation
from mccfr_plus.evaluation.exact import best_response as best_response
from mccfr_plus.evaluation.exact import evaluate as evaluate
from mccfr_plus.evaluation.exact import expected_values as expected_values
from mccfr_plus.evaluation.exact import exploitability as exploitability
from mccfr_plus.evaluation.exact import nash_conv as nash_conv
from mccfr_plus.evaluation.local_best_response import ExploitabilityBound as ExploitabilityBound
from mccfr_plus.evaluation.local_best_response import LocalBestResponse as LocalBestResponse
from mccfr_plus.evaluation.local_best_response import exploitability_lower_bound as exploitability_lower_bound
from mccfr_plus.evaluation.local_best_response import local_best_response as local_best_response
from mccfr_plus.evaluation.play import Estimate as Estimate
from mccfr_plus.evaluation.play import HeadToHead as HeadToHead
from mccfr_plus.evaluation.play import head_to_head as head_to_head
from mccfr_plus.evaluation.quality import Finding as Finding
from mccfr_plus.evaluation.quality import Quality as Quality
from mccfr_plus.evaluation.quality import estimate_quality as estimate_quality
from mccfr_plus.evaluation.sampled_best_response import SampledBestResponse as SampledBestResponse
from mccfr_plus.evaluation.sampled_best_response import sampled_best_response as sampled_best_response
from mccfr_plus.policies.table import InfosetValues as InfosetValues
from mccfr_plus.policies.table import infoset_values as infoset_values
