"""`SearchPolicy`: an OpenSpiel policy that solves the subgame in which it is asked."""

from typing import Any

import numpy as np
import pyspiel

from mccfr_plus.evaluation.strategies import JointPolicy
from mccfr_plus.minimizers import Minimizer
from mccfr_plus.parameters import check_choice, check_whole
from mccfr_plus.policies.table import TreePolicy
from mccfr_plus.search.blueprint import AFTER_CHANCE, Blueprint
from mccfr_plus.search.resolving import DEFAULT_MINIMIZER, METHODS, Resolved, resolve
from mccfr_plus.trees.public.public_tree import PublicTree


class SearchPolicy(TreePolicy):
    """A policy that plays a blueprint first, and solutions of subgames from some public states on.

    It is a `TreePolicy`: `evaluate` and `exploitability` solve all subgames for both players and evaluate the whole
    policy exactly. A query at a single state solves one subgame, whose result is kept. In a subgame that a player never
    reaches, it plays the blueprint.

    Args:
        game: A two-player zero-sum game that has a public tree, or that tree.
        blueprint: A policy of the game.
        start: The beginning of subgames: a number of players' actions, or ``"chance"`` for the first decision after the
            first public chance outcome.
        method: ``"unsafe"``, ``"resolve"``, ``"maxmargin"`` or ``"reach"``; see `gadget`.
        iterations: Number of full iterations per subgame and player.
        minimizer: The minimizer that solves the subgames.

    Raises:
        GameError: If the game has no public tree, or is not zero-sum.
        PolicyError: If the blueprint lacks an information set.
        ConfigError: If no public state is at `start`, or another argument is out of range.

    Examples:
        >>> from mccfr_plus import Solver, exploitability, search
        >>> blueprint = Solver("leduc_poker", seed=1).run(3000).average_policy()
        >>> policy = search.SearchPolicy("leduc_poker", blueprint, method="maxmargin")
        >>> exploitability("leduc_poker", policy) < exploitability("leduc_poker", blueprint)
        True
    """

    def __init__(
        self,
        game: pyspiel.Game | str | PublicTree,
        blueprint: JointPolicy,
        start: int | str = AFTER_CHANCE,
        method: str = "maxmargin",
        *,
        iterations: int = 1000,
        minimizer: Minimizer | str = DEFAULT_MINIMIZER,
    ):
        check_choice("method", method, METHODS)
        check_whole("iterations", iterations)
        self.blueprint = Blueprint(game, blueprint, start)
        super().__init__(self.blueprint.tree, self.blueprint.strategy)  # type: ignore[arg-type]
        self.method, self.iterations, self.minimizer = method, iterations, minimizer
        self.resolved: dict[tuple[int, int], Resolved | None] = {}  # by subgame and player

    def strategy(self) -> np.ndarray:
        """Returns the probabilities at all information sets, ``[num_slots]`` float64; solves all remaining subgames."""
        for number in range(len(self.blueprint.subgames)):
            for player in range(2):
                self._search(number, player)
        return super().strategy()

    def _search(self, number: int, player: int) -> None:
        if (number, player) in self.resolved:
            return
        subgame, found = self.blueprint.subgames[number], None
        if self.blueprint.reaches(subgame, player):
            found = resolve(
                self.blueprint, subgame, player, self.method, iterations=self.iterations, minimizer=self.minimizer
            )
            self._strategy[subgame.slots[player]] = found.strategy
        self.resolved[number, player] = found

    def _actions_and_probabilities(self, infoset: int) -> list[tuple[int, float]]:
        player = int(self.tree.arrays.infosets[infoset]["player"])
        number = self.blueprint.subgame_of(infoset, player)
        if number is not None:
            self._search(number, player)
        return super()._actions_and_probabilities(infoset)

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a SearchPolicy cannot be pickled: create it in the process that needs it.")
