"""Trees in Gambit's format for extensive games, `.efg`: exact numbers, a name for everything.

Histories come in depth-first order. Information sets and outcomes are numbered from 1, names are unique within the
players, a player's information sets, an information set's actions and the outcomes.

Reference: Gambit's manual, "The extensive game (.efg) file format".
"""

from collections.abc import Iterator, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from typing import TextIO

import numpy as np
import pyspiel

from mccfr_plus.games.rules import CHANCE, TERMINAL
from mccfr_plus.trees.game_tree import GameTree
from mccfr_plus.trees.loading import action_name
from mccfr_plus.trees.order import action_names, depth_first

_LARGEST_DENOMINATOR = 10**6
_LARGEST_NUMERATOR = 2**31 - 1  # OpenSpiel reads no larger one
_DIGITS = 800  # of sums of decimals, which are exact
_ROUNDING = 1e-12  # a number this near to a fraction with a small denominator is meant to be that
_REPLACED = str.maketrans({'"': "'", "\\": "/", "\n": " ", "\r": " ", "\t": " "})  # readers differ on escapes


def write_efg(tree: GameTree, file: TextIO) -> None:
    """Writes a game in Gambit's format.

    Probabilities of chance and payoffs are fractions with a denominator of at most a million where one is within 1e-12,
    and otherwise decimals that are read as the same number. Probabilities of chance sum to 1 exactly.

    Examples:
        >>> import sys, mccfr_plus
        >>> tree = mccfr_plus.compile_game("matrix_mp")
        >>> write_efg(tree, sys.stdout)
        EFG 2 R "turn_based_simultaneous_game(game=matrix_mp())" { "Player 0" "Player 1" }
        ""
        p "" 1 1 "Current player: 0 Observing player: 0. Non-terminal" { "Heads" "Tails" } 0
        p "" 2 1 "Current player: 1 Observing player: 1. Non-terminal" { "Heads" "Tails" } 0
        t "" 1 "1" { 1, -1 }
        t "" 2 "2" { -1, 1 }
        p "" 2 1 "Current player: 1 Observing player: 1. Non-terminal" { "Heads" "Tails" } 0
        t "" 3 "3" { -1, 1 }
        t "" 4 "4" { 1, -1 }
    """
    players = " ".join(f'"Player {player}"' for player in range(tree.num_players))
    file.write(f'EFG 2 R "{_plain(str(tree.game))}" {{ {players} }}\n""\n')
    file.writelines(_lines(tree))


def _lines(tree: GameTree) -> Iterator[str]:
    arrays = tree.arrays
    decisions, payoffs = _decisions(tree), [_list(map(_number, row), ", ") for row in arrays.payoffs.tolist()]
    infoset_of_slot = tree.infoset_of_slot.tolist()

    @cache
    def outcomes(first: int, count: int) -> str:
        actions, rows = tree.outcome_action[first : first + count].tolist(), arrays.chance[first : first + count]
        names = _unique([action_name(tree.game, pyspiel.PlayerId.CHANCE, action) for action in actions])
        numbers = _probabilities(rows["probability"].tolist())
        return _list((f'"{name}" {number}' for name, number in zip(names, numbers, strict=True)), " ")

    num_chance = num_terminal = 0
    visited, _ = depth_first(tree, np.arange(tree.num_slots), np.arange(len(arrays.chance)))
    for kind, count, _, payload in arrays.nodes[visited].tolist():
        if kind == TERMINAL:
            num_terminal += 1
            yield f't "" {num_terminal} "{num_terminal}" {payoffs[payload]}\n'
        elif kind == CHANCE:
            num_chance += 1
            yield f'c "" {num_chance} "{num_chance}" {outcomes(payload, count)} 0\n'
        else:
            yield decisions[infoset_of_slot[payload]]


def _decisions(tree: GameTree) -> list[str]:
    """Returns the line of every infoset's nodes."""
    lines = []
    names, ranges = action_names(tree, np.arange(tree.num_infosets)), tree.arrays.infoset_range.tolist()
    for player in range(tree.num_players):
        begin, end = ranges[player : player + 2]
        for number, text in enumerate(_unique([tree.info_states[i] for i in range(begin, end)])):
            actions = _list((f'"{name}"' for name in _unique(names[begin + number])), " ")
            lines.append(f'p "" {player + 1} {number + 1} "{text}" {actions} 0\n')
    return lines


def _list(items: Iterator[object] | map, separator: str) -> str:
    return f"{{ {separator.join(map(str, items))} }}"


def _plain(text: str) -> str:
    return " ".join(text.translate(_REPLACED).split())


def _unique(texts: Sequence[str]) -> list[str]:
    """Returns texts without characters that need an escape; those that are the same then get a number."""
    found: dict[str, None] = {}
    for text in texts:
        plain, number = _plain(text) or "-", 1
        name = plain
        while name in found:
            number += 1
            name = f"{plain} ({number})"
        found[name] = None
    return list(found)


def _fraction(number: float) -> Fraction | None:
    """Returns the fraction that a number is meant to be, if there is one that every reader has room for."""
    near = Fraction(number).limit_denominator(_LARGEST_DENOMINATOR)
    is_near = abs(float(near) - number) <= _ROUNDING * max(1.0, abs(number))
    return near if is_near and abs(near.numerator) <= _LARGEST_NUMERATOR else None


def _decimal(number: Decimal) -> str:
    return f"{number:f}"  # without an exponent


def _number(number: float) -> str:
    fraction = _fraction(number)
    return _decimal(Decimal(repr(number))) if fraction is None else str(fraction)


def _probabilities(numbers: list[float]) -> list[str]:
    """Returns numbers that sum to 1: if fractions do not, as decimals, of which the largest makes up for the rest."""
    fractions = [_fraction(number) for number in numbers]
    if all(fractions) and sum(fraction or 0 for fraction in fractions) == 1:
        return list(map(str, fractions))
    with localcontext(prec=_DIGITS):
        decimals = [Decimal(repr(number)) for number in numbers]
        decimals[int(np.argmax(numbers))] += 1 - sum(decimals)
    return list(map(_decimal, decimals))
