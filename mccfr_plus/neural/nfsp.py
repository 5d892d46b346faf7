"""Neural fictitious self-play: episodes in parallel, then the updates that are due."""

import dataclasses
import itertools
import math
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from mccfr_plus.neural.config import NFSPConfig
from mccfr_plus.neural.memory import Store, infoset_columns
from mccfr_plus.neural.network import Learner, Modules, torch
from mccfr_plus.neural.network_policy import SOFTMAX, greedy, masked_softmax
from mccfr_plus.neural.paths import Paths, Trajectories
from mccfr_plus.neural.representation import chunks
from mccfr_plus.neural.solver import NeuralSolver
from mccfr_plus.parameters import Seed, new_states


class NFSP(NeuralSolver):
    """Neural fictitious self-play: best responses by Q-learning, and average policies that imitate them.

    In an episode, a player follows its best response (epsilon-greedy in action values) with probability eta, and its
    average policy otherwise. An iteration consists of ``config.episodes`` episodes and the updates due in them.
    `losses` are the losses of the average policies. See `DeepCFR` for the arguments; the config is an `NFSPConfig`.

    Reference: Heinrich and Silver 2016, "Deep reinforcement learning from self-play in imperfect-information games",
    algorithm 1. The differences are that updates take place between parallel episodes, that Adam is used with its own
    rates, and that eta is 0.3 by default instead of 0.1.
    """

    config_class: ClassVar[type[NFSPConfig]] = NFSPConfig
    references: ClassVar[tuple[str, ...]] = ("heinrich2016deep",)
    config: NFSPConfig

    _players: list["Agent"]

    def _build(self, seed: Seed) -> None:
        representation = self.representation
        rngs = new_states(seed, 1 + 5 * representation.num_players)
        representation.rng[:] = rngs[:1]
        of_players = enumerate(rngs[1:].reshape(-1, 5).copy())
        self._players = [Agent(representation, self.config, player, own, self.modules) for player, own in of_players]
        self._steps = np.zeros(representation.num_players, np.int64)  # decisions and ends of episodes
        self._kept = {"steps": self._steps}

    def _advance(self, iteration: int) -> None:
        for own in self._players:
            own.losses = []
        for count in chunks(self.config.episodes, self.config.parallel_episodes):
            self._begin_phase("episodes")
            self._play(count)
            self._begin_phase("training")
            for steps, own in zip(self._steps.tolist(), self._players, strict=True):
                own.learn(steps // self.config.learn_every - int(own.updates[0]), iteration)

    def _play(self, count: int) -> None:
        """Plays episodes and stores them, in parallel where the same players follow their best responses."""
        representation, eta, players = self.representation, self.config.anticipatory, range(len(self._players))
        options = [[self._responses(player, is_best) for is_best in (False, True)] for player in players]
        combinations = list(itertools.product((False, True), repeat=len(players)))
        probabilities = [math.prod(eta if best else 1.0 - eta for best in is_best) for is_best in combinations]
        counts = np.random.default_rng(representation.new_seed()).multinomial(count, probabilities).tolist()
        for is_best, episodes in zip(combinations, counts, strict=True):
            for player in players if episodes else ():
                representation.use(player, options[player][is_best[player]])
            for paths in representation.sample(Trajectories(representation.strategies()), episodes, count):
                for player, own in enumerate(self._players):
                    own.store(paths, player, is_best[player])
                    decided = paths.traversals[paths.players == player]
                    self._steps[player] += len(decided) + len(np.unique(decided))  # decisions, ends of episodes

    def _responses(self, player: int, is_best: bool) -> Any:
        own = self._players[player]
        if not is_best:
            return self.representation.responses(player, own.policy, masked_softmax)
        epsilon = self.config.epsilon(int(self._steps[player]))

        def explored(outputs: np.ndarray, masks: np.ndarray) -> np.ndarray:
            return epsilon * masks / masks.sum(1, keepdims=True) + (1.0 - epsilon) * greedy(outputs, masks)

        return self.representation.responses(player, own.values, explored)

    def average_policy(self) -> Any:
        return self.representation.policy_of([own.policy for own in self._players], SOFTMAX)

    current_policy = average_policy  # all players learn at once


class Agent:
    """A player: `values` learns its best response by Q-learning with a `target` network, and `policy` imitates it.

    Of the generators' states ``rngs``, ``[5]`` uint64, the first is of the reservoir.
    """

    def __init__(self, representation: Any, config: NFSPConfig, player: int, rngs: np.ndarray, modules: Modules):
        self._config, self.unit = config, representation.unit_of(player, config.scale_targets)  # divisor of values
        sizes = representation.inputs[player], representation.num_actions
        of_values = dataclasses.replace(config, learning_rate=config.value_learning_rate)
        names = f"value loss of player {player}", f"policy loss of player {player}"
        self.values = Learner(*sizes, of_values, rngs[1:3], names[0], "values", modules)
        self.policy = Learner(*sizes, config, rngs[3:], names[1], "average", modules)
        self.target = Learner(*sizes, of_values, np.zeros(2, np.uint64), "target", "values", modules)
        self.target.assign(self.values)
        self.updates = np.zeros(1, np.int64)
        self.transitions = Transitions(infoset_columns(config.transition_capacity, *sizes), self.target)
        actions = {"actions": np.zeros(config.decision_capacity, np.int64)}
        self.decisions = Store(infoset_columns(config.decision_capacity, *sizes) | actions, rngs[:1])
        self.losses: list[float] = []  # of the average policy

    def store(self, paths: Paths, player: int, is_best_response: bool) -> None:
        """Stores the player's transitions of some episodes, and its decisions if it followed its best response."""
        own = np.flatnonzero(paths.players == player)
        is_last = (following := next_decisions(paths, own)) < 0
        next_infosets, next_masks = paths.infosets[following], paths.masks[following]
        next_infosets[is_last], next_masks[is_last] = 0, False
        rewards = np.where(is_last, paths.returns[paths.traversals[own], player] / self.unit, 0.0)
        taken = {"infosets": paths.infosets[own], "actions": paths.actions[own]}
        self.transitions.add_rows(**taken, rewards=rewards, next_infosets=next_infosets, next_masks=next_masks)
        if is_best_response:
            self.decisions.add_rows(**taken, masks=paths.masks[own])

    def learn(self, updates: int, iteration: int) -> None:
        """Makes updates, each of which is a step of both networks."""
        every, least = self._config.target_every, self._config.min_samples
        while updates > 0:
            steps = min(updates, every - int(self.updates[0]) % every)
            if len(self.transitions) >= least:
                self.values.fit(self.transitions, iteration, error_of_actions, steps)
            if len(self.decisions) >= least:
                self.losses += self.policy.fit(self.decisions, iteration, imitation_error, steps)
            self.updates += steps
            updates -= steps
            if self.updates[0] % every == 0:
                self.target.assign(self.values)

    def parts(self) -> dict[str, Any]:
        networks = {"values": self.values, "policy": self.policy, "target": self.target}
        memories = {"transitions": self.transitions, "decisions": self.decisions}
        return networks | memories | {"updates": self.updates}


def next_decisions(paths: Paths, own: np.ndarray) -> np.ndarray:
    """Returns for each of a player's decisions its next one in the trajectory, ``[n]`` int64; -1: none."""
    traversals, following = paths.traversals[own], np.full(len(own), -1)
    order = np.argsort(traversals, kind="stable")
    has_next = traversals[order[:-1]] == traversals[order[1:]]
    following[order[:-1][has_next]] = own[order[1:][has_next]]
    return following


class Transitions(Store):
    """A player's latest transitions. Targets are r + max_a' Q'(s', a') with the target network's Q'; r at the end."""

    def __init__(self, columns: dict[str, np.ndarray], target: Learner):
        capacity = len(columns["infosets"])
        following = {"next_infosets": columns["infosets"], "next_masks": columns["masks"]}
        taken = {"infosets": np.zeros_like(columns["infosets"]), "actions": np.zeros(capacity, np.int64)}
        super().__init__(following | taken | {"rewards": np.zeros(capacity, np.float32)})
        self._target = target

    def batches(self, size: int, iteration: int, rng: np.ndarray) -> Iterator[tuple[np.ndarray, ...]]:
        for following, masks, infosets, actions, rewards in super().batches(size, iteration, rng):
            after = np.where(masks, self._target.outputs(following), -np.inf).max(1)
            yield infosets, actions, (rewards + np.where(masks.any(1), after, 0.0)).astype(np.float32)


def error_of_actions(outputs: torch.Tensor, actions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    return (outputs.gather(1, actions[:, None]) - targets[:, None]).square().mean()


def imitation_error(outputs: torch.Tensor, masks: torch.Tensor, actions: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.cross_entropy(outputs.masked_fill(~masks, -torch.inf), actions)
