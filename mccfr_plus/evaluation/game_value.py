"""The value of a two-player zero-sum game, between two bounds."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyspiel

from mccfr_plus.errors import ConfigError, GameError
from mccfr_plus.games import bluff_rounds
from mccfr_plus.solver.solver import Solver
from mccfr_plus.tree import GameTree, compile_game


class GameValue(NamedTuple):
    """Bounds of player 0's payoff under optimal play.

    Attributes:
        lower: Player 0's payoff against a best response of player 1.
        upper: Payoff of player 0's best response.
        iterations: Iterations that it took.

    Examples:
        >>> import mccfr_plus
        >>> value = mccfr_plus.game_value("kuhn_poker", precision=1e-3)
        >>> value.lower <= -1 / 18 <= value.upper
        True
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

    Runs discounted CFR until the bounds are close enough.

    Args:
        game: The game, its name or its tree.
        precision: Half the largest distance between the bounds, positive.

    Raises:
        ConfigError: If the precision is not positive.
        GameError: If the game does not have two players, or their payoffs do not add up to 0.

    Examples:
        >>> import mccfr_plus
        >>> round(mccfr_plus.game_value("kuhn_poker", precision=1e-4).middle, 3)
        -0.056
    """
    if not 0 < precision < np.inf:
        raise ConfigError(f"precision={precision!r}: must be a positive number.")
    tree = compile_game(game)
    if tree.num_players != 2 or np.abs(tree.arrays.payoffs.sum(axis=1)).max() > 1e-9:
        raise GameError(f"{tree.game} is no two-player zero-sum game: it has no value. See evaluate().")
    solver = Solver(tree, estimator="full", minimizer="dcfr")
    solver.run(target_exploitability=precision)
    first, second = solver.evaluate().best_response_values.tolist()
    return GameValue(0.0 - second, first, solver.iterations)


bluff_rounds.solve = lambda game, precision: game_value(game, precision).middle
