"""Evaluation of policies: exact on compiled trees and by compiled rules, and by sampling in games of any size.

`evaluate`, `expected_values`, `best_response`, `nash_conv` and `exploitability` are exact on compiled trees,
`evaluate_by_rules` in games that are not stored. `estimate_quality`,
`head_to_head`, `local_best_response`, `exploitability_lower_bound` and `sampled_best_response` sample, without a tree.
"""

from mccfr_plus.evaluation.estimates import Estimate
from mccfr_plus.evaluation.exact import (
    BestResponse,
    Evaluation,
    best_response,
    evaluate,
    expected_values,
    exploitability,
    nash_conv,
)
from mccfr_plus.evaluation.head_to_head import HeadToHead, head_to_head
from mccfr_plus.evaluation.infoset_values import InfosetValues, infoset_values
from mccfr_plus.evaluation.local_best_response import (
    ExploitabilityBound,
    LocalBestResponse,
    exploitability_lower_bound,
    local_best_response,
)
from mccfr_plus.evaluation.policy_by_rules import evaluate_by_rules
from mccfr_plus.evaluation.quality import Finding, Quality, estimate_quality
from mccfr_plus.evaluation.sampled_best_response import SampledBestResponse, sampled_best_response

__all__ = [
    "BestResponse",
    "Estimate",
    "Evaluation",
    "ExploitabilityBound",
    "Finding",
    "HeadToHead",
    "InfosetValues",
    "LocalBestResponse",
    "Quality",
    "SampledBestResponse",
    "best_response",
    "estimate_quality",
    "evaluate",
    "evaluate_by_rules",
    "expected_values",
    "exploitability",
    "exploitability_lower_bound",
    "head_to_head",
    "infoset_values",
    "local_best_response",
    "nash_conv",
    "sampled_best_response",
]
