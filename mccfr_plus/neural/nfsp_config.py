"""What `NFSP` is told: frozen, and checked when it is built."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mccfr_plus.errors import ConfigError
from mccfr_plus.neural.config import Settings, check_flag, check_layers, check_positive, check_whole


@dataclass(frozen=True, kw_only=True)
class NFSPConfig(Settings):
    """Settings of `NFSP`.

    Where a kernel plays the episodes they cost next to nothing beside the training, so that the defaults differ from
    those of the sources, in that best responses learn from more of what is played now. In Leduc poker with Adam at
    1e-3 and the sources' ``learn_every=64, batch_size=128, target_every=300, transition_capacity=200_000,
    anticipatory=0.1``, ``refresh_every=1``, exploitability was 0.77 after 33 CPU seconds; with these 0.24 (one seed).

    A player's *steps* are its decisions and the ends of episodes, which is how OpenSpiel's agents count theirs; an
    *update* is one training step of each of its two networks.

    Args:
        episodes: Per iteration. It only sets how often a run can stop, be evaluated or saved: what `NFSP` learns does
            not depend on it. (What `DistributedNFSP` learns does: it plays all of an iteration's by the same tables.)
        hidden_layers: Widths of the hidden layers of both networks; ``()`` for linear models.
        value_learning_rate: Of Adam, for the action values of the best response.
        policy_learning_rate: Of Adam, for the average policy.
        batch_size: Transitions, and decisions, per update. While a memory holds no more than this, an update takes all
            of it.
        learn_every: Steps of a player between two of its updates.
        refresh_every: Updates of a player between two looks at what its networks now say at all information sets, by
            which episodes are played; 1: after each.
        target_every: Updates between two renewals of the target network.
        min_samples: A network is not trained while its memory holds fewer.
        transition_capacity: Transitions per player that are kept, the latest (M_RL).
        decision_capacity: Decisions of the best response per player that are kept, a uniform sample of all (M_SL).
        anticipatory: Probability with which a player plays an episode by its best response; by the average policy
            otherwise (eta).
        epsilon_start: Probability with which the best response plays any action instead of the best one, at first.
        epsilon_end: What that probability tends to.
        epsilon_decay: After so many steps of a player it has come to ``1 / e`` of the way.
        scale_targets: Whether values are learned in units of half the player's payoff range, so that games for chips in
            thousands train like those for one.
        gradient_clip: The largest norm of a gradient; larger ones are scaled down to it. None: never.
        threads: How many threads torch may use. At these sizes more than one gains little, and only one promises the
            same bits after a resume.

    Raises:
        ConfigError: If a value is out of range, or two of them do not go together.

    Reference: Heinrich, Silver 2016, "Deep reinforcement learning from self-play in imperfect-information games",
    section 4.1 (Leduc hold'em), and OpenSpiel's ``python/examples/nfsp_leduc_pytorch.py``.

    Example:
        >>> from mccfr_plus.neural import NFSPConfig
        >>> NFSPConfig(anticipatory=0.2).hidden_layers
        (128,)
    """

    episodes: int = 10_000
    hidden_layers: tuple[int, ...] = (128,)
    value_learning_rate: float = 3e-3
    policy_learning_rate: float = 3e-3
    batch_size: int = 512
    learn_every: int = 1024
    refresh_every: int = 4
    target_every: int = 50
    min_samples: int = 1000
    transition_capacity: int = 50_000
    decision_capacity: int = 2_000_000
    anticipatory: float = 0.3
    epsilon_start: float = 0.06
    epsilon_end: float = 0.001
    epsilon_decay: int = 20_000_000
    scale_targets: bool = True
    gradient_clip: float | None = None
    threads: int = 1

    def __post_init__(self) -> None:
        check_layers("hidden_layers", self.hidden_layers)
        object.__setattr__(self, "hidden_layers", tuple(int(width) for width in self.hidden_layers))
        for name in ("episodes", "batch_size", "learn_every", "refresh_every", "target_every", "min_samples"):
            check_whole(name, getattr(self, name))
        for name in ("transition_capacity", "decision_capacity", "epsilon_decay", "threads"):
            check_whole(name, getattr(self, name))
        for name in ("value_learning_rate", "policy_learning_rate"):
            check_positive(name, getattr(self, name))
        if self.gradient_clip is not None:
            check_positive("gradient_clip", self.gradient_clip)
        for name in ("anticipatory", "epsilon_start", "epsilon_end"):
            check_probability(name, getattr(self, name))
        check_flag("scale_targets", self.scale_targets)
        self._check_together()

    def _check_together(self) -> None:
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
                        f"{name}={capacity} is smaller than {need}={getattr(self, need)}: so many samples would never "
                        f"be there. Give a larger {name} or a smaller {need}."
                    )

    def epsilon(self, steps: int) -> float:
        """Returns how likely the best response is to explore once its player has made so many steps."""
        return self.epsilon_end + (self.epsilon_start - self.epsilon_end) * math.exp(-steps / self.epsilon_decay)


def check_probability(name: str, value: Any) -> None:
    """Raises ConfigError if a value is no probability."""
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not is_number or not 0.0 <= value <= 1.0:
        raise ConfigError(f"{name}={value!r}: must be a probability, from 0 to 1.")
