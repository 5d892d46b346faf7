"""How long a run is, and where along it the average policy is evaluated: points as far apart on a logarithmic axis."""

import math
from typing import Any, NamedTuple

from mccfr_plus.errors import ConfigError
from mccfr_plus.trees.game_tree import GameTree

UNITS = ("nodes", "iterations", "seconds")

LEAST, MOST = 8, 60  # points of a run
FEW = 4  # points where an evaluation takes minutes: all histories of a game that is not stored
_DECADES = 4.0  # that the points go over, at the most
_SHARE = 0.04  # of a run's work that evaluations may take
# The cost of an evaluation per history and player, in visits of the run (benchmarks/speed.py evaluation). It
# reads about as much as an iteration of vanilla CFR; traversals take much longer per visit.
FULL_COST, TRAVERSAL_COST = 2.0, 0.3


class Limit(NamedTuple):
    """How long a run is."""

    unit: str  # one of `UNITS`
    total: float

    def done(self, solver: Any) -> float:
        """Returns how much of it has been run."""
        return float(getattr(solver, "nodes_touched" if self.unit == "nodes" else self.unit))

    def progress(self, solver: Any) -> float:
        """Returns the share of it that has been run, from 0 to 1."""
        return min(self.done(solver) / self.total, 1.0)

    def iterations_to(self, solver: Any, target: float) -> int:
        """Returns how many iterations to run next so that the target is not passed, at least 1.

        It depends only on the iterations so far, and ends in single iterations. So the first iteration at or beyond the
        target is found, wherever a run was interrupted before.
        """
        done, iterations = self.done(solver), solver.iterations
        if self.unit == "iterations":
            return round(target - done)
        if not iterations or done <= 0.0:
            return 1
        missing = (target - done) * iterations / done
        # The mean of k iterations is known to about 1 / sqrt(k), and the sum of the next ones strays by about its root.
        # And it drifts, as strategies become purer: so at most half of what seems to be missing.
        cautious = missing * (1.0 - 2.0 / math.sqrt(iterations + 3)) - 3.0 * math.sqrt(missing)
        return max(1, min(math.floor(cautious), math.floor(missing / 2.0), iterations))


def limit_of(**given: float | None) -> Limit:
    """Returns the limit of the one argument that is not None, or a ConfigError if it is not the only one."""
    chosen = {unit: total for unit, total in given.items() if total is not None}
    if len(chosen) != 1:
        what = "none" if not chosen else " and ".join(chosen)
        raise ConfigError(f"a run needs one limit, {what} given: give one of {', '.join(UNITS)}.")
    ((unit, total),) = chosen.items()
    if not math.isfinite(total) or total <= 0 or (unit != "seconds" and total < 1):
        raise ConfigError(f"{unit}={total!r}: must be a number, {'above 0' if unit == 'seconds' else 'at least 1'}.")
    return Limit(unit, float(total))


def evaluation_points(limit: Limit, count: int) -> tuple[float, ...]:
    """Returns at most `count` numbers up to the limit, evenly spaced on a logarithmic axis, whole but for seconds."""
    if count < 1:
        raise ConfigError(f"num_evaluations={count}: give at least one.")
    is_time = limit.unit == "seconds"
    decades = _DECADES if is_time else min(_DECADES, math.log10(limit.total))
    if count == 1 or decades == 0.0:
        return (limit.total,)
    numbers = [limit.total * 10.0 ** (-decades * (1.0 - index / (count - 1))) for index in range(count - 1)]
    return (*sorted({number if is_time else float(round(number)) for number in numbers} - {limit.total}), limit.total)


def affordable_points(tree: GameTree, limit: Limit, cost: float) -> int:
    """Returns how many evaluations take a small share of a run, from 8 to 60; 25 for limits that are not in nodes.

    `cost` is the largest cost of an evaluation per history and player, in visits, of the runs with the same points.
    """
    if limit.unit != "nodes":
        return 25
    evaluation = cost * tree.num_nodes * tree.num_players
    return int(min(max(_SHARE * limit.total / evaluation, LEAST), MOST))
