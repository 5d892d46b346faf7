"""Deep CFR, DREAM and ESCHER: sampled regrets go to a memory, to which a network per player is fitted.

Regret matching on its outputs is the next strategy, which enters the average policy with weight t^gamma.
"""

from typing import Any, ClassVar, NamedTuple

import numpy as np

from mccfr_plus.errors import ConfigError
from mccfr_plus.estimators.outcome import balanced_strategy
from mccfr_plus.neural import config as configs
from mccfr_plus.neural.memory import Aggregated, Bootstrapped, Reservoir, Samples, infoset_columns
from mccfr_plus.neural.network import Learner
from mccfr_plus.neural.network_policy import MATCHING, UNIFORM, strategy_of
from mccfr_plus.neural.paths import ExternalSampling, Paths, Trajectories, corrected_regrets, plain_regrets
from mccfr_plus.neural.solver import NeuralSolver
from mccfr_plus.neural.values import ExactValues, PathValues, TreeValues
from mccfr_plus.parameters import Seed, new_states
from mccfr_plus.policies.table import TreePolicy


class Player(NamedTuple):
    learner: Learner
    memory: Aggregated | Reservoir | Bootstrapped

    @property
    def losses(self) -> list[float]:
        return self.learner.losses

    def parts(self) -> dict[str, Any]:
        return {"memory": self.memory, "network": self.learner}


class AdvantageSolver(NeuralSolver):
    """A solver with one advantage network per player: the base class of user-defined algorithms.

    A subclass defines `regrets`, and may define `weights`, `exploration` and ``config_class``, an `AdvantageConfig`.
    See `DeepCFR` for the arguments.
    """

    config_class: ClassVar[type[configs.AdvantageConfig]] = configs.AdvantageConfig
    config: configs.AdvantageConfig
    values: Any = None  # of histories; see `mccfr_plus.neural.values`
    exploration: float = 1.0  # probability with which a trajectory's player draws uniformly

    def regrets(self, paths: Paths, player: int) -> np.ndarray:
        """Returns sampled regrets at a player's decisions, ``[num_decisions, num_actions]``; other rows are not read.

        The network learns their mean over the samples of an information set, weighted by `weights`.
        """
        raise ConfigError(f"{type(self).__name__} does not define regrets(paths, player), which every algorithm needs.")

    def weights(self, paths: Paths, player: int) -> np.ndarray | None:
        """Returns the weights of a player's samples, ``[num_decisions]``, or None if all are 1."""
        return None

    def _histories(self, player: int) -> Trajectories | ExternalSampling:
        return Trajectories(self.representation.strategies(), (player,), self.exploration)

    def _new_values(self, rngs: np.ndarray) -> Any:
        """Returns the algorithm's values of histories; None: it has none."""

    def _learned_values(self, uses_model: bool, training: configs.TrainingConfig, rngs: np.ndarray) -> Any:
        kind = PathValues if self.tree is None else TreeValues
        return kind(self.representation, uses_model, training, rngs, self.modules)

    def _before_traversals(self, player: int, iteration: int) -> None:
        pass

    def _build(self, seed: Seed) -> None:
        representation, count = self.representation, self.representation.num_players
        rngs = new_states(seed, 3 + 4 * count)
        representation.rng[:] = rngs[:1]
        self._trained = np.zeros(count, np.int64)  # iteration of the last training
        self._is_predictive = self.config.minimizer == configs.PDCFR_PLUS  # with a second output per action
        of_players = rngs[3:].reshape(count, 4).copy()  # memories of regrets and of strategies, networks
        self._players = [self._new_player(player, own) for player, own in enumerate(of_players)]
        representation.start(self, of_players[:, 1:2])
        for player in range(count):
            self._use_network(player, 0)
        self.values = self._new_values(rngs[1:3].copy())
        self._kept = {"trained": self._trained} | ({} if self.values is None else {"values": self.values})

    def _new_player(self, player: int, rngs: np.ndarray) -> Player:
        representation, config = self.representation, self.config
        inputs, unit = representation.inputs[player], representation.unit_of(player, config.scale_targets)
        num_outputs = representation.num_actions * (1 + self._is_predictive)
        name = f"advantage loss of player {player}"
        learner = Learner(inputs, num_outputs, config, rngs[2:], name, "regrets", self.modules)
        if config.minimizer != configs.CFR:
            return Player(learner, Bootstrapped(learner, config, unit))
        if config.memory == "aggregated":
            return Player(learner, Aggregated(representation.masks[player], power=config.gamma, unit=unit))
        columns = infoset_columns(config.memory_capacity, inputs, representation.num_actions)
        return Player(learner, Reservoir(columns, rngs[:1], power=config.gamma, unit=unit))

    def _rule(self, player: int) -> tuple[str, float | None]:
        """Returns how outputs become a player's strategy: uniform before the first training; see `strategy_of`."""
        trained = int(self._trained[player])
        return MATCHING if trained else UNIFORM, self.config.discount(trained) if self._is_predictive else None

    def _use_network(self, player: int, iteration: int) -> None:
        """Takes over a player's strategy from its network."""

        def rule(outputs: np.ndarray, masks: np.ndarray) -> np.ndarray:
            return strategy_of(outputs, masks, *self._rule(player))

        self._trained[player] = iteration
        learner = self._players[player].learner
        self.representation.use(player, self.representation.responses(player, learner, rule))

    def _advance(self, iteration: int) -> None:
        for player, (learner, memory) in enumerate(self._players):
            self._before_traversals(player, iteration)
            self._begin_phase(f"traversals {player}")
            if isinstance(memory, Bootstrapped):
                memory.begin()
            for found in self.representation.turn(self, self._histories(player), player, iteration):
                regrets, weights = self.regrets(found, player), self.weights(found, player)
                memory.add(Samples.of(found, player, regrets, weights), iteration)
            self._begin_phase(f"training {player}")
            learner.fit(memory, iteration)
            self._use_network(player, iteration)

    def current_policy(self) -> Any:
        if self.tree is not None:
            return TreePolicy(self.tree, self.representation.strategy.copy())
        return self.representation.policy_of([own.learner for own in self._players], *self._rule(0))


