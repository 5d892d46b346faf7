"""Deep CFR, DREAM and ESCHER; see `advantages`. Each runs on compiled trees, and batched without one."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from mccfr_plus.neural import config as configs
from mccfr_plus.neural.advantages import AdvantageSolver
from mccfr_plus.neural.batched_env import BatchedEnv
from mccfr_plus.neural.sampling.branches import ExternalSampling
from mccfr_plus.neural.sampling.paths import Paths, Trajectories, corrected_regrets, plain_regrets
from mccfr_plus.neural.tree_values import ExactValues


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
        features: Makes the inputs of networks, ``[n, any width]``, of information-state tensors, ``[n, size]`` float32;
            None: the tensors are the inputs. Networks of values get histories, which have none.

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

    config_class: ClassVar[type] = configs.DeepCFRConfig
    references: ClassVar[tuple[str, ...]] = ("brown2019deep",)
    config: configs.DeepCFRConfig

    def _histories(self, player: int) -> ExternalSampling:
        return ExternalSampling(self._env.strategies(), player, self.config.max_parallel_histories)

    def regrets(self, paths: Any, player: int) -> np.ndarray:
        """Returns the regrets of `Branches`."""
        return paths.regrets


class DREAM(AdvantageSolver):
    """DREAM: a network of regrets per player and a network of action values, from sampled trajectories alone.

    Own actions are drawn uniformly with probability epsilon. The action values are the baselines of the sampled values:
    these stay unbiased for any baseline, and good ones reduce the variance. A sample's weight is the probability of the
    own draws before it under uniform play, divided by their probability. At each information set this is the inverse of
    the latter up to a constant, so that the mean does not depend on how often an iteration sampled it. Without the
    former, a few samples of deep information sets would dominate the loss. The network of values is trained after all
    players' traversals, on their histories.

    See `DeepCFR` for the arguments; the config is a `DREAMConfig`.

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

    config_class: ClassVar[type] = configs.DREAMConfig
    references: ClassVar[tuple[str, ...]] = ("steinberger2020dream",)
    config: configs.DREAMConfig

    @property
    def exploration(self) -> float:
        return self.config.epsilon

    def _new_values(self, rngs: np.ndarray) -> Any:
        return self._env.new_values(False, self.config.baseline_training, rngs, self._modules)

    def _advance(self, iteration: int) -> None:
        self.values.evict()
        super()._advance(iteration)
        if self.config.baseline:
            self._begin_phase("values")
            self.values.learn(iteration)

    def regrets(self, paths: Paths, player: int) -> np.ndarray:
        """Returns sampled regrets with baselines."""
        values = self.values.at(paths)
        if self.config.baseline:
            self.values.note(paths, values)
        return corrected_regrets(paths, values[:, player], player)

    def weights(self, paths: Paths, player: int) -> np.ndarray:
        """Returns the weights of a player's samples."""
        weights, clip = paths.importance((player,)), self.config.weight_clip
        return weights if clip is None else np.minimum(weights, clip)


