"""Deep CFR, DREAM and ESCHER on compiled trees; see `advantage_solver`."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from mccfr_plus.estimators.balanced import balanced_strategy
from mccfr_plus.neural import config as configs
from mccfr_plus.neural.advantage_solver import AdvantageSolver
from mccfr_plus.neural.config import DeepCFRConfig, DREAMConfig, ESCHERConfig
from mccfr_plus.neural.history_values import NUM_RNGS, ActionValues, ExactValues, StateValues
from mccfr_plus.neural.sampling import PathSampler, Samples
from mccfr_plus.neural.solver import Seed


class DeepCFR(AdvantageSolver):
    """Deep CFR: a network per player learns the regrets of external sampling.

    With aggregated memory and a linear model of one-hot inputs, fitted exactly, this is linear MCCFR with batches:
    ``Solver(game, "external", "linear", batch=traversals)`` with the same traversals.

    Args:
        game: A `pyspiel.Game`, a game string, or a `GameTree`. Any number of players, perfect recall, with
            information-state tensors, and of a size that can be compiled.
        config: A `DeepCFRConfig`; None: its defaults.
        seed: An integer for a repeatable run (bitwise identical on one machine), a numpy generator, or None.
        network: Makes a `torch.nn.Module` of the numbers of its inputs and outputs, for all networks; None: the
            multilayer perceptron of the config. Its parameters, float32, become parts of one vector.
        optimizer: Makes a `torch.optim.Optimizer` of a list with that vector; None: Adam with the config's step size.
        device: Where networks are trained, as torch calls it; None: on a GPU if there is one. Results differ between
            devices.

    Raises:
        GameError: If the game cannot be loaded or compiled, has no information-state tensors or imperfect recall.
        BudgetError: If it is too large to be compiled.
        ConfigError: If the config is of another class, or the seed is not allowed.

    Reference: Brown, Lerer, Gross, Sandholm 2019, "Deep counterfactual regret minimization", algorithms 1 and 2.
    Differs from it in the average strategy, which is exact, and by default in ``warm_start`` and
    ``memory="aggregated"``.

    Examples:
        >>> from mccfr_plus.neural import DeepCFR, DeepCFRConfig
        >>> solver = DeepCFR("kuhn_poker", DeepCFRConfig(traversals=100), seed=1).run(3)
        >>> solver.iterations, len(solver.average_policy())
        (3, 12)
    """

    config_class: ClassVar[type[DeepCFRConfig]] = DeepCFRConfig
    config: DeepCFRConfig

    def _traverse(self, player: int, traversals: int) -> tuple[int, Samples]:
        return self._sampler.sample(self._strategy, player, traversals)


class _ValueSolver(AdvantageSolver):
    """A solver with values of histories in ``values``."""

    num_extra_rngs: ClassVar[int] = NUM_RNGS
    _sampler: PathSampler
    values: Any

    def _prepare(self) -> None:
        super()._prepare()
        self.values.prepare()

    def _arrays(self) -> dict[str, np.ndarray]:
        return super()._arrays() | {f"values/{name}": array for name, array in self.values.state().items()}


class DREAM(_ValueSolver):
    """DREAM: a network of regrets per player and a network of action values, from sampled trajectories alone.

    Own actions are drawn uniformly with probability epsilon. The action values are the baselines of the sampled values:
    these stay unbiased for any baseline, and good ones reduce the variance. A sample's weight is 1 / (probability of
    the own draws before it), so that the mean at an information set does not depend on how often an iteration sampled
    it. The network of values is trained after all players' traversals, on their histories.

    Args:
        game: See `DeepCFR`.
        config: A `DREAMConfig`; None: its defaults.
        seed: See `DeepCFR`, as ``network``, ``optimizer`` and ``device``.

    Raises:
        GameError, ConfigError: See `DeepCFR`.
        BudgetError: If the game is too large to be compiled, or its histories' tensors are too large.

    Reference: Steinberger, Lerer, Brown 2020, "DREAM: Deep regret minimization with advantage baselines and model-free
    learning", section 4. Differs from it in the average strategy, which is exact; in values, which are learned from the
    latest iteration's histories with targets backed up from the leaf; and by default in ``warm_start`` and
    ``memory="aggregated"``.

    Examples:
        >>> from mccfr_plus.neural import DREAM, DREAMConfig
        >>> solver = DREAM("kuhn_poker", DREAMConfig(traversals=100), seed=1).run(3)
        >>> solver.iterations, len(solver.average_policy())
        (3, 12)
    """

    config_class: ClassVar[type[DREAMConfig]] = DREAMConfig
    config: DREAMConfig
    values: ActionValues

    def _build(self, seed: Seed) -> None:
        super()._build(seed)
        training, name = self.config.baseline_training, type(self).__name__
        self.values = ActionValues(self.tree, training, self._extra_rngs, name, self._modules)

    def _new_sampler(self, rng: np.ndarray) -> PathSampler:
        return PathSampler(self.tree, rng, np.zeros(0))

    def _advance(self, iteration: int) -> None:
        self._sampler.evict()
        super()._advance(iteration)
        if self.config.baseline:
            self._begin_phase("values")
            self.values.learn(self._strategy, self._sampler.visited, iteration)

    def _traverse(self, player: int, traversals: int) -> tuple[int, Samples]:
        done, samples = self._sampler.sample_paths(
            self._strategy, self.values.table, player, traversals, self.config.epsilon, corrected=True
        )
        return done, self._clipped(samples)

    def _clipped(self, samples: Samples) -> Samples:
        """Returns samples with weights reduced to `weight_clip`. Modified in place."""
        if self.config.weight_clip is not None and samples.weights is not None:
            np.minimum(samples.weights, self.config.weight_clip, out=samples.weights)
        return samples


class ESCHER(_ValueSolver):
    """ESCHER: a network of regrets per player, from values of histories, without importance weights.

    Before a player's traversals, the values of all histories under the current strategies are computed or learned. Own
    actions are drawn from a fixed strategy. At an own information set the regret of an action is the value of the
    history after it less their mean over the strategy. `mccfr_plus.estimators.escher` says why that is right up to a
    factor, and does the same with a table of regrets.

    Args:
        game: See `DeepCFR`.
        config: An `ESCHERConfig`; None: its defaults.
        seed: See `DeepCFR`, as ``network``, ``optimizer`` and ``device``.

    Raises:
        GameError, ConfigError: See `DeepCFR`.
        BudgetError: If the game is too large to be compiled, or its histories' tensors are too large.

    Reference: McAleer, Farina, Lanctot, Sandholm 2023, "ESCHER: Eschewing importance sampling in games by computing a
    history value function to estimate regret", section 4. Differs from it in the average strategy, which is exact; in
    values, which are learned before each player's traversals with targets backed up from the leaf; and by default in
    ``warm_start`` and ``memory="aggregated"``.

    Examples:
        >>> from mccfr_plus.neural import ESCHER, ESCHERConfig
        >>> solver = ESCHER("kuhn_poker", ESCHERConfig(traversals=100, values="exact"), seed=1).run(3)
        >>> solver.iterations, len(solver.average_policy())
        (3, 12)
    """

    config_class: ClassVar[type[ESCHERConfig]] = ESCHERConfig
    config: ESCHERConfig
    values: ExactValues | StateValues

    def _build(self, seed: Seed) -> None:
        super()._build(seed)
        training, name = self.config.value_training, type(self).__name__
        if self.config.values == configs.EXACT:
            self.values = ExactValues(self.tree)
        else:
            self.values = StateValues(self.tree, training, self._extra_rngs, name, self._modules)

    def _new_sampler(self, rng: np.ndarray) -> PathSampler:
        is_balanced = self.config.sampling == configs.BALANCED
        return PathSampler(self.tree, rng, balanced_strategy(self.tree) if is_balanced else np.zeros(0))

    def _before_traversals(self, player: int, iteration: int) -> None:
        self._begin_phase(f"values {player}")
        if isinstance(self.values, ExactValues):
            self.values.refresh(self._strategy, player)
            return
        self._sampler.evict()
        self._visit(player, iteration)
        self.values.learn(self._strategy, self._sampler.visited, iteration)

    def _visit(self, player: int, iteration: int) -> None:
        """Samples the histories that the network of values learns from."""
        table, epsilon = self.values.table, self.config.value_exploration
        for other in range(self.tree.num_players):
            left = self.config.value_traversals
            while left > 0:
                done, _ = self._sampler.sample_paths(self._strategy, table, other, left, epsilon, corrected=False)
                left -= done

    def _traverse(self, player: int, traversals: int) -> tuple[int, Samples]:
        return self._sampler.sample_paths(self._strategy, self.values.table, player, traversals, 1.0, corrected=False)