class DeepCFR(AdvantageSolver):
    """Deep CFR: one network per player learns the regrets of external sampling.

    Traversals visit all actions of a player. On large games, use `DREAM` or `ESCHER`, which follow single histories.

    Args:
        game: A `pyspiel.Game`, a game string, or a `GameTree`, with information-state tensors.
        config: A `DeepCFRConfig`. Default: its defaults.
        representation: ``"tree"``: the game, which needs perfect recall, is compiled, and the strategy is a table.
            ``"batched"``: networks are evaluated at many histories in parallel, for games of any size; policies are
            `NetworkPolicy` objects. A `Representation` is accepted as well. Default: a tree if the game has at most a
            million histories.
        seed: An integer for a repeatable run (bitwise identical on one machine), a NumPy generator, or None.
        network: A function from the numbers of inputs and outputs to a `torch.nn.Module`, or a mapping of some of the
            roles ``"regrets"``, ``"values"`` and ``"average"`` to such functions. Default: an `MLP`.
        optimizer: A function from a list of parameters to a `torch.optim.Optimizer`, or a mapping from roles to such
            functions. Default: Adam.
        device: The torch device on which networks are trained. Default: a GPU if there is one.

    Raises:
        GameError: If the game cannot be loaded or compiled, lacks information-state tensors, or has imperfect recall.
        BudgetError: If the game needs too much memory, or, where values are learned, the tensors of its histories do.
        ConfigError: If the config does not fit the class or the representation, or a factory returns an object of the
            wrong type.

    Reference: Brown, Lerer, Gross and Sandholm 2019, "Deep counterfactual regret minimization", algorithms 1 and 2.
    """

    config_class: ClassVar[type] = configs.DeepCFRConfig
    references: ClassVar[tuple[str, ...]] = ("brown2019deep",)

    def _histories(self, player: int) -> ExternalSampling:
        return ExternalSampling(self.representation.strategies(), player)

    def regrets(self, paths: Any, player: int) -> np.ndarray:
        return paths.regrets


