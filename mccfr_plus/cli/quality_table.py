"""What `mccfr-plus evaluate` prints where exact numbers are out of reach, and of head-to-head play."""

from __future__ import annotations

import textwrap
from typing import Any

from mccfr_plus.cli import output
from mccfr_plus.evaluation import Estimate, Finding, HeadToHead, expected_values
from mccfr_plus.evaluation.strategies import AnyPolicy
from mccfr_plus.tree.game_tree import GameTree

_WIDTH = 100


def print_findings(findings: tuple[Finding, ...], notes: tuple[str, ...]) -> None:
    """Prints a row per number, with what it is, and what is missing."""
    rows = [["", "what it is", "value", *_limits(findings[0].estimate.confidence), "samples", "by"]]
    for found in findings:
        who = "" if found.player is None else f" of player {found.player}"
        rows.append([found.quantity + who, *_cells(found.estimate), found.method])
    output.print_table(rows, texts=(0, 1, 6))
    for note in notes:
        print(textwrap.fill(note, _WIDTH))


def finding_as_dict(found: Finding) -> dict[str, Any]:
    """Returns a number as JSON has it."""
    return {"quantity": found.quantity, "player": found.player, "by": found.method, **found.estimate._asdict()}


def exact_head_to_head(tree: GameTree, first: AnyPolicy, second: AnyPolicy) -> HeadToHead:
    """Returns what a policy wins against another in all seats, computed and not played."""
    seats = []
    for seat in range(tree.num_players):
        seated = [first if player == seat else second for player in range(tree.num_players)]
        seats.append(_exactly(float(expected_values(tree, seated)[seat])))
    mean = _exactly(sum(seat.value for seat in seats) / len(seats))
    return HeadToHead(estimate=mean, plain=mean, by_seat=tuple(seats), variance_reduction=1.0)


def print_head_to_head(result: HeadToHead, policy: str, other: str) -> None:
    """Prints what a policy wins per game, in each seat and on average."""
    print(f"{policy} against {other}, won per game")
    is_exact = result.estimate.kind == "exact"
    rows = [["", "what it is", "value", *_limits(result.estimate.confidence), "samples"]]
    rows += [[f"as player {seat}", *_cells(found)] for seat, found in enumerate(result.by_seat)]
    rows.append(["in all seats", *_cells(result.estimate)])
    output.print_table([row[:3] if is_exact else row for row in rows], texts=(0, 1))
    if not is_exact:
        factor = output.number(result.variance_reduction, 3)
        print(f"control variates took luck away: {factor} times less variance than payoffs have")


def head_to_head_as_dict(result: HeadToHead, other: str) -> dict[str, Any]:
    """Returns the result as JSON has it."""
    is_exact = result.estimate.kind == "exact"
    return {
        "against": other,
        **result.estimate._asdict(),
        "by_seat": [seat._asdict() for seat in result.by_seat],
        "variance_reduction": None if is_exact else result.variance_reduction,
    }


def _exactly(value: float) -> Estimate:
    return Estimate(value, value, value, "exact", 1.0, 0, 0.0)


def _limits(confidence: float) -> list[str]:
    return [f"{100 * confidence:g} % from", "to"]


def _cells(found: Estimate) -> list[str]:
    numbers = [output.number(number, 4) for number in (found.value, found.low, found.high)]
    return [found.kind, *numbers, output.count(found.samples)]
