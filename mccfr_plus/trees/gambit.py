"""Trees in Gambit's format `.efg`, with exact numbers and unique names, which OpenSpiel's own exporter does not write.

Reference: Gambit's manual, "The extensive game (.efg) file format".
"""

import itertools
from collections.abc import Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from typing import TextIO

import numpy as np
import pyspiel

from mccfr_plus.games.rules import CHANCE, TERMINAL
from mccfr_plus.trees.game_tree import GameTree
from mccfr_plus.trees.loading import action_name
from mccfr_plus.trees.order import action_names

_LARGEST_DENOMINATOR = 10**6
_LARGEST_NUMERATOR = 2**31 - 1  # OpenSpiel reads no larger one
_ROUNDING = 1e-12  # a number this near to a fraction with a small denominator is meant to be that
_REPLACED = str.maketrans({'"': "'", "\\": "/", "\n": " ", "\r": " ", "\t": " "})  # readers differ on escapes


def write_efg(tree: GameTree, file: TextIO) -> None:
    """Writes a game in Gambit's format.

    Numbers are fractions with a denominator of at most a million where one is within 1e-12, and otherwise decimals that
    are read as the same number. Probabilities of chance sum to 1 exactly.
    """

    @cache
    def outcomes(first: int, count: int) -> str:
        rows = slice(first, first + count)
        actions, numbers = tree.outcome_action[rows].tolist(), tree.arrays.chance["probability"][rows].tolist()
        names = _unique([action_name(tree.game, pyspiel.PlayerId.CHANCE, action) for action in actions])
        return " ".join(f'"{name}" {number}' for name, number in zip(names, _probabilities(numbers), strict=True))

    players = " ".join(f'"Player {player}"' for player in range(tree.num_players))
    file.write(f'EFG 2 R "{_plain(str(tree.game))}" {{ {players} }}\n""\n')
    decisions, payoffs = _decisions(tree), [", ".join(map(_number, row)) for row in tree.arrays.payoffs.tolist()]
    chance_numbers, end_numbers, pending = itertools.count(1), itertools.count(1), [0]
    while pending:  # depth first
        kind, count, child, payload = tree.arrays.nodes[pending.pop()].tolist()
        pending.extend(reversed(range(child, child + count)))
        if kind == TERMINAL:
            number = next(end_numbers)
            file.write(f't "" {number} "{number}" {{ {payoffs[payload]} }}\n')
        elif kind == CHANCE:
            number = next(chance_numbers)
            file.write(f'c "" {number} "{number}" {{ {outcomes(payload, count)} }} 0\n')
        else:
            file.write(decisions[payload])


def _decisions(tree: GameTree) -> dict[int, str]:
    """Returns the line of every infoset's nodes, by its first slot."""
    lines, slots = {}, tree.arrays.infosets["first_slot"]
    names, ranges = action_names(tree, np.arange(tree.num_infosets)), tree.arrays.infoset_range.tolist()
    for player, (begin, end) in enumerate(itertools.pairwise(ranges)):
        for number, text in enumerate(_unique(tree.info_states[begin:end])):
            actions = " ".join(f'"{name}"' for name in _unique(names[begin + number]))
            lines[int(slots[begin + number])] = f'p "" {player + 1} {number + 1} "{text}" {{ {actions} }} 0\n'
    return lines


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


def _number(number: float) -> str:
    """Returns the fraction that a number is meant to be, if every reader has room for it, or its decimals."""
    near = Fraction(number).limit_denominator(_LARGEST_DENOMINATOR)
    is_near = abs(float(near) - number) <= _ROUNDING * max(1.0, abs(number))
    return str(near) if is_near and abs(near.numerator) <= _LARGEST_NUMERATOR else f"{Decimal(repr(number)):f}"


def _probabilities(numbers: list[float]) -> list[str]:
    """Returns numbers that sum to 1: if fractions do not, as decimals, of which the largest makes up for the rest."""
    texts = list(map(_number, numbers))
    found = list(map(Fraction, texts))
    if all(found) and sum(found) == 1:
        return texts
    with localcontext(prec=800):  # so that sums are exact
        decimals = [Decimal(repr(number)) for number in numbers]
        decimals[numbers.index(max(numbers))] += 1 - sum(decimals)
    return [f"{number:f}" for number in decimals]
