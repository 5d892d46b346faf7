"""All betting sequences of `universal_poker`. They do not depend on cards, so that a game has one tree of them."""

import functools
import itertools
import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from mccfr_plus.games.rules import Parameters

FOLD, CALL, BET, ALL_IN, HALF_POT = range(5)  # actions; with "fullgame" from 2 on what is raised to
_LIMIT_STACK = (1 << 31) - 1  # of each player where bets are limited
ALL_FOLDED, SHOWDOWN = -1, -2  # in the place of the player to move, where the betting is over

_MOST_RAISES = 255  # per round, as OpenSpiel stores them; also the value for "unlimited"
_MOST_SEQUENCES = 250_000
_MOST_ACTIONS = 64  # of a round: what OpenSpiel has room for, counting a call of each player after a raise


@dataclass(frozen=True)
class Betting:
    is_limit: bool  # whether raises have fixed sizes
    abstraction: str  # OpenSpiel's ``bettingAbstraction``
    stacks: tuple[int, ...]  # chips of each player
    blinds: tuple[int, ...]  # of each player
    raise_sizes: tuple[int, ...]  # in each round, if they are fixed
    first_players: tuple[int, ...]  # to act in each round
    max_raises: tuple[int, ...]  # in each round
    first_round: int = 0  # with the board that is given
    pot: int = 0  # of a subgame; 0: players have put in their blinds

    @property
    def num_players(self) -> int:
        return len(self.stacks)

    @classmethod
    def of(cls, parameters: Parameters) -> "Betting":
        is_limit = parameters.one_of("betting", {"limit": True, "nolimit": False})
        players = parameters.whole_number("numPlayers", 2, 4 if is_limit else 10)
        rounds = parameters.whole_number("numRounds", 1, 4)
        allowed = ("fc", "fcpa") if is_limit else ("fc", "fcpa", "fchpa", "fullgame")
        abstraction = parameters.one_of("bettingAbstraction", {name: name for name in allowed})
        stacks = [_LIMIT_STACK] * players if is_limit else numbers_of(parameters, "stack", players)
        blinds = numbers_of(parameters, "blind", players)
        first_players = (numbers_of(parameters, "firstPlayer") + [1] * rounds)[:rounds]
        max_raises = (numbers_of(parameters, "maxRaises") + [_MOST_RAISES] * rounds)[:rounds]
        board, pot = itertools.accumulate(numbers_of(parameters, "numBoardCards", rounds)), parameters["potSize"]
        first_round = next(
            (number for number, count in enumerate(board) if 2 * count >= len(parameters["boardCards"])), 0
        )
        is_pot = pot == 0 or (pot > 0 and pot % players == 0 and pot < players * min(stacks))
        parameters.require(is_pot, "give the same chips of each player, and less than the stacks", "potSize")
        is_possible = max(blinds) >= 1 and all(map(operator.le, blinds, stacks)) and blinds != stacks
        are_players = all(1 <= first <= players for first in first_players)
        parameters.require(max(max_raises) <= _MOST_RAISES, f"give at most {_MOST_RAISES} per round", "maxRaises")
        parameters.require(are_players, f"give players from 1 to {players}", "firstPlayer")
        parameters.require(is_possible, "give a chip at least, and less than the stacks", "blind")
        return cls(
            is_limit=is_limit,
            abstraction=abstraction,
            stacks=tuple(stacks),
            blinds=tuple(blinds),
            raise_sizes=tuple(numbers_of(parameters, "raiseSize", rounds)) if is_limit else (0,) * rounds,
            first_players=tuple(first - 1 for first in first_players),
            max_raises=tuple(max_raises),
            first_round=first_round,
            pot=pot,
        )


def numbers_of(parameters: Parameters, name: str, count: int | None = None) -> list[int]:
    """Returns the first `count` integers of a text; None for all of them."""
    words = parameters[name].split()
    is_list, how_many = all(map(str.isdecimal, words)), f"at least {count} " if count else ""
    is_allowed = is_list and len(words) >= (count or 0)
    parameters.require(is_allowed, f"give {how_many}integers with spaces between them", name)
    return [int(word) for word in words[:count]]


class Node(NamedTuple):
    """A betting sequence."""

    player: int  # to move, or `ALL_FOLDED` or `SHOWDOWN`
    round: int
    spent: tuple[int, ...]  # of each player
    folded: frozenset[int]
    min_raise_to: int
    highest: int  # what has to be spent; OpenSpiel leaves it at the blind where a pot is given
    num_actions: int = 0  # in this round, as are the next two
    num_raises: int = 0
    num_called: int = 0  # players with chips who have matched the last raise
    parent: int = -1  # -1: it is empty
    action: int = -1  # the last one, as OpenSpiel numbers them
    text: str = ""  # of all actions, as OpenSpiel writes them
    children: range = range(0)  # their numbers


