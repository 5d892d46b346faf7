"""What workers of neural solvers do: they sample histories of a compiled tree, without torch."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from mccfr_plus.neural.sampling.tree_positions import TreeObserver
from mccfr_plus.tree.game_tree import GameTree


def without_game(tree: GameTree) -> GameTree:
    """Returns a tree of arrays only: without the game and texts, which sampling does not read."""
    return dataclasses.replace(tree, game=None, info_states=())


class HistorySampler:
    """Samples histories; see `Env.sample`.

    Args:
        tree: The game, or its arrays alone.
        num_actions: Number of distinct actions of the game.
    """

    def __init__(self, tree: GameTree, num_actions: int):
        self._observer = TreeObserver(tree, num_actions)

    def work(self, histories: Any, task: tuple[int, int]) -> Any:
        """Returns a number of `Trajectories` or traversals of `ExternalSampling`, given that and a seed."""
        count, seed = task
        return histories.sample(self._observer, count, np.random.default_rng(seed))
