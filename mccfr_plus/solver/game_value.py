"""The value of a two-player zero-sum game, between two bounds."""

from typing import NamedTuple

import pyspiel

from mccfr_plus.errors import ConfigError
from mccfr_plus.evaluation.exact import num_entries, require_zero_sum, solve_lp
from mccfr_plus.parameters import LARGEST, check_number
from mccfr_plus.solver.solver import Solver
from mccfr_plus.trees import GameTree, compile_game

_ROUNDING = 1e-12  # of the range of payoffs
MOST_ENTRIES = 20_000  # of a linear program that takes a second or two


class GameValue(NamedTuple):
    """Bounds on player 0's payoff under optimal play, derived from each player's best-response value.

    Examples:
        >>> import mccfr_plus
        >>> value = mccfr_plus.game_value("kuhn_poker")
        >>> round(value.lower * 18, 9), round(value.upper * 18, 9)
        (-1.0, -1.0)
    """

    lower: float
    upper: float
    iterations: int  # 0 with a linear program

    @property
    def middle(self) -> float:
        """The middle of the two bounds."""
        return (self.lower + self.upper) / 2


def game_value(game: pyspiel.Game | str | GameTree, precision: float = 1e-5) -> GameValue:
    """Returns bounds on the value of a two-player zero-sum game: values of best responses to computed strategies.

    Small games are solved by `solve_lp`, others by discounted CFR until the bounds are close enough.

    Args:
        game: The game, its name or its tree.
        precision: Half of the maximum permitted distance between the bounds; at least 1e-12 times the payoff range.

    Raises:
        ConfigError: If the precision is smaller than the rounding error of the payoffs.
        GameError: If the game is not a two-player zero-sum game.

    Examples:
        >>> import mccfr_plus
        >>> round(mccfr_plus.game_value("kuhn_poker").middle, 9)
        -0.055555556
    """
    check_number("precision", precision, 0, LARGEST, "must be a positive number")
    tree = compile_game(game)
    require_zero_sum(tree)
    if num_entries(tree) <= MOST_ENTRIES:
        equilibrium = solve_lp(tree)
        return GameValue(equilibrium.lower, equilibrium.upper, 0)
    least = _ROUNDING * float(tree.payoff_range[0])
    if precision < least:
        raise ConfigError(
            f"precision={precision!r}: the rounding error of the payoffs is larger than this; give at least "
            f"{least:.2g}."
        )
    solver = Solver(tree, estimator="full", minimizer="dcfr")
    solver.run(target_exploitability=precision)
    first, second = solver.evaluate().best_response_values.tolist()
    return GameValue(0.0 - second, first, solver.iterations)