@functools.lru_cache(maxsize=32)
def sequences_of(betting: Betting) -> list[Node]:
    """Returns all betting sequences, the empty one first; children follow one another.

    ValueError if there are too many, or if OpenSpiel lists an action that it refuses, or two equal ones.
    """
    least = 0 if betting.is_limit else 2 * max(betting.blinds)
    spent = (betting.pot // betting.num_players,) * betting.num_players if betting.pot else betting.blinds
    first = Node(
        -1, betting.first_round, spent, frozenset(), least, max(betting.blinds), text="|" * betting.first_round
    )
    first = first._replace(player=_next_player(betting, first, betting.first_players[first.round] - 1))

    def steps(node: Node) -> Iterator[tuple[int, str, Node]]:
        for action, raised_to in _choices(betting, node):
            raised = "r" if betting.is_limit else f"r{raised_to}"
            yield action, raised, _after(betting, node, action, raised_to)

    return sequences_from(first, steps)


def sequences_from(first: Node, steps: Callable[[Node], Iterable[tuple[int, str, Node]]]) -> list[Node]:
    """Returns all betting sequences from the first one on; `steps` gives actions, texts of raises and what follows."""
    nodes = [first]
    for number, node in enumerate(nodes):  # which grows
        begin = len(nodes)
        for action, raised, child in steps(node) if node.player >= 0 else ():
            name = "fc"[action] if action in (FOLD, CALL) else raised
            text = node.text + name + "|" * (child.round - node.round)
            nodes.append(child._replace(parent=number, action=action, text=text))
        if len(nodes) > _MOST_SEQUENCES:
            raise ValueError(f"there are more than {_MOST_SEQUENCES:,} betting sequences: allow fewer raises or bets.")
        nodes[number] = node._replace(children=range(begin, len(nodes)))
    return nodes


def _choices(betting: Betting, node: Node) -> Iterator[tuple[int, int]]:
    """Yields the legal actions in ascending order, each with the amount to raise to; 0 if there is no such amount."""
    highest, own, stack = node.highest, node.spent[node.player], betting.stacks[node.player]
    if own != highest:
        yield FOLD, 0
    yield CALL, 0
    num_acting = len(_acting(betting, node.spent, node.folded))
    is_full = node.num_actions + betting.num_players > _MOST_ACTIONS
    if betting.abstraction == "fc" or num_acting < 2 or is_full or node.num_raises >= betting.max_raises[node.round]:
        return
    if betting.is_limit:
        yield BET, 0
        return
    if highest >= stack:
        return
    least = min(node.min_raise_to, stack)
    if betting.abstraction == "fullgame":
        yield from ((size, size) for size in range(least, stack + 1))
        return
    after_call = sum(node.spent) + highest - own
    by_pot = highest + after_call
    if least <= by_pot <= stack:
        yield BET, by_pot
    if by_pot != stack:
        yield ALL_IN, stack
    if betting.abstraction == "fchpa" and least <= by_pot <= stack:
        half = highest + (after_call + 1) // 2
        if half < least:
            raise ValueError("bettingAbstraction=fchpa lists a half-pot raise that OpenSpiel rejects: use fcpa.")
        if half == by_pot:
            raise ValueError("bettingAbstraction=fchpa lists two raises to the same number of chips: use fcpa.")
        yield HALF_POT, half


def _after(betting: Betting, node: Node, action: int, raised_to: int) -> Node:
    player, highest, spent, folded = node.player, node.highest, list(node.spent), node.folded
    min_raise_to, num_raises, num_called = node.min_raise_to, node.num_raises, node.num_called
    if action == FOLD:
        folded |= {player}
    elif action == CALL:
        spent[player] = min(highest, betting.stacks[player])
    else:
        if betting.is_limit:
            raised_to = min(highest + betting.raise_sizes[node.round], betting.stacks[player])
        else:
            min_raise_to = max(min_raise_to, 2 * raised_to - highest)
        spent[player] = highest = raised_to
        num_raises, num_called = num_raises + 1, 0
    num_called += action != FOLD and spent[player] < betting.stacks[player]
    found = Node(player, node.round, tuple(spent), folded, min_raise_to, highest)
    found = found._replace(num_actions=node.num_actions + 1, num_raises=num_raises, num_called=num_called)
    num_acting = len(_acting(betting, found.spent, folded))
    last_round = len(betting.first_players) - 1
    if len(folded) == betting.num_players - 1:
        return found._replace(player=ALL_FOLDED)
    if num_called < num_acting:
        return found._replace(player=_next_player(betting, found, player))
    if num_acting < 2 or node.round == last_round:
        return found._replace(player=SHOWDOWN, round=last_round)
    least = highest + max(betting.blinds)
    found = found._replace(round=node.round + 1, min_raise_to=least, num_actions=0, num_raises=0, num_called=0)
    return found._replace(player=_next_player(betting, found, betting.first_players[found.round] - 1))


def _acting(betting: Betting, spent: tuple[int, ...], folded: frozenset[int]) -> list[int]:
    """Returns the players who can still act."""
    chips = enumerate(zip(spent, betting.stacks, strict=True))
    return [player for player, (own, stack) in chips if own < stack and player not in folded]


def _next_player(betting: Betting, node: Node, player: int) -> int:
    """Returns the player who acts after a player."""
    acting = _acting(betting, node.spent, node.folded)
    return min(acting, key=lambda other: (other - player - 1) % betting.num_players)
