"""Samples many trajectories or traversals in parallel, and estimates regrets and action values from them."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from mccfr_plus.errors import BudgetError
from mccfr_plus.games.rules import TERMINAL
from mccfr_plus.trees.batches import Observer, TreeObserver

MAX_HISTORIES = 1_000_000  # of a level of external sampling: bounds memory

# Returns a player's strategies, [n, num_actions] float64, given the player, information sets and legal actions
# [n, num_actions] bool. Information sets are tensors, [n, size] float32, or on a compiled tree their rows, [n].
Strategies = Callable[[int, np.ndarray, np.ndarray], np.ndarray]


class Paths(NamedTuple):
    """The decisions of many trajectories: all first decisions, then all second decisions, and so on."""

    starts: np.ndarray  # [num_levels + 1] int64: level k has decisions starts[k] .. starts[k + 1] - 1
    traversals: np.ndarray  # [num_decisions] int64, number of the trajectory
    players: np.ndarray  # [num_decisions] int64, the player to move
    infosets: np.ndarray  # [num_decisions, size] float32 tensors of that player; or [num_decisions] rows of a tree
    histories: np.ndarray  # [num_decisions, history_size] float32; or [num_decisions] nodes of a tree
    masks: np.ndarray  # [num_decisions, num_actions] bool, legal actions
    strategies: np.ndarray  # [num_decisions, num_actions] float64, the player's strategy
    actions: np.ndarray  # [num_decisions] int64, the drawn actions
    probabilities: np.ndarray  # [num_decisions] float64, of the draws
    returns: np.ndarray  # [num_traversals, num_players] float64
    ends: np.ndarray  # [num_traversals] int64, keys of the last histories: on a tree, leaves
    nodes: int  # histories visited, chance nodes and leaves included

    def levels(self) -> list[slice]:
        return [slice(int(a), int(b)) for a, b in zip(self.starts[:-1], self.starts[1:], strict=True)]

    def importance(self, players: Sequence[int]) -> np.ndarray:
        """Returns the probability of some players' earlier draws under uniform play, divided by that of the draws."""
        factors = np.where(np.isin(self.players, players), 1.0 / (self.masks.sum(1) * self.probabilities), 1.0)
        result, products = np.ones(len(self.traversals)), np.ones(len(self.returns))
        for level in self.levels():
            traversals = self.traversals[level]
            result[level] = products[traversals]
            products[traversals] *= factors[level]
        return result


class Trajectories(NamedTuple):
    """Trajectories to sample."""

    strategies: Strategies  # of all players
    explorers: Sequence[int] = ()  # players who draw from `exploration` with probability epsilon
    epsilon: float = 0.0
    exploration: Strategies | None = None  # None: uniform

    def sample(self, observer: Observer | TreeObserver, traversals: int, rng: np.random.Generator) -> Paths:
        """Samples so many trajectories in parallel."""
        positions, live, players = observer.start(traversals), np.arange(traversals), observer.num_players
        last = np.full((traversals, players - 1), -1, np.int64)  # actions
        share = self.epsilon * np.isin(np.arange(players), self.explorers)[:, None]  # of exploring draws
        levels: list[tuple[np.ndarray, ...]] = []
        nodes, returns, ends = 0, np.zeros((traversals, players)), np.zeros(traversals, np.int64)
        while True:
            nodes += positions.pass_chance(rng)
            is_over = positions.movers == TERMINAL
            if is_over.any():
                over, left = np.flatnonzero(is_over), np.flatnonzero(~is_over)
                returns[live[over]], ends[live[over]] = positions.returns(over), positions.keys(over)
                positions, live, last = positions.take(left), live[left], last[left]
            if levels and not len(live):  # if no history has a decision, the first level is empty
                break
            movers, rows = positions.movers.copy(), np.arange(len(live))
            infosets, histories, masks = observer.observe(positions, last)
            table = strategies_at(movers, infosets, masks, self.strategies)
            if self.exploration is None:
                explored = uniform(0, infosets, masks)
            else:
                explored = strategies_at(movers, infosets, masks, self.exploration)
            sampling = share[movers] * explored + (1.0 - share[movers]) * table
            actions = draw(sampling, positions.draws(rows, rng))
            positions.play(actions)
            last = np.concatenate([last[:, 1:], actions[:, None]], axis=1)[:, : players - 1]
            levels.append((live, movers, infosets, histories, masks, table, actions, sampling[rows, actions]))
        starts = np.cumsum([0, *(len(level[0]) for level in levels)])
        merged: list[Any] = [np.concatenate(arrays) for arrays in zip(*levels, strict=True)]
        return Paths(starts, *merged, returns, ends, nodes)  # type: ignore[call-arg, arg-type]


class Branches(NamedTuple):
    """The decisions of traversals, level by level; see `Paths`."""

    players: np.ndarray
    infosets: np.ndarray
    masks: np.ndarray
    strategies: np.ndarray
    regrets: np.ndarray  # [num_decisions, num_actions] float64; 0 at the decisions of other players
    nodes: int


