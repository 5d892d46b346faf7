"""DREAM on compiled trees: outcome sampling with learned baselines, see `advantage_solver`.

In a player's traversals own actions are drawn uniformly with probability epsilon. A network over histories learns the
values of actions, which are the baselines of the sampled values: these stay unbiased for any baseline, and good ones
reduce the variance. A sample's weight is 1 / (probability of the own draws before it), so that the mean at an
information set does not depend on how often an iteration sampled it. The network of values is trained after all
players' traversals, on their histories.
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
    """DREAM: a network of regrets per player and a network of action values, from sampled trajectories alone.

    Args:
        game: See `DeepCFR`.
        config: A `DREAMConfig`; None: its defaults.
        seed: See `DeepCFR`.

    Raises:
        GameError: If the game cannot be loaded or compiled, has no information-state tensors or imperfect recall.
        BudgetError: If it is too large to be compiled, or its histories' tensors are.
        ConfigError: If the config is of another class, or the seed is not allowed.

    Reference: Steinberger, Lerer, Brown 2020, "DREAM: Deep regret minimization with advantage baselines and model-free
    learning", section 4. Differs from it in the average strategy, which is exact; in values, which are learned from the
    latest iteration's histories with targets backed up from the leaf; and by default in ``warm_start`` and
    ``memory="aggregated"``.

    Example:
        >>> from mccfr_plus.neural import DREAM, DREAMConfig
        >>> solver = DREAM("kuhn_poker", DREAMConfig(traversals=100), seed=1).run(3)
        >>> solver.iterations, len(solver.average_policy())
        (3, 12)
    """

    config_class: ClassVar[type[DREAMConfig]] = DREAMConfig
    num_extra_rngs: ClassVar[int] = NUM_RNGS
    config: DREAMConfig
    _sampler: PathSampler

    def __init__(self, game: Any, config: DREAMConfig | None = None, seed: int | np.random.Generator | None = None):
        super().__init__(game, config, seed)
        self.values = ActionValues(self.tree, self.config.baseline_training, self._extra_rngs, type(self).__name__)

    def _new_sampler(self, rng: np.ndarray) -> PathSampler:
        return PathSampler(self.tree, rng, np.zeros(0), self.config.epsilon)

    def _advance(self, iteration: int) -> None:
        self._sampler.evict()
        super()._advance(iteration)
        if self.config.baseline:
            self._begin_phase("values")
            self.values.learn(self._strategy, self._sampler.visited, iteration)

    def _traverse(self, player: int, traversals: int) -> tuple[int, Samples]:
        done, samples = self._sampler.sample_paths(
            self._strategy, self.values.table, player, traversals, corrected=True
        )
        return done, self._clipped(samples)

    def _clipped(self, samples: Samples) -> Samples:
        """Returns samples with weights reduced to `weight_clip`. Modified in place."""
        if self.config.weight_clip is not None and samples.weights is not None:
            np.minimum(samples.weights, self.config.weight_clip, out=samples.weights)
        return samples

    def _prepare(self) -> None:
        super()._prepare()
        self.values.prepare()

    def _arrays(self) -> dict[str, np.ndarray]:
        return super()._arrays() | {f"values/{name}": array for name, array in self.values.state().items()}
