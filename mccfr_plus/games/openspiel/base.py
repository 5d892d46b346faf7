"""The rules of one of OpenSpiel's own games as kernels, in place of OpenSpiel's C++."""

from abc import abstractmethod
from collections.abc import Sequence

from mccfr_plus.games.game import RulesGame
from mccfr_plus.games.rules import Field


class OpenSpielRules(RulesGame):
    """The compiled rules of a game that OpenSpiel has: same actions, outcomes of chance, payoffs and infosets.

    The order of actions and outcomes is also OpenSpiel's. A tree built from the rules is therefore bitwise identical to
    the tree built through pyspiel. `short_name` and the names of parameters are OpenSpiel's; `layout` refuses
    parameters that have no rules. A game with simultaneous moves is played in its turn-based form, as
    `pyspiel.convert_to_turn_based` makes it.
    """

    @abstractmethod
    def information_state(self, player: int, view: Sequence[int]) -> str:
        """Returns OpenSpiel's ``information_state_string(player)`` at a decision node of the player.

        Args:
            player: The player to move.
            view: The output of `look`.
        """

    def view_text(self, player: int, view: Sequence[int], places: Sequence[tuple[int, Field]] | None = None) -> str:
        """Returns the information state; `places` is ignored, because OpenSpiel writes observations itself."""
        return self.information_state(player, view)

    def tensor_cells(self, player: int, place: int, value: int) -> Sequence[int] | None:
        """Returns the entries of OpenSpiel's tensor; None if only OpenSpiel can write it."""
        return None
