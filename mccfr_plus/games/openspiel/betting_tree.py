"""All betting sequences of `universal_poker`. They do not depend on cards, so that a game has one tree of them."""

import collections
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

FOLD, CALL, BET, ALL_IN, HALF_POT = range(5)  # actions; with "fullgame" from 2 on what is raised to
LIMIT_STACK = (1 << 31) - 1  # of each player where bets are limited
ALL_FOLDED, SHOWDOWN = -1, -2  # in the place of the player to move, where the betting is over

_MOST_ACTIONS = 64  # of a round: what OpenSpiel has room for, counting a call of each player after a raise


@dataclass(frozen=True)
class Betting:
    """The rules of betting, with an entry for each player or each round.

    Args:
        is_limit: Whether raises have fixed sizes.
        abstraction: OpenSpiel's ``bettingAbstraction``.
        stacks: Chips of each player.
        blinds: Blind of each player.
        raise_sizes: Size of raises in each round, if it is fixed.
        first_players: First player to act in each round.
        max_raises: Maximum number of raises in each round.
    """

    is_limit: bool
    abstraction: str
    stacks: tuple[int, ...]
    blinds: tuple[int, ...]
    raise_sizes: tuple[int, ...]
    first_players: tuple[int, ...]
    max_raises: tuple[int, ...]

    @property
    def num_players(self) -> int:
        """Number of players."""
        return len(self.stacks)


class Node(NamedTuple):
    """A betting sequence."""

    parent: int  # -1: it is empty
    action: int  # the last one, as OpenSpiel numbers them
    text: str  # the last action as OpenSpiel writes it, with a "|" behind it if another round begins
    player: int  # to move, or `ALL_FOLDED` or `SHOWDOWN`
    round: int
    spent: tuple[int, ...]  # of each player
    folded: frozenset[int]
    children: range  # their numbers


class _Pot(NamedTuple):
    """The state of the betting."""

    player: int
    round: int
    spent: tuple[int, ...]
    folded: frozenset[int]
    min_raise_to: int
    num_actions: int = 0  # in this round
    num_raises: int = 0
    num_called: int = 0  # players with chips who have matched the last raise


@functools.lru_cache(maxsize=32)
def betting_tree(betting: Betting, max_nodes: int) -> list[Node] | None:
    """Returns all betting sequences, the empty one first; children follow one another. None if there are too many.

    Raises:
        ValueError: If OpenSpiel lists an action that it does not accept, or two that are the same.
    """
    highest = max(betting.blinds)
    pot = _Pot(-1, 0, betting.blinds, frozenset(), 0 if betting.is_limit else 2 * highest)
    pots = [pot._replace(player=_next_player(betting, pot, betting.first_players[0] - 1))]
    links = [(-1, -1, "")]
    nodes: list[Node] = []
    while len(nodes) < len(pots):
        pot, number = pots[len(nodes)], len(pots)
        if pot.player >= 0:
            for action, raised_to in _choices(betting, pot):
                pots.append(_after(betting, pot, action, raised_to))
                text = _text(betting, action, raised_to) + "|" * (pots[-1].round - pot.round)
                links.append((len(nodes), action, text))
        if len(pots) > max_nodes:
            return None
        children = range(number, len(pots))
        nodes.append(Node(*links[len(nodes)], pot.player, pot.round, pot.spent, pot.folded, children))
    return nodes


def following(nodes: list[Node], players: int) -> tuple[list[tuple[int, Node | None]], int, int]:
    """Returns the number of each sequence among those at which the player to move can act next.

    Returns:
        For each sequence, its number among those that can follow the player's last action, and the sequence before that
        action; None for the player's first decision. Then, the most sequences that can be a player's first decision,
        and that can follow an action.
    """
    found: list[tuple[int, Node | None]] = []
    last = [(-1,) * players]  # of each sequence, for each player, the one that its last action led to
    counts: collections.Counter[tuple[int, int]] = collections.Counter()
    for number, node in enumerate(nodes):
        if number:
            mover, before = nodes[node.parent].player, last[node.parent]
            last.append((*before[:mover], number, *before[mover + 1 :]))
        after = last[number][node.player]
        if node.player < 0:
            found.append((0, None))
        else:
            found.append((counts[node.player, after], nodes[nodes[after].parent] if after >= 0 else None))
            counts[node.player, after] += 1
    most_first = max(count for (_, after), count in counts.items() if after < 0)
    most_next = max((count for (_, after), count in counts.items() if after >= 0), default=1)
    return found, most_first, most_next


