"""How long traversals of all histories take, to be announced before."""

import os

import pyspiel

from mccfr_plus.games.game import RulesGame
from mccfr_plus.trees.by_rules.histories import openings_of
from mccfr_plus.trees.intervals import number_of
from mccfr_plus.trees.size_estimate import probe_size

_SECONDS_PER_HISTORY = 1.5e-8  # of one core, in phantom tic-tac-toe
_COST_OF_SYMMETRY = 1.5  # times as long for a history
_SECONDS_TO_NUMBER = 1.2e-8  # the same, of the traversal that finds a history of each infoset
_SECONDS_TO_LIST = 1.6e-8  # the same, of the traversals that count and list leaves


def visited_histories(game: pyspiel.Game, rules: RulesGame, is_symmetric: bool) -> float:
    """Returns about how many histories a traversal of all visits."""
    histories = number_of(probe_size(game).histories.log10)
    if is_symmetric:
        histories /= len(rules.sizes.symmetries)
    openings = openings_of(rules)
    return histories if openings is None else histories * len(openings.counts) / float(openings.counts.sum())


def estimated_seconds(histories: float, with_histories: bool = False, is_symmetric: bool = False) -> float:
    """Returns about how long an exact evaluation takes at least; where information sets are many, several times that.

    Args:
        histories: Number of histories that are visited.
        with_histories: Whether a history of each infoset is found first, for a policy that `is_tabulated`.
        is_symmetric: Whether one history per symmetry class is visited.
    """
    seconds = _SECONDS_PER_HISTORY + (_SECONDS_TO_NUMBER if with_histories else 0.0)
    return histories * seconds * (_COST_OF_SYMMETRY if is_symmetric else 1.0) / (os.cpu_count() or 1)


def seconds_to_list_leaves(histories: float, is_symmetric: bool = False) -> float:
    """Returns about how long it takes to find the payoff matrix, at least."""
    return histories * 2 * _SECONDS_TO_LIST * (_COST_OF_SYMMETRY if is_symmetric else 1.0)