class DREAM(AdvantageSolver):
    """DREAM: one regret network per player and a network of action values, learned from sampled trajectories only.

    The player's actions are drawn uniformly with probability epsilon. Action values serve as baselines of the sampled
    values, which are unbiased for any baseline. The weight of a sample is the probability of the player's earlier draws
    under uniform play, divided by their sampling probability. See `DeepCFR` for the arguments; the config is a
    `DREAMConfig`.

    Reference: Steinberger, Lerer and Brown 2020, "DREAM: Deep regret minimization with advantage baselines and
    model-free learning", section 4; with ``minimizer="pdcfr+"`` VR-DeepPDCFR+ (Xu et al. 2026).
    """

    config_class: ClassVar[type] = configs.DREAMConfig
    references: ClassVar[tuple[str, ...]] = ("steinberger2020dream",)
    config: configs.DREAMConfig

    def _new_values(self, rngs: np.ndarray) -> Any:
        self.exploration = self.config.epsilon
        return self._learned_values(False, self.config.baseline_training, rngs)

    def _advance(self, iteration: int) -> None:
        self.values.evict()
        super()._advance(iteration)
        if self.config.baseline:
            self._begin_phase("values")
            self.values.learn(iteration)

    def regrets(self, paths: Paths, player: int) -> np.ndarray:
        values = self.values.at(paths)
        if self.config.baseline:
            self.values.note(paths, values)
        return corrected_regrets(paths, values[:, player], player)

    def weights(self, paths: Paths, player: int) -> np.ndarray:
        return paths.importance((player,))


class ESCHER(AdvantageSolver):
    """ESCHER: one regret network per player, trained with history values, without importance weights.

    Before a player's traversals, the values of all histories under the current strategies are computed or learned. The
    player's actions are drawn from a fixed strategy (`sampling`). The regret of an action is the value of the history
    after it, minus the mean of these values under the strategy. See `DeepCFR` for the arguments; the config is an
    `ESCHERConfig`.

    Reference: McAleer, Farina, Lanctot and Sandholm 2023, "ESCHER: Eschewing importance sampling in games by computing
    a history value function to estimate regret", section 4.
    """

    config_class: ClassVar[type] = configs.ESCHERConfig
    references: ClassVar[tuple[str, ...]] = ("mcaleer2023escher",)
    config: configs.ESCHERConfig

    def _new_values(self, rngs: np.ndarray) -> Any:
        if self.config.values == "exact":
            return ExactValues(self.representation)
        return self._learned_values(True, self.config.value_training, rngs)

    def _histories(self, player: int) -> Trajectories:
        representation, constant = self.representation, None
        if self.config.sampling == "balanced":
            constant = representation.observer.tables(balanced_strategy(self.tree))
        return Trajectories(representation.strategies(), (player,), self.exploration, constant)

    def _before_traversals(self, player: int, iteration: int) -> None:
        self._begin_phase(f"values {player}")
        config, values = self.config, self.values
        if config.values == "exact":
            values.refresh(player)
            return
        values.evict()
        for explorer in range(self.representation.num_players):
            histories = Trajectories(self.representation.strategies(), (explorer,), config.value_exploration)
            for paths in self.representation.sample(histories, config.value_traversals, config.parallel_traversals):
                values.note(paths, values.at(paths))
        values.learn(iteration)

    def regrets(self, paths: Paths, player: int) -> np.ndarray:
        values = self.values.at(paths)
        return plain_regrets(paths, values[np.arange(len(values)), paths.players])
