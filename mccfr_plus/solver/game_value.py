"""The value of a two-player zero-sum game, between two bounds."""

from typing import NamedTuple

import numpy as np
import pyspiel

from mccfr_plus.errors import ConfigError
from mccfr_plus.evaluation.exact import num_entries, require_zero_sum, solve_lp
from mccfr_plus.games import bluff_rounds
from mccfr_plus.solver.solver import Solver
from mccfr_plus.trees import GameTree, compile_game

_ROUNDING = 1e-12  # of the range of payoffs
MOST_ENTRIES = 20_000  # of a linear program that takes a second or two


class GameValue(NamedTuple):
    """Bounds of player 0's payoff under optimal play.

    Attributes:
        lower: Player 0's payoff against a best response of player 1.
        upper: Payoff of player 0's best response.
        iterations: Iterations that it took; 0 of a linear program.

    Examples:
        >>> import mccfr_plus
        >>> value = mccfr_plus.game_value("kuhn_poker")
        >>> round(value.lower * 18, 9), round(value.upper * 18, 9)
        (-1.0, -1.0)
    """

    lower: float
    upper: float
    iterations: int

    @property
    def middle(self) -> float:
        """The middle of the two bounds."""
        return (self.lower + self.upper) / 2


def game_value(game: pyspiel.Game | str | GameTree, precision: float = 1e-5) -> GameValue:
    """Returns bounds of a two-player zero-sum game's value: the values of both players' best responses.

    Solves small games by `solve_lp`, whatever the precision. On others runs discounted CFR until the bounds are close
    enough.

    Args:
        game: The game, its name or its tree.
        precision: Half the largest distance between the bounds, at least 1e-12 of the range of payoffs.

    Raises:
        ConfigError: If the precision is too small for the rounding of payoffs.
        GameError: If the game does not have two players, or their payoffs do not add up to 0.

    Examples:
        >>> import mccfr_plus
        >>> round(mccfr_plus.game_value("kuhn_poker").middle, 9)
        -0.055555556
    """
    if not 0 < precision < np.inf:
        raise ConfigError(f"precision={precision!r}: must be a positive number.")
    tree = compile_game(game)
    require_zero_sum(tree)
    if num_entries(tree) <= MOST_ENTRIES:
        equilibrium = solve_lp(tree)
        return GameValue(equilibrium.lower, equilibrium.upper, 0)
    least = _ROUNDING * float(tree.payoff_range[0])
    if precision < least:
        raise ConfigError(f"precision={precision!r}: payoffs are rounded to more, give at least {least:.2g}.")
    solver = Solver(tree, estimator="full", minimizer="dcfr")
    solver.run(target_exploitability=precision)
    first, second = solver.evaluate().best_response_values.tolist()
    return GameValue(0.0 - second, first, solver.iterations)


bluff_rounds.solve = lambda game, precision: game_value(game, precision).middle
