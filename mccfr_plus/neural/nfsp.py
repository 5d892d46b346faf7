"""Neural fictitious self-play on games that can be enumerated.

Each player has two networks: action values, whose epsilon-greedy policy is its best response to the others, and an
average policy, which imitates what its best response has done so far. Until the iteration's episodes are played:

1. Episodes are played on the tree by tables of what the networks say everywhere. In each, a player follows its best
   response with probability eta and its average policy otherwise. All transitions of a player go to its ring of the
   latest, decisions of its best response to its reservoir too.
2. A player that has made enough steps has its updates: one step of Q-learning on transitions and one of cross-entropy
   on decisions each; now and then the target network is renewed.
3. A forward pass of both networks over all of the player's information sets fills its tables.

The tables are why this is fast: a batch of one at each decision was nearly all of the time elsewhere.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np
import pyspiel

from mccfr_plus.kernels.random_numbers import new_states
from mccfr_plus.neural.buffer import Buffer, RowBuffer
from mccfr_plus.neural.choosing import fill_softmax, find_best
from mccfr_plus.neural.config import TrainingConfig
from mccfr_plus.neural.episodes import DECISION, TRANSITION, Episodes, Tables
from mccfr_plus.neural.features import Features, compile_with_tensors, features_of
from mccfr_plus.neural.nfsp_config import NFSPConfig
from mccfr_plus.neural.nfsp_learning import PolicyLearner, ValueLearner
from mccfr_plus.neural.runner import NeuralSolver, config_or_default
from mccfr_plus.policies.tree_policy import TreePolicy
from mccfr_plus.tree.game_tree import GameTree

_RNGS_PER_PLAYER = 5  # of the reservoir, and of initial parameters and of batches of either network


class _Player(NamedTuple):
    features: Features
    values: ValueLearner
    policy: PolicyLearner
    transitions: RowBuffer  # the latest
    decisions: RowBuffer  # a uniform sample of all
    reservoir_rng: np.ndarray


class NFSP(NeuralSolver):
    """Neural fictitious self-play: best responses by Q-learning, and average policies by imitating them.

    An *iteration* is ``config.episodes`` episodes and the updates that fall due in them. What `NeuralProgress.losses`
    has are the average policies' losses; `value_losses` has those of the action values.

    Args:
        game: A `pyspiel.Game`, a game string, or a `GameTree`. Any number of players, perfect recall, with
            information-state tensors, and of a size that can be compiled.
        config: An `NFSPConfig`; None: its defaults.
        seed: An integer for a repeatable run (the same bits on one machine), a numpy generator, or None.

    Raises:
        GameError: If the game cannot be loaded or compiled, has no information-state tensors or imperfect recall.
        BudgetError: If it is too large to be compiled.
        ConfigError: If the config is none, or the seed is not allowed.

    Reference: Heinrich, Silver 2016, "Deep reinforcement learning from self-play in imperfect-information games",
    algorithm 1. Differs from it in that networks answer for all information sets at once, by tables that are renewed
    after each update; that updates come between episodes, as soon as they are due; and in Adam and its rates.

    Example:
        >>> from mccfr_plus.neural import NFSP, NFSPConfig
        >>> solver = NFSP("kuhn_poker", NFSPConfig(episodes=500), seed=1).run(3)
        >>> solver.iterations, len(solver.average_policy())
        (3, 12)
    """

    config_class: ClassVar[type[NFSPConfig]] = NFSPConfig
    config: NFSPConfig

    def __init__(
        self,
        game: pyspiel.Game | str | GameTree,
        config: NFSPConfig | None = None,
        seed: int | np.random.Generator | None = None,
    ):
        name = type(self).__name__
        config = config_or_default(config, self.config_class)
        tree = compile_with_tensors(game, name)
        super().__init__(tree, config, seed)
        rngs = new_states(seed, 1 + _RNGS_PER_PLAYER * tree.num_players)
        self._episodes = Episodes(tree, config.anticipatory, rngs[:1].copy())
        self._tables = Tables(self._strategy, np.zeros(tree.num_infosets, np.int32))
        self._updates = np.zeros(tree.num_players, np.int64)
        self._players = [
            self._new_player(player, features, rngs[1 + _RNGS_PER_PLAYER * player :][:_RNGS_PER_PLAYER].copy())
            for player, features in enumerate(features_of(tree, name))
        ]

    def _new_player(self, player: int, features: Features, rngs: np.ndarray) -> _Player:
        config, num_actions = self.config, self.tree.game.num_distinct_actions()
        half_range = float(self.tree.payoff_range[player]) / 2.0
        return _Player(
            features=features,
            values=ValueLearner(
                features,
                num_actions,
                self._training_config(config.value_learning_rate),
                rngs[1:3],
                f"value loss of player {player}",
                half_range if config.scale_targets and half_range > 0.0 else 1.0,
            ),
            policy=PolicyLearner(
                features,
                num_actions,
                self._training_config(config.policy_learning_rate),
                rngs[3:5],
                f"policy loss of player {player}",
            ),
            transitions=RowBuffer({"records": np.zeros(config.transition_capacity, TRANSITION)}),
            decisions=RowBuffer({"records": np.zeros(config.decision_capacity, DECISION)}, rngs[:1]),
            reservoir_rng=rngs[:1],
        )

    def _training_config(self, learning_rate: float) -> TrainingConfig:
        config = self.config
        return TrainingConfig(
            hidden_layers=config.hidden_layers, learning_rate=learning_rate, gradient_clip=config.gradient_clip
        )

    # --- what `NeuralSolver` asks for ---

    def _advance(self, iteration: int) -> None:
        for player, part in enumerate(self._players):
            part.values.losses, part.policy.losses = [], []
            if iteration == 1:
                self._look(player, iteration)
                self._renew_target(player)
        self._play_and_learn(iteration)

    def _play_and_learn(self, iteration: int) -> None:
        left = self.config.episodes
        while left > 0:
            left -= self._play(left)
            self._learn_if_due(iteration)

    def _play(self, episodes: int) -> int:
        """Plays until somebody's updates are due, and remembers; returns how many episodes there were."""
        config, steps = self.config, self._episodes.steps
        epsilon = np.array([config.epsilon(count) for count in steps.tolist()])
        due = (self._updates + config.refresh_every) * config.learn_every
        done = self._episodes.play(self._tables, epsilon, due, episodes)
        for player, part in enumerate(self._players):
            part.transitions.add_rows(records=self._episodes.transitions(player))
            part.decisions.add_rows(records=self._episodes.decisions(player))
        return done

    def _learn_if_due(self, iteration: int) -> None:
        for player in range(self.tree.num_players):
            count = self._updates_due(player)
            if count >= self.config.refresh_every:
                self._learn(player, count, iteration)

    def _updates_due(self, player: int) -> int:
        return int(self._episodes.steps[player]) // self.config.learn_every - int(self._updates[player])

    def _learn(self, player: int, count: int, iteration: int) -> None:
        """Makes so many updates of a player, and looks at what its networks say then."""
        config, part = self.config, self._players[player]
        for _ in range(count):
            if len(part.transitions) >= config.min_samples:
                part.values.learn(part.values.draw_from(part.transitions, config.batch_size), iteration)
            if len(part.decisions) >= config.min_samples:
                part.policy.learn(part.policy.draw_from(part.decisions, config.batch_size), iteration)
            self._updates[player] += 1
            if self._updates[player] % config.target_every == 0:
                self._renew_target(player)
        self._look(player, iteration)

    def _look(self, player: int, iteration: int) -> None:
        """Fills a player's part of the tables with what its networks say."""
        features, values, policy = self._players[player][:3]
        infosets, begin = self.tree.arrays.infosets, int(self.tree.arrays.infoset_range[player])
        logits = policy.predict()
        policy.check_predictions(logits, iteration)
        fill_softmax(logits, features.actions, infosets, begin, self._tables.average)
        answers = values.predict()
        values.check_predictions(answers, iteration)
        find_best(answers, features.actions, features.counts, self._tables.best[begin : begin + len(answers)])

    def _renew_target(self, player: int) -> None:
        """Makes the target network the present network of values."""
        values = self._players[player].values
        is_legal = self._players[player].features.mask(self.tree.game.num_distinct_actions())
        values.target_values[:-1] = np.where(is_legal, values.predict(), -np.inf).max(axis=1)

    def _prepare(self) -> None:
        self._episodes.prepare()
        nothing = np.zeros((0, self.tree.game.num_distinct_actions()), np.float32)
        features = self._players[0].features
        fill_softmax(nothing, features.actions, self.tree.arrays.infosets, 0, self._tables.average)
        find_best(nothing, features.actions, features.counts, self._tables.best[:0])

    def _arrays(self) -> dict[str, np.ndarray]:
        arrays = {"strategy": self._strategy, "best": self._tables.best, "updates": self._updates}
        arrays |= {f"episodes/{name}": array for name, array in self._episodes.state().items()}
        for player, part in enumerate(self._players):
            arrays[f"player{player}/reservoir_rng"] = part.reservoir_rng
            arrays |= {f"player{player}/values/{name}": array for name, array in part.values.state().items()}
            arrays |= {f"player{player}/policy/{name}": array for name, array in part.policy.state().items()}
        return arrays

    def _memories(self) -> dict[str, Buffer]:
        memories: dict[str, Buffer] = {}
        for player, part in enumerate(self._players):
            memories |= {f"player{player}/transitions": part.transitions, f"player{player}/decisions": part.decisions}
        return memories

    # --- asking ---

    def average_strategy(self) -> np.ndarray:
        """Returns the average networks' strategy, ``[num_slots]`` float64; uniform before the first iteration."""
        return self._strategy.copy()  # `_average`, which is for sums, stays 0

    def best_response_strategy(self) -> np.ndarray:
        """Returns the greedy strategy of the action values, ``[num_slots]`` float64."""
        strategy = np.zeros(self.tree.num_slots)
        strategy[self.tree.arrays.infosets["first_slot"] + self._tables.best] = 1.0
        return strategy

    def average_policy(self) -> TreePolicy:
        """Returns the average networks' policy, which is what comes near an equilibrium. It owns its numbers."""
        return super().average_policy()

    def current_policy(self) -> TreePolicy:
        """Returns the same as `average_policy`: most of what the next iteration plays. It owns its numbers."""
        return super().current_policy()

    def best_response_policy(self) -> TreePolicy:
        """Returns the policy that plays the best action by the values learned everywhere. It owns its numbers."""
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
    def losses(self) -> tuple[float | None, ...]:
        """Per player, the mean loss of the average policy in the last iteration; None if it was not trained."""
        return tuple(_mean(part.policy.losses) for part in self._players)

    @property
    def value_losses(self) -> tuple[float | None, ...]:
        """Per player, the mean loss of the action values in the last iteration; None if they were not trained."""
        return tuple(_mean(part.values.losses) for part in self._players)


def _mean(losses: list[float]) -> float | None:
    return sum(losses) / len(losses) if losses else None
