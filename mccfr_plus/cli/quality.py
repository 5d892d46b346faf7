"""How good the result of `mccfr-plus solve` is: exactly where the tree is whole, by a bound where it is_lazy."""

from __future__ import annotations

import sys
from typing import Any

from mccfr_plus.cli import output
from mccfr_plus.evaluation import expected_values
from mccfr_plus.evaluation.quality import local_bound
from mccfr_plus.tree.game_tree import GameTree

_UNIT = "in the game's payoffs"


def quality_of(solver: Any, values: Any) -> dict[str, Any]:
    """Returns values, NashConv, exploitability and its bound of the average policy; None for what is not known.

    Args:
        solver: A `Solver` or a `NeuralSolver`, after its run.
        values: Parsed flags: ``bound_seconds``, ``seed`` and ``quiet``.
    """
    unknown: dict[str, Any] = {"nash_conv": None, "exploitability": None, "exploitability_bound": None}
    if not isinstance(solver.tree, GameTree):
        game = solver.game if solver.tree is None else solver.tree.game
        none = {"values": [None] * game.num_players(), **unknown}
        if values.bound_seconds == 0 or (solver.tree is not None and not solver.tree.perfect_recall):
            return none
        found = local_bound(
            game,
            solver.average_policy(),
            values.bound_seconds,
            seed=values.seed,
            progress=not values.quiet and sys.stderr.isatty(),
        )
        return none if found is None else {**none, "exploitability_bound": found.estimate._asdict()}
    if not solver.tree.perfect_recall:
        return {"values": expected_values(solver.tree, solver.average_policy()).tolist(), **unknown}
    evaluation = solver.evaluate()
    return {
        "values": evaluation.values.tolist(),
        "nash_conv": evaluation.nash_conv,
        "exploitability": evaluation.exploitability,
        "exploitability_bound": None,
    }


def quality_rows(solver: Any, result: dict[str, Any]) -> list[list[str]]:
    """Returns the rows of the result's table that `quality_of` has found."""
    if solver.tree is None or solver.tree.is_lazy:
        bound = result["exploitability_bound"]
        if bound is None:
            return [
                [
                    "exploitability",
                    "n/a (no bound found in time; compare policies by mccfr-plus evaluate --against)",
                ]
            ]
        low, high = output.number(bound["low"], 4), output.number(bound["high"], 4)
        interval = f"{100 * bound['confidence']:g} % interval {low} to {high}"
        return [["exploitability", f"at least {output.number(bound['value'], 4)} (local best response, {interval})"]]
    rows = [[f"value of player {i}", output.number(v)] for i, v in enumerate(result["values"])]
    if not solver.tree.perfect_recall:
        return [*rows, *([name, "n/a (imperfect recall)"] for name in ("nash_conv", "exploitability"))]
    return [*rows, *([name, f"{output.number(result[name])} {_UNIT}"] for name in ("nash_conv", "exploitability"))]
