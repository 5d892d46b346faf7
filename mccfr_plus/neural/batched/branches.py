"""Runs traversals of external sampling in parallel, level by level: all own actions, one action of other players."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyspiel

from mccfr_plus.errors import BudgetError
from mccfr_plus.neural.batched.observer import Decisions, Observer, Strategies, draw, pass_chance


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
    game: pyspiel.Game,
    observer: Observer,
    strategies: Strategies,
    player: int,
    traversals: int,
    rng: np.random.Generator,
    max_histories: int,
) -> Branches:
    """Runs traversals of external sampling for a player (Brown et al. 2019, algorithm 2).

    Args:
        game, observer: A game with sequential moves, and its observer.
        strategies: The strategies of all players.
        player: The player whose regrets are sampled.
        traversals: The number of traversals.
        rng: Draws the actions of other players and chance outcomes.
        max_histories: The largest number of decisions of a level.

    Raises:
        BudgetError: If a level has more decisions than that.
    """
    live: list[tuple[Any, int, int]] = [(game.new_initial_state(), -1, -1) for _ in range(traversals)]
    levels: list[_Level] = []
    nodes = 0
    while live:
        undecided = []
        for state, parent, action in live:
            nodes += pass_chance(state, rng)
            if not state.is_terminal():
                undecided.append((state, parent, action))
            elif parent >= 0:
                levels[-1].values[parent, action] = state.returns()[player]
        if not undecided:
            break
        if len(undecided) > max_histories:
            raise BudgetError(
                f"{traversals} traversals of external sampling on {game} have {len(undecided):,} histories at depth "
                f"{len(levels) + 1}, and {max_histories:,} are the most: give a smaller parallel_traversals, or use "
                "BatchedDREAM or BatchedESCHER, which follow one history at a time."
            )
        states, parents, parent_actions = zip(*undecided, strict=True)
        decisions = observer.decisions(states, strategies)
        actions = np.where(decisions.players == player, -1, draw(decisions.strategies, rng))
        live = []
        for row, (state, chosen) in enumerate(zip(states, actions.tolist(), strict=True)):
            if chosen < 0:
                live += [(state.child(action), row, action) for action in state.legal_actions()]
            else:
                state.apply_action(chosen)
                live.append((state, row, chosen))
        values = np.zeros(decisions.masks.shape)
        levels.append(_Level(decisions, actions, np.array(parents), np.array(parent_actions), values))
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