def _text(betting: Betting, action: int, raised_to: int) -> str:
    return "fc"[action] if action in (FOLD, CALL) else "r" if betting.is_limit else f"r{raised_to}"


def _choices(betting: Betting, pot: _Pot) -> Iterator[tuple[int, int]]:
    """Yields the legal actions in ascending order, each with the amount to raise to; 0 if there is no such amount."""
    highest, own, stack = max(pot.spent), pot.spent[pot.player], betting.stacks[pot.player]
    if own < highest:
        yield FOLD, 0
    yield CALL, 0
    num_acting = len(_acting(betting, pot.spent, pot.folded))
    is_full = pot.num_actions + betting.num_players > _MOST_ACTIONS
    if betting.abstraction == "fc" or num_acting < 2 or is_full or pot.num_raises >= betting.max_raises[pot.round]:
        return
    if betting.is_limit:
        yield BET, 0
        return
    if highest >= stack:
        return
    least = min(pot.min_raise_to, stack)
    if betting.abstraction == "fullgame":
        yield from ((size, size) for size in range(least, stack + 1))
        return
    after_call = sum(pot.spent) + highest - own
    by_pot = highest + after_call
    if least <= by_pot <= stack:
        yield BET, by_pot
    if by_pot != stack:
        yield ALL_IN, stack
    if betting.abstraction == "fchpa" and least <= by_pot <= stack:
        half = highest + (after_call + 1) // 2
        if half < least:
            raise ValueError("bettingAbstraction=fchpa: OpenSpiel lists a half-pot raise that it does not accept.")
        if half == by_pot:
            raise ValueError("bettingAbstraction=fchpa: OpenSpiel lists two raises to the same number of chips.")
        yield HALF_POT, half


def _after(betting: Betting, pot: _Pot, action: int, raised_to: int) -> _Pot:
    player, highest, spent, folded = pot.player, max(pot.spent), list(pot.spent), pot.folded
    min_raise_to, num_raises, num_called = pot.min_raise_to, pot.num_raises, pot.num_called
    if action == FOLD:
        folded |= {player}
    elif action == CALL:
        spent[player] = min(highest, betting.stacks[player])
    else:
        if betting.is_limit:
            raised_to = min(highest + betting.raise_sizes[pot.round], betting.stacks[player])
        else:
            min_raise_to = max(min_raise_to, 2 * raised_to - highest)
        spent[player] = raised_to
        num_raises, num_called = num_raises + 1, 0
    num_called += action != FOLD and spent[player] < betting.stacks[player]
    found = _Pot(player, pot.round, tuple(spent), folded, min_raise_to, pot.num_actions + 1, num_raises, num_called)
    num_acting = len(_acting(betting, found.spent, folded))
    last_round = len(betting.first_players) - 1
    if len(folded) == betting.num_players - 1:
        return found._replace(player=ALL_FOLDED)
    if num_called < num_acting:
        return found._replace(player=_next_player(betting, found, player))
    if num_acting < 2 or pot.round == last_round:
        return found._replace(player=SHOWDOWN, round=last_round)
    least = max(spent) + max(betting.blinds)
    found = found._replace(round=pot.round + 1, min_raise_to=least, num_actions=0, num_raises=0, num_called=0)
    return found._replace(player=_next_player(betting, found, betting.first_players[found.round] - 1))


def _acting(betting: Betting, spent: tuple[int, ...], folded: frozenset[int]) -> list[int]:
    """Returns the players who can still act."""
    chips = enumerate(zip(spent, betting.stacks, strict=True))
    return [player for player, (own, stack) in chips if own < stack and player not in folded]


def _next_player(betting: Betting, pot: _Pot, player: int) -> int:
    """Returns the player who acts after a player."""
    acting = _acting(betting, pot.spent, pot.folded)
    return min(acting, key=lambda other: (other - player - 1) % betting.num_players)
