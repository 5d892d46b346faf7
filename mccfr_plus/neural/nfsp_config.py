"""Settings of NFSP."""

from __future__ import annotations

import math
from dataclasses import dataclass

from mccfr_plus.errors import ConfigError
from mccfr_plus.neural.settings import Probability, Settings, Threads


@dataclass(frozen=True, kw_only=True)
class NFSPConfig(Settings):
    """Settings of `NFSP`.

    A player's *steps* are its decisions and the ends of episodes, as OpenSpiel's agents count them. An *update* is one
    training step of each of its two networks.

    Episodes cost little beside training. So the defaults train less per episode, on more recent transitions, than the
    sources: in Leduc poker exploitability was 0.24 after 33 CPU seconds, and 0.77 with ``learn_every=64,
    batch_size=128, target_every=300, transition_capacity=200_000, anticipatory=0.1``.

    Args:
        episodes: Episodes per iteration.
        parallel_episodes: How many episodes are played in parallel. Updates are made after them, as many as the sources
            make meanwhile.
        hidden_layers: Widths of the hidden layers of both networks; ``()`` for linear models.
        value_learning_rate: Step size of Adam for the action values of the best response.
        policy_learning_rate: Step size of Adam for the average policy.
        batch_size: Transitions, and decisions, per update. If a memory holds no more, an update takes all of it.
        learn_every: Steps of a player between two of its updates.
        target_every: Updates between two copies of the value network to the target network.
        min_samples: The smallest number of samples in a memory from which a network is trained.
        transition_capacity: The largest number of transitions per player, the latest (M_RL).
        decision_capacity: The largest number of best-response decisions per player, a uniform sample of all (M_SL).
        anticipatory: Probability with which a player plays its best response in an episode, and not its average policy
            (eta).
        epsilon_start: Probability with which the best response plays a uniform action, at first.
        epsilon_end: The limit of that probability.
        epsilon_decay: Steps of a player after which the distance to the limit has shrunk by a factor of e.
        scale_targets: Whether the unit of values is half the player's payoff range, so that training does not depend on
            the unit of payoffs.
        gradient_clip: The largest norm of a gradient; larger ones are scaled down to it. None: no limit.
        threads: The number of threads of torch. At these sizes more than one gains little, and resumed runs are bitwise
            identical with one only.

    Raises:
        ConfigError: If a value is out of range, or two of them do not go together.

    Reference: Heinrich, Silver 2016, "Deep reinforcement learning from self-play in imperfect-information games",
    section 4.1 (Leduc hold'em), and OpenSpiel's ``python/examples/nfsp_leduc_pytorch.py``.

    Examples:
        >>> from mccfr_plus.neural import NFSPConfig
        >>> NFSPConfig(anticipatory=0.2).hidden_layers
        (128,)
    """

    episodes: int = 10_000
    parallel_episodes: int = 1250
    hidden_layers: tuple[int, ...] = (128,)
    value_learning_rate: float = 3e-3
    policy_learning_rate: float = 3e-3
    batch_size: int = 512
    learn_every: int = 1024
    target_every: int = 50
    min_samples: int = 1000
    transition_capacity: int = 50_000
    decision_capacity: int = 2_000_000
    anticipatory: Probability = 0.3
    epsilon_start: Probability = 0.06
    epsilon_end: Probability = 0.001
    epsilon_decay: int = 20_000_000
    scale_targets: bool = True
    gradient_clip: float | None = None
    threads: Threads = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.epsilon_end > self.epsilon_start:
            raise ConfigError(
                f"epsilon_end={self.epsilon_end} is above epsilon_start={self.epsilon_start}: exploration can only "
                "become less. Give a smaller epsilon_end, or the same for a constant one."
            )
        for name in ("transition_capacity", "decision_capacity"):
            capacity = getattr(self, name)
            for need in ("batch_size", "min_samples"):
                if capacity < getattr(self, need):
                    raise ConfigError(
                        f"{name}={capacity} is smaller than {need}={getattr(self, need)}: a memory could never "
                        f"hold enough. Give a larger {name} or a smaller {need}."
                    )

    def epsilon(self, steps: int) -> float:
        """Returns the best response's probability of exploration after a player's number of steps."""
        return self.epsilon_end + (self.epsilon_start - self.epsilon_end) * math.exp(-steps / self.epsilon_decay)


@dataclass(frozen=True, kw_only=True)
class BatchedNFSPConfig(NFSPConfig):
    """Settings of `BatchedNFSP`: see `NFSPConfig`."""

    episodes: int = 1000
    parallel_episodes: int = 500
    learn_every: int = 128
    decision_capacity: int = 1_000_000
    epsilon_decay: int = 1_000_000
