"""States of neural solvers, networks and memories, as dicts of arrays: copied, compared, and how training fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mccfr_plus.policies.table import infoset_values
from mccfr_plus.trees.order import representative_states


class Features(NamedTuple):
    """A player's information sets."""

    tensors: np.ndarray  # [num_rows, size] float32
    masks: np.ndarray  # [num_rows, num_actions] bool, legal actions


def features_of(tree: Any) -> list[Features]:
    """Returns the information sets of each player, as a `TreeRepresentation` has them."""
    from mccfr_plus.neural import TreeRepresentation

    representation = TreeRepresentation(tree)
    return [Features(*each) for each in zip(representation.inputs, representation.masks, strict=True)]


def copy_of(thing: Any) -> dict[str, np.ndarray]:
    """Returns a copy of the state of something that has one."""
    return {name: array.copy() for name, array in thing.state().items()}


def differing(one: Any, other: Any) -> list[str]:
    """Returns the names of arrays that are not bitwise the same in two states, or in those of two things."""
    states = [dict(each if isinstance(each, dict) else each.state()) for each in (one, other)]
    found = [{name: (array.dtype, array.shape, array.tobytes()) for name, array in state.items()} for state in states]
    return sorted(name for name in found[0].keys() | found[1].keys() if found[0].get(name) != found[1].get(name))


class OneFeature:
    """A representation in which every player has the same information sets, and the same divisor of values."""

    def __init__(self, features: Any, unit: float = 4.0):
        self.inputs, self._unit, self.num_actions = [features.tensors] * 9, unit, features.masks.shape[1]

    def unit_of(self, player: int, is_scaled: bool) -> float:
        return self._unit


class TabularLimit:
    """Replays a solver on a compiled tree by a table: sums of the sampled regrets, regret matching, exact averages.

    Args:
        solver: With exactly fitted networks and minimizer ``"cfr"``, whose iteration t has weight t.
    """

    def __init__(self, solver: Any):
        self.solver, self.tree = solver, solver.tree
        self.regrets, self.sums = np.zeros(self.tree.num_slots), np.zeros(self.tree.num_slots)
        self.strategy = self.tree.uniform_strategy()
        for player, own in enumerate(solver._players):
            own.memory.add = self._noted(own.memory.add, player)

    def _noted(self, add: Callable, player: int) -> Callable:
        def noted(samples: Any, iteration: int) -> None:
            add(samples, iteration)
            for row, values, weight in zip(samples.infosets, samples.values, samples.weights, strict=True):
                infoset = int(self.tree.arrays.infoset_range[player]) + int(row)
                of_actions = values[self.tree.legal_actions(infoset)]
                self.regrets[self.tree.slots(infoset)] += iteration * weight * of_actions

        return noted

    def iteration(self) -> None:
        """Runs an iteration of both."""
        self.solver.iteration()
        reach = np.ones(self.tree.num_slots + self.tree.num_players)
        for infoset, record in enumerate(self.tree.arrays.infosets):
            slots = self.tree.slots(infoset)
            reach[slots] = reach[record["parent_slot"]] * self.strategy[slots]
            positive = np.maximum(self.regrets[slots], 0.0)
            best = np.arange(len(positive)) == self.regrets[slots].argmax()
            self.strategy[slots] = positive / positive.sum() if positive.sum() > 0 else best
        self.sums += self.solver.iterations * reach[: self.tree.num_slots]

    def average(self) -> np.ndarray:
        """Returns the average strategy; uniform where nothing was reached."""
        result = self.tree.uniform_strategy()
        for infoset in range(self.tree.num_infosets):
            slots = self.tree.slots(infoset)
            if self.sums[slots].sum() > 0:
                result[slots] = self.sums[slots] / self.sums[slots].sum()
        return result


class Table:
    """A random strategy table of a compiled game, found by tensors; one player may play pure actions."""

    def __init__(self, tree: Any, seed: int, pure_player: int | None = None):
        self.tree, rng = tree, np.random.default_rng(seed)
        self.strategy, self.rows = np.zeros(tree.num_slots), {}
        for infoset, state in enumerate(representative_states(tree)):
            slots = tree.slots(infoset)
            weights = rng.exponential(size=slots.stop - slots.start) + 0.1
            if state.current_player() == pure_player:
                weights = (weights == weights.max()).astype(float)
            self.strategy[slots] = weights / weights.sum()
            key = state.current_player(), np.float32(state.information_state_tensor(state.current_player())).tobytes()
            self.rows[key] = infoset

    def infosets(self, players: Any, tensors: np.ndarray) -> np.ndarray:
        return np.array([self.rows[int(p), row.tobytes()] for p, row in zip(players, tensors, strict=True)])

    def __call__(self, player: int, tensors: np.ndarray, masks: np.ndarray) -> np.ndarray:
        result = np.zeros(masks.shape)
        for row, infoset in enumerate(self.infosets([player] * len(tensors), tensors)):
            result[row, self.tree.legal_actions(infoset)] = self.strategy[self.tree.slots(infoset)]
        return result


def counterfactual_regrets(tree: Any, strategy: np.ndarray) -> np.ndarray:
    """Returns each slot's regret times the probability of chance and the other players to reach it."""
    exact, reach = infoset_values(tree, strategy), np.ones(tree.num_slots + tree.num_players)
    others = exact.reach.copy()
    for infoset, record in enumerate(tree.arrays.infosets):
        above = reach[record["parent_slot"]]
        reach[tree.slots(infoset)] = above * strategy[tree.slots(infoset)]
        others[infoset] = others[infoset] / above if above > 0 else np.nan
    return exact.regrets * np.repeat(others, tree.arrays.infosets["num_actions"])


OVER = -1  # in place of the next row of a transition


def transitions_of(features: Any, records: list, unit: float = 4.0) -> dict[str, np.ndarray]:
    """Returns columns of transitions of (row, action, next row or `OVER`, reward in the game's unit)."""
    rows, actions, following, rewards = (np.array(column) for column in zip(*records, strict=True))
    next_masks = np.where((following == OVER)[:, None], False, features.masks[following])
    next_infosets = np.where(following == OVER, 0, following)
    batch = {"infosets": rows, "actions": actions, "rewards": rewards / unit}
    return batch | {"next_infosets": next_infosets, "next_masks": next_masks}


def decisions_of(features: Any, records: list) -> dict[str, np.ndarray]:
    """Returns columns of decisions of (row, action)."""
    rows, actions = (np.array(column) for column in zip(*records, strict=True))
    return {"infosets": rows, "actions": actions, "masks": features.masks[rows]}
