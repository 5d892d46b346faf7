"""From sampled histories to regrets, and to what actions are worth."""

from __future__ import annotations

import numpy as np

from mccfr_plus.neural.batched.paths import Paths


def corrected_regrets(paths: Paths, values: np.ndarray, player: int) -> np.ndarray:
    """Returns a player's sampled regrets with baselines, ``[num_points, num_actions]``; see `record_paths`.

    Args:
        paths: Histories.
        values: ``[num_points, num_actions]``, what the player's baselines are; they need not be right.
        player: For whom. At other players' points the numbers mean nothing.
    """
    regrets, along = np.zeros(values.shape), paths.returns[:, player].copy()
    for level in reversed(paths.levels()):
        traversals, actions, strategies = paths.traversals[level], paths.actions[level], paths.strategies[level]
        worth, rows = values[level].astype(np.float64), np.arange(len(traversals))
        worth[rows, actions] += (along[traversals] - worth[rows, actions]) / paths.chances[level]
        mean = (strategies * worth).sum(1)
        regrets[level] = (worth - mean[:, None]) * paths.masks[level]
        along[traversals] = mean
    return regrets


def plain_regrets(paths: Paths, values: np.ndarray) -> np.ndarray:
    """Returns what actions are worth less the mean over the strategy, ``[num_points, num_actions]``.

    Args:
        paths: Histories.
        values: ``[num_points, num_actions]``, what actions are worth to the player to move.
    """
    mean = (paths.strategies * values).sum(1, keepdims=True)
    return (values - mean) * paths.masks


def backed_up(paths: Paths, values: np.ndarray) -> np.ndarray:
    """Returns what the action drawn at each point is worth to each player, ``[num_points, num_players]``.

    Backed up along the history: the payoff at its end, and before it the mean over the strategy of what was found for
    the action that was drawn and of what the others are held to be worth (tree backup: Precup, Sutton, Singh 2000,
    section 4).

    Args:
        paths: Histories.
        values: ``[num_points, num_players, num_actions]``, what actions are held to be worth.
    """
    targets, along = np.zeros(values.shape[:2]), paths.returns.copy()
    for level in reversed(paths.levels()):
        traversals, actions, strategies = paths.traversals[level], paths.actions[level], paths.strategies[level]
        rows = np.arange(len(traversals))
        targets[level] = along[traversals]
        worth = values[level].astype(np.float64)
        worth[rows, :, actions] = targets[level]
        along[traversals] = (strategies[:, None, :] * worth).sum(2)
    return targets
