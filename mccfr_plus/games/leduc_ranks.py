"""Leduc poker with any number of ranks, dealt without suits (rules: docs/background/games.md).

Reference: Southey et al. 2005, "Bayes' bluff" (Leduc, 3 ranks); Farina, Kroer and Sandholm 2020 (13 ranks).
"""

from dataclasses import replace

from mccfr_plus.games.game import RulesGame
from mccfr_plus.games.openspiel import leduc_poker
from mccfr_plus.games.openspiel.leduc_poker import CARDS, COPIES, MOST_MONEY, NUM_CARDS, leduc_layout, money_of
from mccfr_plus.games.rules import CHANCE, MOVER, Field, Layout, Parameters
from mccfr_plus.kernels.compile import kernel


@kernel
def _outcomes(parameters, table, state, actions, probabilities):
    ranks, suits, count = parameters[NUM_CARDS], parameters[COPIES], 0
    cards = ranks * suits
    private = state[CARDS] == 0
    for outcome in range(ranks * ranks) if private else range(ranks * ranks, ranks * ranks + ranks):
        first, second = outcome // ranks, outcome % ranks
        if private:
            ways, all_ways = suits * (suits - int(first == second)), cards * (cards - 1)
        else:
            ways = suits - int(state[CARDS] == second + 1) - int(state[CARDS + 1] == second + 1)
            all_ways = cards - 2
        if ways > 0:
            actions[count], probabilities[count] = outcome, ways / all_ways
            count += 1
    return count


@kernel
def _apply(parameters, table, state, action):
    ranks = parameters[NUM_CARDS]
    if state[MOVER] == CHANCE:
        if state[CARDS] == 0:
            leduc_poker.apply(parameters, table, state, action // ranks)
        action = action % ranks
    leduc_poker.apply(parameters, table, state, action)


@kernel
def _look(parameters, table, state, player, view):
    leduc_poker.look(parameters, table, state, player, view)
    view[10], view[11] = money_of(parameters, state, 0), money_of(parameters, state, 1)


@kernel
def _observe(parameters, table, state, player, action):
    # Who is in front of a raise is so since the last action.
    dealt = state[CARDS + player] - 1 if action < 0 else state[leduc_poker.PUBLIC]
    return 2 * dealt + int(money_of(parameters, state, player) < money_of(parameters, state, 1 - player))


class LeducRanksGame(RulesGame):
    """Leduc poker on the level of ranks; parameters: `ranks` and `suits`, the copies of each rank."""

    short_name = "leduc_ranks"
    long_name = "Leduc Poker on Ranks"
    defaults = {"ranks": 13, "suits": 2}  # noqa: RUF012
    action_names = ("fold", "call", "raise")
    rules = replace(leduc_poker.RULES, outcomes=_outcomes, apply=_apply, look=_look, observe=_observe)

    @classmethod
    def layout(cls, parameters: Parameters) -> Layout:
        ranks = parameters.whole_number("ranks", 2, 100, "76 * ranks**3 histories")
        suits = parameters.whole_number("suits", 1, 100)
        parameters.require(ranks * suits >= 3, "give a deck of at least 3 cards, ranks * suits", "ranks", "suits")
        cards = ["-", *map(str, range(ranks))]
        bets = ("", "f", "c", "r")
        return replace(
            leduc_layout(2, ranks, suits),
            fields=(
                Field("card", ranks + 1, private=True, symbols=cards),
                Field("board", ranks + 1, symbols=cards),
                Field("bets", 4, 4, symbols=bets),
                Field("bets2", 4, 4, symbols=bets),
                Field("money", MOST_MONEY + 1, 2, when="now"),
            ),
            max_chance_outcomes=ranks * ranks + ranks,
            max_chance_nodes=2,
            max_observations=2 * (ranks + 1),
            max_first_observations=2 * ranks,
        )

    def outcome_text(self, outcome: int) -> str:
        """Returns the cards that are dealt, such as "deal 3 7" for the private cards and "board 3"."""
        ranks = self.given["ranks"]
        board = outcome - ranks * ranks
        return f"board {board}" if board >= 0 else f"deal {outcome // ranks} {outcome % ranks}"
