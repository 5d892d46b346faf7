"""Evaluation of policies in games of any size, by sampling: without a tree, on any OpenSpiel policy."""

from mccfr_plus.evaluation.by_sampling.estimate import Estimate
from mccfr_plus.evaluation.by_sampling.head_to_head import HeadToHead, head_to_head
from mccfr_plus.evaluation.by_sampling.local_best_response import (
    ExploitabilityBound,
    LocalBestResponse,
    exploitability_lower_bound,
    local_best_response,
)
from mccfr_plus.evaluation.by_sampling.quality import Finding, Quality, estimate_quality
from mccfr_plus.evaluation.by_sampling.sampled_best_response import SampledBestResponse, sampled_best_response

__all__ = [
    "Estimate",
    "ExploitabilityBound",
    "Finding",
    "HeadToHead",
    "LocalBestResponse",
    "Quality",
    "SampledBestResponse",
    "estimate_quality",
    "exploitability_lower_bound",
    "head_to_head",
    "local_best_response",
    "sampled_best_response",
]
