"""Neural fictitious self-play on compiled trees.

Each player has two networks. Action values give its best response, which is epsilon-greedy. An average policy imitates
what its best responses played. Until the iteration's episodes are played:

1. A kernel plays episodes by tables of the networks' outputs. In an episode a player follows its best response with
   probability eta and its average policy otherwise. Its transitions go to a ring buffer, and the decisions of its best
   response to a reservoir too.
2. After `learn_every` steps a player has an update: one step of Q-learning on transitions and one of cross-entropy on
   decisions. After `target_every` updates the target network is renewed.
3. A forward pass of both networks over all of the player's information sets fills its tables.

Without tables, a forward pass per decision would take nearly all of the time.
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar, NamedTuple

import numpy as np

from mccfr_plus.kernels.random_numbers import new_states
from mccfr_plus.neural.backend import torch
from mccfr_plus.neural.buffer import Buffer, RowBuffer
from mccfr_plus.neural.config import TrainingConfig
from mccfr_plus.neural.episodes import DECISION, TRANSITION, Episodes, Tables
from mccfr_plus.neural.features import Features, features_of
from mccfr_plus.neural.learner import Learner
from mccfr_plus.neural.network import Modules
from mccfr_plus.neural.nfsp_config import NFSPConfig
from mccfr_plus.neural.solver import NeuralSolver, Seed, mean_losses
from mccfr_plus.neural.strategy_tables import fill_softmax, find_best
from mccfr_plus.policies.tree_policy import TreePolicy

_RNGS_PER_PLAYER = 5  # for the reservoir; for initial parameters and batches of each network


class ValueLearner(Learner):
    """Action values, by Q-learning with a target network (Mnih et al. 2015, algorithm 1).

    Only the largest output of the target network at each information set is used, so it is stored as a table of these.
    `unit` divides the values; see `Learner` for the other arguments.
    """

    def __init__(
        self,
        features: Features,
        num_actions: int,
        config: TrainingConfig,
        rngs: np.ndarray,
        name: str,
        modules: Modules,
        unit: float,
    ):
        super().__init__(features.tensors, num_actions, config, rngs, name, modules)
        self._unit = unit
        # [num_rows + 1] float32; the last entry, with index `TERMINAL_ROW`, is the end of the game.
        self.target_values = np.zeros(len(features.counts) + 1, np.float32)

    def state(self) -> dict[str, np.ndarray]:
        return {**super().state(), "target_values": self.target_values}

    def targets(self, transitions: np.ndarray) -> np.ndarray:
        """Returns r + max_a' Q'(s', a') with the target network's Q' (r at the end of the game), ``[n]`` float32."""
        return transitions["reward"] / np.float32(self._unit) + self.target_values[transitions["next_row"]]

    def learn(self, transitions: np.ndarray, iteration: int) -> None:
        """Makes a step on the mean squared error of the actions taken in transitions, ``[n]`` TRANSITION.

        Reference: Heinrich, Silver 2016, algorithm 1.

        Raises:
            TrainingError: If the loss is not finite.
        """
        actions = self.tensor(transitions["action"].astype(np.int64))[:, None]
        targets = self.tensor(self.targets(transitions))[:, None]
        inputs = self.inputs.index_select(0, self.tensor(transitions["row"].astype(np.int64)))
        self.step(inputs, lambda outputs: (outputs.gather(1, actions) - targets).square().mean(), iteration)


class PolicyLearner(Learner):
    """An average policy, trained by cross-entropy on the actions in a memory. See `Learner`."""

    def __init__(
        self,
        features: Features,
        num_actions: int,
        config: TrainingConfig,
        rngs: np.ndarray,
        name: str,
        modules: Modules,
    ):
        super().__init__(features.tensors, num_actions, config, rngs, name, modules)
        self._is_illegal = ~features.mask(num_actions)

    def learn(self, decisions: np.ndarray, iteration: int) -> None:
        """Makes a step on the mean of -log Pi(s, a) over decisions, ``[n]`` DECISION.

        Reference: Heinrich, Silver 2016, algorithm 1.

        Raises:
            TrainingError: If the loss is not finite.
        """
        rows = decisions["row"].astype(np.int64)
        actions = self.tensor(decisions["action"].astype(np.int64))
        is_illegal = self.tensor(self._is_illegal[rows])

        def loss(outputs: torch.Tensor) -> torch.Tensor:
            return torch.nn.functional.cross_entropy(outputs.masked_fill(is_illegal, -torch.inf), actions)

        self.step(self.inputs.index_select(0, self.tensor(rows)), loss, iteration)


class _Player(NamedTuple):
    features: Features
    values: ValueLearner
    policy: PolicyLearner
    transitions: RowBuffer  # the latest
    decisions: RowBuffer  # a uniform sample of all
    reservoir_rng: np.ndarray


class NFSP(NeuralSolver):
    """Neural fictitious self-play: best responses by Q-learning, and average policies by imitating them.

    An *iteration* is ``config.episodes`` episodes and the updates that are due in them. `losses` are those of the
    average policies, `value_losses` those of the action values.

    Args:
        game: A `pyspiel.Game`, a game string, or a `GameTree`. Any number of players, perfect recall, with
            information-state tensors, and of a size that can be compiled.
        config: An `NFSPConfig`; None: its defaults.
        seed: An integer for a repeatable run (bitwise identical on one machine), a numpy generator, or None. See
            `DeepCFR` for ``network``, ``optimizer`` and ``device``.

    Raises:
        GameError: If the game cannot be loaded or compiled, has no information-state tensors or imperfect recall.
        BudgetError: If it is too large to be compiled.
        ConfigError: If the config is of another class, or the seed is not allowed.

    Reference: Heinrich, Silver 2016, "Deep reinforcement learning from self-play in imperfect-information games",
    algorithm 1. Differs from it in tables of the networks' outputs, which are refreshed after `refresh_every`
    updates; in updates between episodes, as soon as they are due; and in Adam and its rates.

    Examples:
        >>> from mccfr_plus.neural import NFSP, NFSPConfig
        >>> solver = NFSP("kuhn_poker", NFSPConfig(episodes=500), seed=1).run(3)
        >>> solver.iterations, len(solver.average_policy())
        (3, 12)
    """

    config_class: ClassVar[type[NFSPConfig]] = NFSPConfig
    config: NFSPConfig

    def _build(self, seed: Seed) -> None:
        tree = self.tree
        rngs = new_states(seed, 1 + _RNGS_PER_PLAYER * tree.num_players)
        self._episodes = Episodes(tree, self.config.anticipatory, rngs[:1].copy())
        self._tables = Tables(self._strategy, np.zeros(tree.num_infosets, np.int32))
        self._updates = np.zeros(tree.num_players, np.int64)
        player_rngs = rngs[1:].reshape(-1, _RNGS_PER_PLAYER)
        self._players = [
            self._new_player(player, features, player_rngs[player].copy())
            for player, features in enumerate(features_of(tree))
        ]

    def _new_player(self, player: int, features: Features, rngs: np.ndarray) -> _Player:
        config, num_actions = self.config, self.tree.game.num_distinct_actions()
        training = TrainingConfig(hidden_layers=config.hidden_layers, gradient_clip=config.gradient_clip)
        value_training = dataclasses.replace(training, learning_rate=config.value_learning_rate)
        policy_training = dataclasses.replace(training, learning_rate=config.policy_learning_rate)
        value_name, policy_name = f"value loss of player {player}", f"policy loss of player {player}"
        unit = self._unit_of(player)
        return _Player(
            features=features,
            values=ValueLearner(features, num_actions, value_training, rngs[1:3], value_name, self._modules, unit),
            policy=PolicyLearner(features, num_actions, policy_training, rngs[3:5], policy_name, self._modules),
            transitions=RowBuffer({"records": np.zeros(config.transition_capacity, TRANSITION)}),
            decisions=RowBuffer({"records": np.zeros(config.decision_capacity, DECISION)}, rngs[:1]),
            reservoir_rng=rngs[:1],
        )

    # --- implementation of `NeuralSolver` ---

    def _advance(self, iteration: int) -> None:
        for player, own in enumerate(self._players):
            own.values.losses, own.policy.losses = [], []
            if iteration == 1:
                self._refresh_tables(player, iteration)
                self._renew_target(player)
        self._play_and_learn(iteration)

    def _play_and_learn(self, iteration: int) -> None:
        left = self.config.episodes
        while left > 0:
            left -= self._play(left)
            self._learn_if_due(iteration)

    def _play(self, episodes: int) -> int:
        """Plays until a player's updates are due, and stores the records; returns the number of episodes."""
        config, steps = self.config, self._episodes.steps
        epsilon = np.array([config.epsilon(count) for count in steps.tolist()])
        due = (self._updates + config.refresh_every) * config.learn_every
        done = self._episodes.play(self._tables, epsilon, due, episodes)
        for player, own in enumerate(self._players):
            own.transitions.add_rows(records=self._episodes.transitions(player))
            own.decisions.add_rows(records=self._episodes.decisions(player))
        return done

    def _learn_if_due(self, iteration: int) -> None:
        for player in range(self.tree.num_players):
            due = int(self._episodes.steps[player]) // self.config.learn_every - int(self._updates[player])
            if due >= self.config.refresh_every:
                self._learn(player, due, iteration)

    def _learn(self, player: int, count: int, iteration: int) -> None:
        """Makes a number of updates of a player, and refreshes its tables."""
        config, own = self.config, self._players[player]
        for _ in range(count):
            if len(own.transitions) >= config.min_samples:
                own.values.learn(own.values.draw_from(own.transitions, config.batch_size)["records"], iteration)
            if len(own.decisions) >= config.min_samples:
                own.policy.learn(own.policy.draw_from(own.decisions, config.batch_size)["records"], iteration)
            self._updates[player] += 1
            if self._updates[player] % config.target_every == 0:
                self._renew_target(player)
        self._refresh_tables(player, iteration)

    def _refresh_tables(self, player: int, iteration: int) -> None:
        """Fills a player's entries of the tables with the outputs of its networks."""
        features, values, policy = self._players[player][:3]
        infosets, begin = self.tree.arrays.infosets, int(self.tree.arrays.infoset_range[player])
        fill_softmax(policy.predict(iteration), features.actions, infosets, begin, self._tables.average)
        outputs = values.predict(iteration)
        find_best(outputs, features.actions, features.counts, self._tables.best[begin : begin + len(outputs)])

    def _renew_target(self, player: int) -> None:
        """Copies the network of values to the target network."""
        values = self._players[player].values
        is_legal = self._players[player].features.mask(self.tree.game.num_distinct_actions())
        values.target_values[:-1] = np.where(is_legal, values.predict(), -np.inf).max(axis=1)

    def _prepare(self) -> None:
        self._episodes.prepare()
        no_outputs = np.zeros((0, self.tree.game.num_distinct_actions()), np.float32)
        features = self._players[0].features
        fill_softmax(no_outputs, features.actions, self.tree.arrays.infosets, 0, self._tables.average)
        find_best(no_outputs, features.actions, features.counts, self._tables.best[:0])

    def _arrays(self) -> dict[str, np.ndarray]:
        arrays = {"strategy": self._strategy, "best": self._tables.best, "updates": self._updates}
        arrays |= {f"episodes/{name}": array for name, array in self._episodes.state().items()}
        for player, own in enumerate(self._players):
            arrays[f"player{player}/reservoir_rng"] = own.reservoir_rng
            arrays |= {f"player{player}/values/{name}": array for name, array in own.values.state().items()}
            arrays |= {f"player{player}/policy/{name}": array for name, array in own.policy.state().items()}
        return arrays

    def _memories(self) -> dict[str, Buffer]:
        memories: dict[str, Buffer] = {}
        for player, own in enumerate(self._players):
            memories |= {f"player{player}/transitions": own.transitions, f"player{player}/decisions": own.decisions}
        return memories

    def _step_losses(self) -> list[list[float]]:
        return [own.policy.losses for own in self._players]

    # --- results ---

    def average_strategy(self) -> np.ndarray:
        """Returns the average networks' strategy, ``[num_slots]`` float64; uniform before the first iteration."""
        return self._strategy.copy()

    def best_response_strategy(self) -> np.ndarray:
        """Returns the greedy strategy of the action values, ``[num_slots]`` float64."""
        strategy = np.zeros(self.tree.num_slots)
        strategy[self.tree.arrays.infosets["first_slot"] + self._tables.best] = 1.0
        return strategy

    def best_response_policy(self) -> TreePolicy:
        """Returns a copy of the greedy policy of the action values."""
        return TreePolicy(self.tree, self.best_response_strategy())

    @property
    def episodes(self) -> int:
        """Episodes played so far."""
        return self.iterations * self.config.episodes

    @property
    def nodes_touched(self) -> int:
        """Histories visited so far."""
        return self._episodes.nodes_touched

    @property
    def value_losses(self) -> tuple[float | None, ...]:
        """Per player, the mean loss of the action values in the last iteration; None if they were not trained."""
        return mean_losses(own.values.losses for own in self._players)
