"""Reads the cards and the rules of betting from the parameters of OpenSpiel's `universal_poker`."""

import operator

from mccfr_plus.games.openspiel.betting_tree import LIMIT_STACK, Betting
from mccfr_plus.games.openspiel.hand_strength import RANKS
from mccfr_plus.games.rules import Parameters

_MOST_BOARD = 7
_MOST_RAISES = 255  # per round, as OpenSpiel stores them; also the value for "unlimited"


def deck_of(parameters: Parameters) -> tuple[int, int, int, list[int]]:
    """Returns the numbers of suits, ranks and hole cards, and the board cards of each round."""
    suits, ranks = parameters.whole_number("numSuits", 1, 4), parameters.whole_number("numRanks", 1, RANKS)
    num_hole = parameters.whole_number("numHoleCards", 1, 3)
    board = numbers_of(parameters, "numBoardCards", parameters["numRounds"])
    if sum(board) > _MOST_BOARD:
        raise ValueError(f"numBoardCards={parameters['numBoardCards']}: give at most {_MOST_BOARD} in all.")
    if parameters["numPlayers"] * num_hole + sum(board) > suits * ranks:
        raise ValueError(f"numSuits={suits}, numRanks={ranks}: there are not enough cards for hands and board.")
    return suits, ranks, num_hole, board


def betting_of(parameters: Parameters) -> Betting:
    """Returns the rules of betting."""
    for name, usual in (("potSize", 0), ("boardCards", ""), ("handReaches", "")):
        if parameters[name] != usual:
            raise ValueError(f"{name}={parameters[name]}: subgames have no rules; leave it out.")
    is_limit = parameters.one_of("betting", {"limit": True, "nolimit": False})
    players = parameters.whole_number("numPlayers", 2, 4 if is_limit else 10)
    rounds = parameters.whole_number("numRounds", 1, 4)
    allowed = ("fc", "fcpa") if is_limit else ("fc", "fcpa", "fchpa", "fullgame")
    abstraction = parameters.one_of("bettingAbstraction", {name: name for name in allowed})
    stacks = [LIMIT_STACK] * players if is_limit else numbers_of(parameters, "stack", players)
    blinds = numbers_of(parameters, "blind", players)
    first_players = (numbers_of(parameters, "firstPlayer") + [1] * rounds)[:rounds]
    max_raises = (numbers_of(parameters, "maxRaises") + [_MOST_RAISES] * rounds)[:rounds]
    if max(max_raises) > _MOST_RAISES:
        raise ValueError(f"maxRaises={parameters['maxRaises']}: give at most {_MOST_RAISES} per round.")
    if not all(1 <= first <= players for first in first_players):
        raise ValueError(f"firstPlayer={parameters['firstPlayer']}: give players from 1 to {players}.")
    if max(blinds) < 1 or any(map(operator.gt, blinds, stacks)) or blinds == stacks:
        raise ValueError(f"blind={parameters['blind']}: give a chip at least, and less than the stacks.")
    return Betting(
        is_limit=is_limit,
        abstraction=abstraction,
        stacks=tuple(stacks),
        blinds=tuple(blinds),
        raise_sizes=tuple(numbers_of(parameters, "raiseSize", rounds)) if is_limit else (0,) * rounds,
        first_players=tuple(first - 1 for first in first_players),
        max_raises=tuple(max_raises),
    )


def numbers_of(parameters: Parameters, name: str, count: int | None = None) -> list[int]:
    """Returns the first `count` whole numbers of a text; None for all of them."""
    words = parameters[name].split()
    if not all(word.isdecimal() for word in words) or len(words) < (count or 0):
        how_many = "" if count is None else f"at least {count} "
        raise ValueError(f"{name}={parameters[name]!r}: give {how_many}whole numbers with spaces between them.")
    return [int(word) for word in words[:count]]