class ESCHER(AdvantageSolver):
    """ESCHER: a network of regrets per player, from values of histories, without importance weights.

    Before a player's traversals, the values of all histories under the current strategies are computed or learned. Own
    actions are drawn from a fixed strategy. At an own information set the regret of an action is the value of the
    history after it less their mean over the strategy. `mccfr_plus.estimators.escher` says why that is right up to a
    factor, and does the same with a table of regrets.

    See `DeepCFR` for the arguments; the config is an `ESCHERConfig`. See `DREAM` for the errors.

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

    config_class: ClassVar[type] = configs.ESCHERConfig
    references: ClassVar[tuple[str, ...]] = ("mcaleer2023escher",)
    config: configs.ESCHERConfig

    def _new_values(self, rngs: np.ndarray) -> Any:
        if self.config.values == "exact":
            return ExactValues(self._env)
        return self._env.new_values(True, self.config.value_training, rngs, self._modules)

    def _histories(self, player: int) -> Trajectories:
        exploration = self._env.exploration(self.config.sampling)
        return Trajectories(self._env.strategies(), (player,), self.exploration, exploration)

    def _before_traversals(self, player: int, iteration: int) -> None:
        self._begin_phase(f"values {player}")
        if isinstance(self.values, ExactValues):
            self.values.refresh(player)
            return
        self.values.evict()
        config, exploration = self.config, self._env.exploration(self.config.sampling)
        for explorer in range(self._env.num_players):
            histories = Trajectories(self._env.strategies(), (explorer,), config.value_exploration, exploration)
            for paths in self._env.sample(histories, config.value_traversals, config.parallel_traversals):
                self.values.note(paths, self.values.at(paths))
        self.values.learn(iteration)

    def regrets(self, paths: Paths, player: int) -> np.ndarray:
        """Returns action values less their mean over the strategy."""
        values = self.values.at(paths)
        return plain_regrets(paths, values[np.arange(len(values)), paths.players])


class BatchedSolver(AdvantageSolver):
    """A solver for games of any size, with a network of regrets per player and one for its average.

    A subclass defines `regrets`, and may define `weights`, `exploration` and ``config_class``, a `BatchedConfig`.
    `average_policy` and `current_policy` return a `NetworkPolicy`. The networks of the former are trained on the first
    call after an iteration, which raises a TrainingError if that diverges.

    Args:
        game: A `pyspiel.Game` or a game string: sequential moves, with information-state tensors.
        config: Of the class's ``config_class``; None: its defaults.
        seed: An integer for a repeatable run (bitwise identical on one machine), a numpy generator, or None. See
            `DeepCFR` for ``network``, ``optimizer``, ``device`` and ``features``.

    Raises:
        GameError: If the game cannot be loaded or has no information-state tensors.
        ConfigError: If the config is of another class, or the seed is not allowed.
    """

    config_class: ClassVar[type] = configs.BatchedConfig
    environment = BatchedEnv


class BatchedDeepCFR(DeepCFR, BatchedSolver):
    """`DeepCFR` for games that are not enumerated; see `BatchedSolver` for the arguments.

    A traversal visits all own actions, so its size is exponential in the number of own moves: 285,000 histories in
    phantom tic-tac-toe. Use `BatchedDREAM` or `BatchedESCHER` for such games.

    Examples:
        >>> from mccfr_plus.neural import BatchedDeepCFR, BatchedDeepCFRConfig
        >>> solver = BatchedDeepCFR("liars_dice", BatchedDeepCFRConfig(traversals=3, train_steps=2), seed=1).run(1)
        >>> solver.iterations
        1
    """

    config_class: ClassVar[type] = configs.BatchedDeepCFRConfig


class BatchedDREAM(DREAM, BatchedSolver):
    """`DREAM` for games that are not enumerated; see `BatchedSolver` for the arguments.

    Examples:
        >>> from mccfr_plus.neural import BatchedDREAM, BatchedDREAMConfig
        >>> solver = BatchedDREAM("phantom_ttt", BatchedDREAMConfig(traversals=20, train_steps=2), seed=1).run(1)
        >>> solver.iterations
        1
    """

    config_class: ClassVar[type] = configs.BatchedDREAMConfig


class BatchedESCHER(ESCHER, BatchedSolver):
    """`ESCHER` for games that are not enumerated; see `BatchedSolver` for the arguments.

    The network of values has an output per action, so that one forward pass at a history replaces one at each history
    after it.

    Examples:
        >>> from mccfr_plus.neural import BatchedESCHER, BatchedESCHERConfig
        >>> solver = BatchedESCHER("phantom_ttt", BatchedESCHERConfig(traversals=20, train_steps=2), seed=1).run(1)
        >>> solver.iterations
        1
    """

    config_class: ClassVar[type] = configs.BatchedESCHERConfig
