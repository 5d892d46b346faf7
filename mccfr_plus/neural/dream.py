"""DREAM on games that can be enumerated: outcome sampling whose baselines a network learns.

In a player's turn (see `advantage_solver`) histories are sampled as in outcome sampling, own actions with probability
epsilon uniformly. A network over histories holds what each action is worth, and what it holds is the baseline of the
sampled values: these stay unbiased, whatever it holds, and have the less variance the better it is. Samples weigh the
inverse of the probability of the own draws before them, so that an information set's mean is over iterations as they
are weighted, however often it was sampled in each. After both turns the network is trained on what was sampled.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from mccfr_plus.neural.advantage_solver import AdvantageSolver
from mccfr_plus.neural.config import DREAMConfig
from mccfr_plus.neural.history_values import NUM_RNGS, ActionValues
from mccfr_plus.neural.path_sampling import PathSampler
from mccfr_plus.neural.sampling import Samples


class DREAM(AdvantageSolver):
    """DREAM: a network of regrets per player, and one of what actions are worth, from sampled histories alone.

    Args:
        game: A `pyspiel.Game`, a game string, or a `GameTree`. Any number of players, perfect recall, with
            information-state tensors, and of a size that can be compiled.
        config: A `DREAMConfig`; None: its defaults.
        seed: An integer for a repeatable run (the same bits on one machine), a numpy generator, or None.

    Raises:
        GameError: If the game cannot be loaded or compiled, has no information-state tensors or imperfect recall.
        BudgetError: If it is too large to be compiled, or its histories' tensors are.
        ConfigError: If the config is none, or the seed is not allowed.

    Reference: Steinberger, Lerer, Brown 2020, "DREAM: Deep regret minimization with advantage baselines and model-free
    learning", section 4. Differs from it in that the average strategy is exact, in that values are learned from the
    latest iteration's histories, backed up along all of each, and by default in warm starts and aggregated memory.

    Example:
        >>> from mccfr_plus.neural import DREAM, DREAMConfig
        >>> solver = DREAM("kuhn_poker", DREAMConfig(traversals=100), seed=1).run(3)
        >>> solver.iterations, len(solver.average_policy())
        (3, 12)
    """

    config_class: ClassVar[type[DREAMConfig]] = DREAMConfig
    rngs_of_its_own: ClassVar[int] = NUM_RNGS
    config: DREAMConfig
    _sampler: PathSampler

    def __init__(self, game: Any, config: DREAMConfig | None = None, seed: int | np.random.Generator | None = None):
        super().__init__(game, config, seed)
        self.values = ActionValues(self.tree, self.config.baseline_training, self._own_rngs, type(self).__name__)

    def _new_sampler(self, rng: np.ndarray) -> PathSampler:
        return PathSampler(self.tree, rng, np.zeros(0), self.config.epsilon)

    def _advance(self, iteration: int) -> None:
        self._sampler.evict()
        super()._advance(iteration)
        if self.config.baseline:
            self._begin_phase("values")
            self.values.learn(self._strategy, self._sampler.visited, iteration)

    def _walk(self, player: int, traversals: int) -> tuple[int, Samples]:
        done, samples = self._sampler.sample_paths(
            self._strategy, self.values.table, player, traversals, corrected=True
        )
        return done, self._clipped(samples)

    def _clipped(self, samples: Samples) -> Samples:
        """Returns samples with weights cut down to the largest one that is allowed, modified in place."""
        if self.config.weight_clip is not None and samples.weights is not None:
            np.minimum(samples.weights, self.config.weight_clip, out=samples.weights)
        return samples

    def _prepare(self) -> None:
        super()._prepare()
        self.values.prepare()

    def _arrays(self) -> dict[str, np.ndarray]:
        return super()._arrays() | {f"values/{name}": array for name, array in self.values.state().items()}
