"""Runs traversals of external sampling in parallel, level by level: all own actions, one action of other players."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mccfr_plus.errors import BudgetError
from mccfr_plus.games.rules import TERMINAL
from mccfr_plus.neural.batched.observer import Decisions, Observer, Strategies, draw, strategies_at


class Branches(NamedTuple):
    """The decisions of traversals, level by level."""

    decisions: Decisions
    regrets: np.ndarray  # [num_decisions, num_actions] float64; 0 at the decisions of other players
    nodes: int  # histories visited, chance nodes and leaves included


class _Level(NamedTuple):
    decisions: Decisions
    actions: np.ndarray  # [n] int64, the drawn action; -1 where all are visited
    parents: np.ndarray  # [n] int64, row of the parent in the level above; -1: none
    parent_actions: np.ndarray  # [n] int64, the action after the parent
    values: np.ndarray  # [n, num_actions] float64, of the actions, once what is below them is known


def sample_branches(
    observer: Observer,
    strategies: Strategies,
    player: int,
    traversals: int,
    rng: np.random.Generator,
    max_histories: int,
) -> Branches:
    """Runs traversals of external sampling for a player (Brown et al. 2019, algorithm 2).

    Args:
        observer: Of a game with sequential moves.
        strategies: The strategies of all players.
        player: The player whose regrets are sampled.
        traversals: The number of traversals.
        rng: Draws the actions of other players and chance outcomes.
        max_histories: The largest number of decisions of a level.

    Raises:
        BudgetError: If a level has more decisions than that.
    """
    positions, levels, nodes = observer.start(traversals), list[_Level](), 0
    parents = parent_actions = np.full(traversals, -1, np.int64)
    while True:
        nodes += positions.pass_chance(rng)
        over, left = np.flatnonzero(positions.movers == TERMINAL), np.flatnonzero(positions.movers >= 0)
        if levels and len(over):
            levels[-1].values[parents[over], parent_actions[over]] = positions.returns(over)[:, player]
        if not len(left):
            break
        if len(left) > max_histories:
            raise BudgetError(
                f"{traversals} traversals of external sampling on {observer.game} have {len(left):,} histories at "
                f"depth {len(levels) + 1}, and {max_histories:,} are the most: give a smaller parallel_traversals, or "
                "use BatchedDREAM or BatchedESCHER, which follow one history at a time."
            )
        positions = positions.take(left)
        movers, (tensors, masks) = positions.movers.copy(), observer.tensors(positions)
        decisions = Decisions(movers, tensors, masks, strategies_at(movers, tensors, masks, strategies))
        is_own, drawn = movers == player, draw(decisions.strategies, rng)
        levels.append(
            _Level(decisions, np.where(is_own, -1, drawn), parents[left], parent_actions[left], np.zeros(masks.shape))
        )
        followed = masks & is_own[:, None]
        others = np.flatnonzero(~is_own)
        followed[others, drawn[others]] = True
        parents, parent_actions = np.nonzero(followed)
        positions = positions.take(parents)
        positions.play(parent_actions)
    regrets = np.concatenate(_back_up(levels))
    columns = zip(*(level.decisions for level in levels), strict=True)
    return Branches(Decisions(*(np.concatenate(arrays) for arrays in columns)), regrets, nodes)


def _back_up(levels: list[_Level]) -> list[np.ndarray]:
    """Returns the regrets of each level, and writes the values of its decisions to the level above."""
    regrets = []
    for number in range(len(levels) - 1, -1, -1):
        level = levels[number]
        is_own = level.actions < 0
        mean = (level.decisions.strategies * level.values).sum(1)
        rows = np.arange(len(mean))
        value = np.where(is_own, mean, level.values[rows, np.maximum(level.actions, 0)])
        regrets.append((level.values - mean[:, None]) * (level.decisions.masks & is_own[:, None]))
        if number:
            levels[number - 1].values[level.parents, level.parent_actions] = value
    return regrets[::-1]
