"""A game that is traversed by its rules, and whose infosets are one where symmetries turn them into each other."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import pyspiel

from mccfr_plus.errors import ConfigError
from mccfr_plus.games.game import RulesGame
from mccfr_plus.games.symmetries import Symmetries
from mccfr_plus.kernels.intrinsics import address_of
from mccfr_plus.trees.by_rules.frames import NUM_SYMMETRIES, NUM_TURNED, NUM_VALUES, packed
from mccfr_plus.trees.by_rules.implicit_tree import ImplicitTree
from mccfr_plus.trees.by_rules.rows import SYMMETRIES
from mccfr_plus.trees.by_rules.rules_keys import RulesKeys, SymmetricKeys
from mccfr_plus.trees.memory import MemoryPlan


class SymmetricTree(ImplicitTree):
    """An `ImplicitTree` whose infosets stand for all that symmetries turn into them; see `frames`.

    Args:
        game: See `ImplicitTree`, also for what is not listed here.

    Raises:
        ConfigError: If the game's rules name no symmetries.

    Attributes:
        symmetries: Those of the game.
    """

    def __init__(self, game: pyspiel.Game, rules_game: RulesGame, plan: MemoryPlan, threads: int = 1):
        require_symmetries(game, rules_game)
        self.symmetries = Symmetries(rules_game.sizes)
        self.num_symmetries = len(self.symmetries)
        super().__init__(game, rules_game, plan, threads)
        self._packed = packed(self.symmetries)
        self._expansion[SYMMETRIES] = address_of(self._packed)

    @cached_property
    def _constants(self) -> dict[Any, int]:
        return {
            **super()._constants,
            NUM_SYMMETRIES: self.num_symmetries,
            NUM_TURNED: self.rules_game.sizes.num_distinct_actions,
            NUM_VALUES: self.symmetries.values.shape[1],
        }

    def _new_keys(self) -> RulesKeys:
        return SymmetricKeys(self.game)


def require_symmetries(game: pyspiel.Game, rules: RulesGame) -> None:
    """Raises ConfigError if the rules of a game name no symmetries."""
    if len(rules.sizes.symmetries) < 2:
        raise ConfigError(
            f"symmetry=True: the rules of {game} name no symmetries, as those of phantom_ttt and dark_hex do: leave it "
            "out."
        )
