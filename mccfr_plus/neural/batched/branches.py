"""Traversals of external sampling side by side: all own actions, one of everybody else's, level by level."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyspiel

from mccfr_plus.errors import BudgetError
from mccfr_plus.neural.batched.observer import Observer
from mccfr_plus.neural.batched.paths import Strategies, draw, pass_chance


class Branches(NamedTuple):
    """What traversals met, by the points at which somebody is to move, those of a level after those of the one above it."""

    players: np.ndarray  # [num_points] int64, who is to move
    tensors: np.ndarray  # [num_points, size] float16, of that player's information set
    masks: np.ndarray  # [num_points, num_actions] bool, legal actions
    strategies: np.ndarray  # [num_points, num_actions] float64, what the player plays there
    regrets: np.ndarray  # [num_points, num_actions] float64; at the others' points 0
    nodes: int  # histories visited, chance nodes and leaves included


class _Level(NamedTuple):
    players: np.ndarray
    tensors: np.ndarray
    masks: np.ndarray
    strategies: np.ndarray
    actions: np.ndarray  # [n] int64, what was drawn; -1 where all are visited
    parents: np.ndarray  # [n] int64, points of the level above; -1 for none
    came_by: np.ndarray  # [n] int64, by which action
    worth: np.ndarray  # [n, num_actions] float64, of what ended after an action, and later of what is below


def sample_branches(
    game: pyspiel.Game,
    observer: Observer,
    strategies: Strategies,
    player: int,
    traversals: int,
    rng: np.random.Generator,
    max_histories: int,
) -> Branches:
    """Makes traversals of external sampling for a player (Brown et al. 2019, algorithm 2).

    Args:
        game: Players in turn.
        observer: Of this game.
        strategies: Returns what a player plays, ``[n, num_actions]``, given tensors ``[n, size]`` and legal actions.
        player: Whose regrets are sampled.
        traversals: How many.
        rng: Draws the others' actions and chance outcomes.
        max_histories: The largest number of points of a level.

    Raises:
        BudgetError: If a level has more than that: a traversal of this game is too wide.
    """
    live: list[tuple[Any, int, int]] = [(game.new_initial_state(), -1, -1) for _ in range(traversals)]
    levels: list[_Level] = []
    nodes = 0
    while live:
        at_decisions = []
        for state, parent, action in live:
            nodes += pass_chance(state, rng)
            if not state.is_terminal():
                at_decisions.append((state, parent, action))
            elif parent >= 0:
                levels[-1].worth[parent, action] = state.returns()[player]
        if not at_decisions:
            break
        if len(at_decisions) > max_histories:
            raise BudgetError(
                f"{traversals} traversals of external sampling on {game} have {len(at_decisions):,} histories at depth "
                f"{len(levels) + 1}, and {max_histories:,} are the most: give a smaller parallel_traversals, or use "
                "BatchedDREAM or BatchedESCHER, which follow one history at a time."
            )
        level = _look(at_decisions, observer, strategies, player, rng)
        live = []
        for point, (state, _, _) in enumerate(at_decisions):
            if level.actions[point] < 0:
                live += [(state.child(action), point, action) for action in state.legal_actions()]
            else:
                state.apply_action(int(level.actions[point]))
                live.append((state, point, int(level.actions[point])))
        levels.append(level)
    regrets = _back_up(levels)
    columns = [np.concatenate(arrays) for arrays in zip(*(level[:4] for level in levels), strict=True)]
    return Branches(*columns, np.concatenate(regrets), nodes)  # type: ignore[call-arg, arg-type]


def _look(
    points: list[tuple[Any, int, int]],
    observer: Observer,
    strategies: Strategies,
    player: int,
    rng: np.random.Generator,
) -> _Level:
    """Returns a level of which nothing below is known yet."""
    tensors = np.zeros((len(points), observer.size), np.float16)
    masks = np.zeros((len(points), observer.num_actions), bool)
    players = np.array([state.current_player() for state, _, _ in points], np.int64)
    for row, (state, _, _) in enumerate(points):
        observer.write(state, int(players[row]), tensors[row])
        masks[row, state.legal_actions()] = True
    table = np.zeros(masks.shape)
    for each in np.unique(players).tolist():
        rows = np.flatnonzero(players == each)
        table[rows] = strategies(each, tensors[rows], masks[rows])
    actions = np.where(players == player, -1, draw(table, rng))
    parents, came_by = (np.array([point[part] for point in points], np.int64) for part in (1, 2))
    return _Level(players, tensors, masks, table, actions, parents, came_by, np.zeros(masks.shape))


def _back_up(levels: list[_Level]) -> list[np.ndarray]:
    """Returns the regrets of each level, and passes up what its points are worth."""
    regrets = []
    for number in range(len(levels) - 1, -1, -1):
        level = levels[number]
        is_own = level.actions < 0
        mean = (level.strategies * level.worth).sum(1)
        rows = np.arange(len(mean))
        value = np.where(is_own, mean, level.worth[rows, np.maximum(level.actions, 0)])
        regrets.append((level.worth - mean[:, None]) * (level.masks & is_own[:, None]))
        below = level.parents >= 0
        if number:
            levels[number - 1].worth[level.parents[below], level.came_by[below]] = value[below]
    return regrets[::-1]
