"""The base class of batched solvers."""

from __future__ import annotations

from typing import ClassVar

from mccfr_plus.neural.advantages import AdvantageSolver
from mccfr_plus.neural.batched.config import BatchedConfig
from mccfr_plus.neural.batched.env import BatchedEnv


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

    config_class: ClassVar[type] = BatchedConfig
    environment: ClassVar[type] = BatchedEnv
