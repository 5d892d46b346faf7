"""Gradients of an estimator outside of a solver: one at a time, compiled or by a script, or many added up."""

import numpy as np

from mccfr_plus.checks.games import random_strategy
from mccfr_plus.checks.script import Script, plain, scripted_draws
from mccfr_plus.errors import ConfigError, PolicyError
from mccfr_plus.estimators import SamplingWeights
from mccfr_plus.estimators.draws import NO_PLAYER, max_visits
from mccfr_plus.evaluation.estimates import student_t
from mccfr_plus.evaluation.strategies import sampling_strategy_of
from mccfr_plus.kernels.compile import kernel
from mccfr_plus.kernels.slots import bind
from mccfr_plus.solver.config import SolverConfig, estimate_with
from mccfr_plus.solver.loop import ESTIMATE, UPDATE_ALL_PLAYERS, begin_gradients
from mccfr_plus.trees.game_tree import GameTree
from mccfr_plus.trees.needs import NO_VALUES
from mccfr_plus.trees.scratch import begin_traversal, new_scratch, scale_gradient

FALSE_ALARM = 1e-6  # of a whole check, however many numbers it compares
SENTINEL = 1e12  # fills the gradient before every traversal, so that adding to it without `touch` is seen


def z_limit(comparisons: int, freedom: float = float("inf")) -> float:
    """Returns Bonferroni's limit on the absolute values of this many z-scores, or of Student's t-scores."""
    return -student_t(FALSE_ALARM / (2 * max(comparisons, 1)), freedom)


@kernel
def sample_gradient(parameters, sampling_weights, tree, strategy, scratch, player, batch):
    """Estimates a gradient by `batch` traversals, as the loops do, for `player`, or from 0 on for all players."""
    begin_gradients(tree, scratch, player)
    for _ in range(batch):
        begin_traversal(scratch)
        ESTIMATE(parameters, sampling_weights, tree, strategy, scratch, player)
    if batch > 1:
        for other in range(len(tree.slot_range) - 1):
            if UPDATE_ALL_PLAYERS() or other == player:
                scale_gradient(tree, scratch, other, 1.0 / batch)


@kernel
def add_samples(
    count, parameters, sampling_weights, tree, strategy, scratch, player, traverser, batch, signs, moments, projected,
    sums,
):  # fmt: skip
    """Adds up `count` gradients, their squares, how often they were not 0, and projections; 0: estimates one only.

    `scratch`, `moments` (``[3, num_slots + num_players]``) and `projected` (``[2, num_signs]``) are modified in place;
    `signs` is ``[num_slots + num_players, num_signs]``; `sums`, ``[num_signs]``, is overwritten.
    """
    empty = tree.slot_range[-1] + player
    for _ in range(max(count, 1)):
        sample_gradient(parameters, sampling_weights, tree, strategy, scratch, traverser, batch)
        if count == 0:  # the touched list may be wrong
            return
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


class GradientSampler:
    """An estimator on a tree, with a gradient that is filled with a sentinel before each traversal.

    `rng` draws the strategy (a share `zeros` of its probabilities is 0), the sampling weights, baselines and the seed.
    With a script, kernels run as plain Python and take their draws from it.
    """

    def __init__(
        self, tree: GameTree, config: SolverConfig, rng: np.random.Generator, zeros: float, script: Script | None = None
    ):
        config.check_game(tree)
        estimator, baseline = config.estimator, config.baseline
        self.tree, self.estimator, self.batch = tree, estimator, config.batch
        self.all_players = estimator.update_all_players
        self.arrays = tree.arrays_with_leaves if estimator.needs_leaves else tree.arrays
        self.parameters = estimator.parameters()
        if baseline is not None:
            self.parameters = np.append(self.parameters, float(baseline.rate))
        self.strategy = random_strategy(tree, rng, zeros)
        self.sampling_weights = self._sampling_weights(rng)
        has_values = baseline is not None or NO_VALUES not in estimator.provides
        # Baselines give unbiased estimates whatever their values are.
        self._first_values = rng.normal(size=(tree.num_players, tree.num_nodes) if has_values else (0, 0))
        # The room for visits at opponents' infosets that a solver has.
        chance, own = (not self.all_players and x for x in (estimator.visits_all_chance, estimator.visits_all_own))
        players = [NO_PLAYER] if self.all_players else range(tree.num_players)
        self.scratch = new_scratch(
            tree.arrays,
            tree.shape,
            rng.integers(0, 2**64, size=1, dtype=np.uint64),
            max_visits=int(max(max_visits(tree.arrays.nodes, p, False, chance, own) for p in players)),
            sample_per_infoset=estimator.sample_per_infoset,
            values=self._first_values.copy(),
        )
        list_visit = config.average_method(tree.num_players, tree.perfect_recall).list_visit
        kernel = estimate_with(estimator, baseline, list_visit=list_visit)
        self.run = bind(add_samples, {ESTIMATE: kernel, UPDATE_ALL_PLAYERS: self.all_players}, partial=True)
        if script is not None:
            self.run = plain(self.run, scripted_draws(script))

    def _sampling_weights(self, rng: np.random.Generator) -> np.ndarray:
        tree, kind = self.tree, self.estimator.sampling_weights
        if kind == SamplingWeights.SAMPLING:
            try:
                return sampling_strategy_of(tree, self.estimator)
            except (ConfigError, PolicyError):  # the policy of another game: any strategy tests the kernel
                return random_strategy(tree, rng)
        # Of all magnitudes, so that all branches of a rule are taken.
        if kind == SamplingWeights.AVERAGE:
            random = 10.0 ** rng.uniform(-2, 8, tree.num_slots + tree.num_players)
            return np.where(rng.random(len(random)) < 0.2, 0.0, random)
        random = 10.0 ** rng.uniform(-2, 3, tree.num_slots) * rng.choice([-1.0, 1.0], tree.num_slots)
        return random if kind == SamplingWeights.REGRETS else np.zeros(0)

    def estimate(self, player: int) -> None:
        """Estimates a player's gradient, in ``scratch.gradient``, which is filled with the sentinel before."""
        scratch = self.scratch
        scratch.gradient[:] = SENTINEL
        scratch.values[:] = self._first_values
        if self.all_players:  # as in the step of player 0
            scratch.num_touched[:] = 0
        with np.errstate(all="ignore"):
            self.add(player, 0, np.zeros((0, 0)), np.zeros((3, 0)), np.zeros((2, 0)))

    def found(self, player: int) -> np.ndarray:
        """Returns the last gradient, ``[num_slots + num_players]``: 0 where nothing was touched."""
        gradient = np.zeros(self.tree.num_slots + self.tree.num_players)
        slots = [np.arange(t["first_slot"], t["first_slot"] + t["num_actions"]) for t in self.touched(player)]
        where = np.concatenate([[self.tree.num_slots + player], *slots])
        gradient[where] = self.scratch.gradient[where]
        return gradient

    def touched(self, player: int) -> np.ndarray:
        """Returns a player's touched list of the last traversal."""
        begin = self.arrays.infoset_range[player]
        return self.scratch.touched[begin : begin + self.scratch.num_touched[player]]

    def add(self, player: int, count: int, signs: np.ndarray, moments: np.ndarray, projected: np.ndarray) -> None:
        """Adds up `count` gradients, or estimates a single one; see `add_samples`."""
        self.scratch.reach_valid[:] = 0
        self.run(
            count, self.parameters, self.sampling_weights, self.arrays, self.strategy, self.scratch, player,
            0 if self.all_players else player, self.batch, signs, moments, projected, np.empty(signs.shape[1]),
        )  # fmt: skip