class ExternalSampling(NamedTuple):
    """Traversals by levels, of all own actions and one of others each (Brown et al. 2019, algorithm 2)."""

    strategies: Strategies  # of all players
    player: int  # whose regrets are sampled

    def sample(self, observer: Observer | TreeObserver, traversals: int, rng: np.random.Generator) -> Branches:
        """Runs so many traversals in parallel; a level with too many decisions is a BudgetError."""
        positions, nodes = observer.start(traversals), 0
        levels: list[tuple[np.ndarray, ...]] = []  # the arrays of `Branches`, but values of actions instead of regrets
        links: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []  # drawn actions; decisions above, their actions
        parents = parent_actions = np.full(traversals, -1, np.int64)
        while True:
            nodes += positions.pass_chance(rng)
            over, left = np.flatnonzero(positions.movers == TERMINAL), np.flatnonzero(positions.movers >= 0)
            if levels and len(over):
                levels[-1][-1][parents[over], parent_actions[over]] = positions.returns(over)[:, self.player]
            if levels and not len(left):  # if no history has a decision, the first level is empty
                break
            if len(left) > MAX_HISTORIES:
                raise BudgetError(
                    f"external sampling on {observer.game} has {len(left):,} histories at depth {len(levels) + 1}, but "
                    f"at most {MAX_HISTORIES:,} are allowed: reduce parallel_traversals, or use DREAM or ESCHER."
                )
            positions = positions.take(left)
            movers, (infosets, _, masks) = positions.movers.copy(), observer.observe(positions)
            table = strategies_at(movers, infosets, masks, self.strategies)
            drawn = draw(table, positions.draws(np.arange(len(left)), rng))
            levels.append((movers, infosets, masks, table, np.zeros(masks.shape)))
            links.append((drawn, parents[left], parent_actions[left]))
            followed, others = masks.copy(), np.flatnonzero(movers != self.player)
            followed[others] = False
            followed[others, drawn[others]] = True
            parents, parent_actions = np.nonzero(followed)
            positions = positions.take(parents)
            positions.play(parent_actions)
        for number in range(len(levels) - 1, -1, -1):  # the last values first
            (movers, _, masks, table, values), (drawn, parents, parent_actions) = levels[number], links[number]
            is_own, mean = movers == self.player, (table * values).sum(1)
            if number:
                followed = np.where(is_own, mean, values[np.arange(len(mean)), drawn])
                levels[number - 1][-1][parents, parent_actions] = followed
            values[:] = (values - mean[:, None]) * (masks & is_own[:, None])
        merged: list[Any] = [np.concatenate(arrays) for arrays in zip(*levels, strict=True)]
        return Branches(*merged, nodes)  # type: ignore[call-arg]


def corrected_regrets(paths: Paths, values: np.ndarray, player: int) -> np.ndarray:
    """Returns a player's sampled regrets with baselines, ``[num_decisions, num_actions]``; other rows are undefined.

    The value of a drawn action is q + (v - q) / (probability of the draw), where q is its baseline in ``values`` and v
    the value of the next decision, computed in the same way from the leaf up. Regrets are unbiased for any baselines.
    """
    values, backed_up = values.astype(np.float64), paths.returns[:, player].copy()
    for level in reversed(paths.levels()):
        traversals, drawn = paths.traversals[level], (np.arange(level.start, level.stop), paths.actions[level])
        values[drawn] += (backed_up[traversals] - values[drawn]) / paths.probabilities[level]
        backed_up[traversals] = (paths.strategies[level] * values[level]).sum(1)
    return plain_regrets(paths, values)


def plain_regrets(paths: Paths, values: np.ndarray) -> np.ndarray:
    """Returns the mover's action values, ``[num_decisions, num_actions]``, less their mean under the strategy."""
    mean = (paths.strategies * values).sum(1, keepdims=True)
    return (values - mean) * paths.masks


def value_targets(paths: Paths, values: np.ndarray) -> np.ndarray:
    """Returns each player's value of the drawn action of each decision, ``[num_decisions, num_players]``.

    It is backed up by the mean over the strategy, with ``values``, ``[num_decisions, num_players, num_actions]``, of
    other actions (tree backup: Precup, Sutton and Singh 2000, section 4).
    """
    targets, backed_up = np.zeros(values.shape[:2]), paths.returns.copy()
    for level in reversed(paths.levels()):
        traversals, actions, strategies = paths.traversals[level], paths.actions[level], paths.strategies[level]
        targets[level], action_values = backed_up[traversals], values[level].astype(np.float64)
        action_values[np.arange(len(traversals)), :, actions] = targets[level]
        backed_up[traversals] = (strategies[:, None, :] * action_values).sum(2)
    return targets


def strategies_at(players: np.ndarray, infosets: np.ndarray, masks: np.ndarray, strategies: Strategies) -> np.ndarray:
    """Returns the strategies at decisions, ``[n, num_actions]``, by one forward pass per player."""
    table = np.zeros(masks.shape)
    for player in range(players.max(initial=-1) + 1):
        rows = np.flatnonzero(players == player)
        if len(rows):
            table[rows] = strategies(player, infosets[rows], masks[rows])
    return table


def uniform(player: int, infosets: np.ndarray, masks: np.ndarray) -> np.ndarray:
    return masks / masks.sum(1, keepdims=True)


def draw(table: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Returns an action for each row, given uniform numbers in [0, 1); never one of probability 0."""
    ends = np.cumsum(table, axis=1)
    # Rounding might put a draw at the end of the last action, where none begins.
    draws = np.minimum(numbers * ends[:, -1], np.nextafter(ends[:, -1], 0.0))
    return (ends <= draws[:, None]).sum(1)
