"""What `mccfr-plus solve --bounds` prints: what theory promises beside what was measured."""

from __future__ import annotations

from typing import Any

from mccfr_plus.bounds import nash_conv_bound, regret_bound, why_no_bound
from mccfr_plus.cli import output
from mccfr_plus.solver.solver import Solver


def bounds_of(solver: Solver, confidence: float, nash_conv: float | None) -> dict[str, Any]:
    """Returns the bounds on the players' average regrets, their sum, and what NashConv says about it."""
    tree, parts = solver.tree.require_whole("a bound"), (solver.estimator, solver.minimizer, solver.averaging)
    p = (1 - confidence) / tree.num_players  # of each, so that all hold together
    reason = why_no_bound(tree, *parts)
    if solver.config.baseline is not None:
        reason = "with baselines nothing is known about the range of the estimates"
    found = [None if reason else regret_bound(tree, i, solver.iterations, *parts, p=p) for i in range(tree.num_players)]
    known = [bound for bound in found if bound is not None]
    relation = nash_conv_bound(solver)
    reasons = [reason, relation.reason]
    return {
        "confidence": confidence,
        "regret": [bound and bound.value for bound in found],
        "theorem": [bound and bound.theorem for bound in found],
        "sum": sum(bound.value for bound in known) if len(known) == len(found) else None,
        "slack": relation.slack if relation.is_bounded else None,
        "measured": nash_conv if relation.is_bounded else None,
        "reason": "; ".join(dict.fromkeys(reason for reason in reasons if reason)),
    }


def print_bounds(bounds: dict[str, Any]) -> None:
    """Prints the table."""
    rows = [["average regret", "bound", "measured", "by"]]
    for player, (value, theorem) in enumerate(zip(bounds["regret"], bounds["theorem"], strict=True)):
        rows.append([f"player {player}", output.number(value), "", theorem or ""])
    rows.append(["all players", output.number(bounds["sum"]), output.number(bounds["measured"])])
    if bounds["slack"]:
        rows.append(["slack of alternating updates", output.number(bounds["slack"])])
    print()
    output.print_table(rows, texts=(0, 3))
    print(f"confidence {bounds['confidence']:g}; {bounds['reason']}")
