"""Runs traversals of external sampling in parallel, level by level: all own actions, one action of other players."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mccfr_plus.errors import BudgetError
from mccfr_plus.games.rules import TERMINAL
from mccfr_plus.neural.sampling.observer import Observer, Strategies, draw, strategies_at
from mccfr_plus.neural.sampling.tree_positions import TreeObserver


class Branches(NamedTuple):
    """The decisions of traversals, level by level."""

    players: np.ndarray  # [num_decisions] int64, the player to move
    infosets: np.ndarray  # as those of `Paths`, also below
    masks: np.ndarray
    strategies: np.ndarray
    regrets: np.ndarray  # [num_decisions, num_actions] float64; 0 at the decisions of other players
    nodes: int  # histories visited, chance nodes and leaves included


class _Level(NamedTuple):
    players: np.ndarray
    infosets: np.ndarray
    masks: np.ndarray
    strategies: np.ndarray
    actions: np.ndarray  # [n] int64, the drawn action; -1 where all are visited
    parents: np.ndarray  # [n] int64, row of the parent in the level above; -1: none
    parent_actions: np.ndarray  # [n] int64, the action after the parent
    values: np.ndarray  # [n, num_actions] float64, of the actions, once what is below them is known


class ExternalSampling(NamedTuple):
    """Traversals of external sampling for a player (Brown et al. 2019, algorithm 2)."""

    strategies: Strategies  # of all players
    player: int  # whose regrets are sampled
    max_histories: int  # the largest number of decisions of a level

    def sample(self, observer: Observer | TreeObserver, traversals: int, rng: np.random.Generator) -> Branches:
        """Runs so many traversals in parallel; ``rng`` draws the actions of other players and chance outcomes.

        Raises:
            BudgetError: If a level has too many decisions.
        """
        positions, levels, nodes = observer.start(traversals), list[_Level](), 0
        parents = parent_actions = np.full(traversals, -1, np.int64)
        while True:
            nodes += positions.pass_chance(rng)
            over, left = np.flatnonzero(positions.movers == TERMINAL), np.flatnonzero(positions.movers >= 0)
            if levels and len(over):
                levels[-1].values[parents[over], parent_actions[over]] = positions.returns(over)[:, self.player]
            if not len(left):
                break
            if len(left) > self.max_histories:
                raise BudgetError(
                    f"{traversals} traversals of external sampling on {observer.game} have {len(left):,} histories at "
                    f"depth {len(levels) + 1}, and {self.max_histories:,} are the most: give a smaller "
                    "parallel_traversals, or use DREAM or ESCHER, which follow one history at a time."
                )
            positions = positions.take(left)
            movers, (infosets, _, masks) = positions.movers.copy(), observer.observe(positions)  # type: ignore[arg-type]
            table = strategies_at(movers, infosets, masks, self.strategies)
            is_own, drawn = movers == self.player, draw(table, positions.draws(np.arange(len(left)), rng))
            actions, values = np.where(is_own, -1, drawn), np.zeros(masks.shape)
            levels.append(_Level(movers, infosets, masks, table, actions, parents[left], parent_actions[left], values))
            followed = masks & is_own[:, None]
            others = np.flatnonzero(~is_own)
            followed[others, drawn[others]] = True
            parents, parent_actions = np.nonzero(followed)
            positions = positions.take(parents)
            positions.play(parent_actions)
        regrets = np.concatenate(_back_up(levels))
        merged: list[Any] = [np.concatenate(arrays) for arrays in zip(*(level[:4] for level in levels), strict=True)]
        return Branches(*merged, regrets, nodes)  # type: ignore[call-arg]


def _back_up(levels: list[_Level]) -> list[np.ndarray]:
    """Returns the regrets of each level, and writes the values of its decisions to the level above."""
    regrets = []
    for number in range(len(levels) - 1, -1, -1):
        level = levels[number]
        is_own = level.actions < 0
        mean = (level.strategies * level.values).sum(1)
        value = np.where(is_own, mean, level.values[np.arange(len(mean)), np.maximum(level.actions, 0)])
        regrets.append((level.values - mean[:, None]) * (level.masks & is_own[:, None]))
        if number:
            levels[number - 1].values[level.parents, level.parent_actions] = value
    return regrets[::-1]
