"""An estimator at work outside of a solver: one gradient at a time, compiled or by a script, or many added up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mccfr_plus.averages import stochastic
from mccfr_plus.checks.games import random_strategy
from mccfr_plus.checks.script import Script, plain, scripted_draws
from mccfr_plus.errors import ConfigError, PolicyError
from mccfr_plus.estimators import Baseline, Estimator, SamplingWeights
from mccfr_plus.estimators.visits import NO_PLAYER, list_nothing, max_visits
from mccfr_plus.kernels.compile import compose, kernel
from mccfr_plus.kernels.loops.components import UPDATE_ALL_PLAYERS, begin_gradients, estimate
from mccfr_plus.kernels.loops.composed import estimate_with
from mccfr_plus.kernels.no_refcount import no_refcount
from mccfr_plus.kernels.scratch import begin_traversal, mean_of_traversals, new_scratch
from mccfr_plus.solver.config import SolverConfig
from mccfr_plus.solver.engine import sampling_strategy
from mccfr_plus.tree.game_tree import GameTree

RUBBISH = 1e12  # stands in the gradient before every traversal: whoever adds to it without `touch` is seen


@kernel
def sample_gradient(parameters, sampling_weights, tree, strategy, scratch, player, batch):
    """Estimates a gradient as the loops do. `scratch` is modified in place.

    Args:
        parameters: See `Estimator.parameters`.
        sampling_weights: See `SamplingWeights`.
        tree: `TreeArrays`.
        strategy: ``[num_slots]``.
        scratch: `Scratch`.
        player: For whom; 0 if the traversal serves all players.
        batch: How many traversals make one gradient.
    """
    begin_gradients(tree, scratch, player)
    for _ in range(batch):
        begin_traversal(scratch)
        estimate(parameters, sampling_weights, tree, strategy, scratch, player)
    if batch > 1:
        for other in range(len(tree.slot_range) - 1):
            if UPDATE_ALL_PLAYERS or other == player:
                mean_of_traversals(scratch, tree, other, batch)


@kernel
def add_samples(
    count, parameters, sampling_weights, tree, strategy, scratch, player, traverser, batch, signs, moments, projected
):
    """Adds up gradients, their squares, how often they were not 0, and projections of them.

    `scratch`, `moments` (``[3, num_slots + num_players]``) and `projected` (``[2, num_signs]``) are modified in place;
    `signs` is ``[num_slots + num_players, num_signs]``.
    """
    tree, scratch, strategy = no_refcount(tree), no_refcount(scratch), no_refcount(strategy)
    empty = tree.slot_range[-1] + player
    sums = np.zeros(signs.shape[1])
    for _ in range(count):
        sample_gradient(parameters, sampling_weights, tree, strategy, scratch, traverser, batch)
        for column in range(len(sums)):
            sums[column] = 0.0
        begin = tree.infoset_range[player]
        for position in range(begin, begin + scratch.num_touched[player] + 1):
            first, last = empty, empty + 1
            if position < begin + scratch.num_touched[player]:
                first = scratch.touched[position]["first_slot"]
                last = first + scratch.touched[position]["num_actions"]
            for slot in range(first, last):
                entry = scratch.gradient[slot]
                if entry != 0.0:
                    moments[0, slot] += entry
                    moments[1, slot] += entry * entry
                    moments[2, slot] += 1.0
                    for column in range(len(sums)):
                        sums[column] += entry * signs[slot, column]
        for column in range(len(sums)):
            projected[0, column] += sums[column]
            projected[1, column] += sums[column] * sums[column]


class Sampler:
    """An estimator on a tree, with a scratch that starts full of rubbish.

    Args:
        tree: The game.
        estimator: The estimator.
        baseline: Its control variates, or None.
        batch: How many traversals make one gradient.
        rng: Where strategies, sampling_weights_of and baselines come from. Modified in place.
        zeros: Share of actions that the strategies do not play.
        script: Run as plain Python and draw what the script says; None: compiled.
    """

    def __init__(
        self,
        tree: GameTree,
        estimator: Estimator,
        *,
        baseline: Baseline | None = None,
        batch: int = 1,
        rng: np.random.Generator,
        zeros: float = 0.0,
        script: Script | None = None,
    ):
        self.tree, self.estimator, self.baseline, self.batch = tree, estimator, baseline, batch
        self.all_players = estimator.updates_all_players
        config = SolverConfig.from_specs(estimator, averaging=stochastic(), baseline=baseline, batch=batch)
        config.check_game(tree)
        self.arrays = tree.arrays_with_leaves if estimator.needs_leaves else tree.arrays
        self.parameters = estimator.parameters()
        if baseline is not None:
            self.parameters = np.append(self.parameters, float(baseline.rate))
        self.strategy = random_strategy(tree, rng, zeros)
        self.sampling_weights = self._sampling_weights(rng)
        shape = (tree.num_players, tree.num_nodes) if baseline is not None else (0, 0)
        self.first_baselines = rng.normal(size=shape)  # unbiased whatever they are
        self.baselines = self.first_baselines.copy()
        state = rng.integers(0, 2**64, size=1, dtype=np.uint64)
        self.scratch = new_scratch(
            tree.arrays,
            tree.shape,
            state,
            max_visits=self._room(),
            sample_per_infoset=estimator.samples_per_infoset,
            values=self.baselines,
        )
        list_visit = config.average_method(tree.num_players, tree.perfect_recall).list_visit
        self._sample, self._add = drivers_of(estimator, baseline, list_visit, script)

    def _sampling_weights(self, rng: np.random.Generator) -> np.ndarray:
        tree, kind = self.tree, self.estimator.sampling_weights
        if kind == SamplingWeights.SAMPLING:
            try:
                return sampling_strategy(self.estimator, tree)
            except (ConfigError, PolicyError):  # the policy of another game: any will do
                return random_strategy(tree, rng)
        size = tree.num_slots + (tree.num_players if kind == SamplingWeights.AVERAGE else 0)
        # Of all magnitudes, so that all branches of a rule that looks at them are taken.
        random = 10.0 ** rng.uniform(-2, 8 if kind == SamplingWeights.AVERAGE else 3, size)
        if kind == SamplingWeights.AVERAGE:
            return np.where(rng.random(size) < 0.2, 0.0, random)
        if kind == SamplingWeights.REGRETS:
            return random * rng.choice([-1.0, 1.0], size)
        return np.zeros(0)

    def _room(self) -> int:
        """Returns the room for visits that a solver would make."""
        nodes, estimator = self.tree.arrays.nodes, self.estimator
        if self.all_players:
            return int(max_visits(nodes, NO_PLAYER, False, False, False))
        chance, own = estimator.visits_all_chance, estimator.visits_all_own
        return int(max(max_visits(nodes, p, False, chance, own) for p in range(self.tree.num_players)))

    def estimate(self, player: int) -> np.ndarray:
        """Returns the scratch's gradient, not a copy, after it was filled with rubbish and estimated anew."""
        scratch = self.scratch
        scratch.gradient[:] = RUBBISH
        scratch.reach_valid[:] = 0
        self.baselines[:] = self.first_baselines
        traverser = 0 if self.all_players else player
        if self.all_players:  # as if it had been somebody else's turn: all are begun anew
            scratch.num_touched[:] = 0
        with np.errstate(all="ignore"):
            self._sample(
                self.parameters, self.sampling_weights, self.arrays, self.strategy, scratch, traverser, self.batch
            )
        return scratch.gradient

    def found(self, player: int) -> np.ndarray:
        """Returns the last gradient, ``[num_slots + num_players]``: 0 where nothing was touched."""
        gradient, empty = np.zeros(self.tree.num_slots + self.tree.num_players), self.tree.num_slots + player
        for touched in self.touched(player):
            slots = slice(touched["first_slot"], touched["first_slot"] + touched["num_actions"])
            gradient[slots] = self.scratch.gradient[slots]
        gradient[empty] = self.scratch.gradient[empty]
        return gradient

    def touched(self, player: int) -> np.ndarray:
        """Returns what the last traversal listed for a player."""
        begin = self.arrays.infoset_range[player]
        return self.scratch.touched[begin : begin + self.scratch.num_touched[player]]

    def add(self, player: int, count: int, signs: np.ndarray, moments: np.ndarray, projected: np.ndarray) -> None:
        """Adds up `count` gradients; see `add_samples`."""
        self.scratch.reach_valid[:] = 0
        self._add(
            count, self.parameters, self.sampling_weights, self.arrays, self.strategy, self.scratch, player,
            0 if self.all_players else player, self.batch, signs, moments, projected,
        )  # fmt: skip


def drivers_of(
    estimator: Estimator,
    baseline: Baseline | None = None,
    list_visit: Callable = list_nothing,
    script: Script | None = None,
) -> tuple[Callable, Callable]:
    """Returns `sample_gradient` and `add_samples` for an estimator.

    Args:
        estimator: The estimator.
        baseline: Its control variates, or None.
        list_visit: What it lists at opponents' infosets.
        script: Run all of it as plain Python and draw what the script says; None: compiled.

    Raises:
        ConfigError: If the estimator has no kernel.
    """
    names: dict[str, Any] = {
        "estimate": estimate_with(estimator, baseline, list_visit=list_visit),
        "UPDATE_ALL_PLAYERS": estimator.updates_all_players,
    }
    sample = compose(sample_gradient, **names)
    if script is not None:
        sample = plain(sample, scripted_draws(script))
        return sample, sample
    return sample, compose(add_samples, **names)
