"""How good a policy is: expected values, best responses, NashConv, exploitability."""

from mccfr_plus.evaluation.exact import (
    BestResponse,
    Evaluation,
    best_response,
    evaluate,
    expected_values,
    exploitability,
    nash_conv,
)

__all__ = [
    "BestResponse",
    "Evaluation",
    "best_response",
    "evaluate",
    "expected_values",
    "exploitability",
    "nash_conv",
]
