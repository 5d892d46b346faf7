"""How long traversals of all histories take, to be announced before."""

import os

import pyspiel

from mccfr_plus.games.game import RulesGame
from mccfr_plus.trees.by_rules.openings import openings_of
from mccfr_plus.trees.sizes.size import number_of
from mccfr_plus.trees.sizes.size_estimate import probe_size

_SECONDS_PER_HISTORY = 1.5e-8  # of one core, in phantom tic-tac-toe
_SECONDS_PER_SLOT = 1.2e-6  # the same, for an action of an information set, in liar's dice with two dice of five faces
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


def estimated_seconds(
    histories: float, with_histories: bool = False, is_symmetric: bool = False, slots: float = 0.0
) -> float:
    """Returns about how long an exact evaluation takes, without the time of the policy's own code.

    Args:
        histories: Number of histories that are visited.
        with_histories: Whether a history of each infoset is found first, for a policy that `is_tabulated`.
        is_symmetric: Whether one history per symmetry class is visited.
        slots: Number of actions of all information sets together, if none has a number yet.
    """
    seconds = _SECONDS_PER_HISTORY + (_SECONDS_TO_NUMBER if with_histories else 0.0)
    seconds *= _COST_OF_SYMMETRY if is_symmetric else 1.0
    return (histories * seconds + slots * _SECONDS_PER_SLOT) / (os.cpu_count() or 1)


def estimated_seconds_to_begin(
    histories: float, slots: float, with_leaves: bool, is_symmetric: bool = False, threads: int = 1
) -> float:
    """Returns about how long it takes to number all infosets, or with leaves to find the payoff matrix."""
    seconds = _SECONDS_TO_LIST * (1 + 1 / threads) if with_leaves else _SECONDS_TO_NUMBER
    return histories * seconds * (_COST_OF_SYMMETRY if is_symmetric else 1.0) + slots * _SECONDS_PER_SLOT
