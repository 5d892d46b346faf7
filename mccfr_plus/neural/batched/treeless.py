"""What solvers share that have no tree: no exploitability, and policies that are networks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyspiel

from mccfr_plus.errors import ConfigError
from mccfr_plus.kernels.random_numbers import next_word
from mccfr_plus.neural.batched.observer import Observer
from mccfr_plus.neural.buffer import draw_positions, reservoir_places
from mccfr_plus.neural.runner import NeuralSolver, config_or_default
from mccfr_plus.tree.game import load_game


class TreelessSolver(NeuralSolver):
    """A solver that asks pyspiel for everything.

    Args:
        game: A `pyspiel.Game` or a game string: players in turn, with information-state tensors.
        config: A config of the subclass's `config_class`; None: its defaults.
        seed: An integer for a repeatable run (the same bits on one machine), a numpy generator, or None.

    Raises:
        GameError: If the game cannot be loaded or has no information-state tensors.
        ConfigError: If the config is none.
    """

    _rng: np.ndarray  # [1] uint64, which the subclass sets: of histories

    def __init__(self, game: pyspiel.Game | str, config: Any, seed: int | np.random.Generator | None):
        self._name = type(self).__name__
        self.config = config_or_default(config, self.config_class)
        self.tree = None  # type: ignore[assignment]
        self.game = load_game(game)
        self._observer = Observer(self.game, self._name)
        self._start(seed)
        half_range = (self.game.max_utility() - self.game.min_utility()) / 2.0
        self._unit = half_range if self.config.scale_targets and half_range > 0.0 else 1.0
        self._nodes = np.zeros(1, np.int64)

    def _new_rng(self) -> np.random.Generator:
        """Returns a generator of its own for some histories."""
        return np.random.default_rng(int(next_word(self._rng)))

    def _prepare(self) -> None:
        reservoir_places(0, 1, np.zeros(1, np.uint64), np.zeros(0, np.int64))
        draw_positions(1, np.zeros(1, np.uint64), np.zeros(1, np.int64))

    def run(self, *arguments: Any, **options: Any) -> Any:
        if options.get("target_exploitability") is not None or options.get("evaluate_every") is not None:
            raise ConfigError(
                f"{self._name} cannot compute an exploitability: leave target_exploitability and evaluate_every out, give "
                "iterations or seconds, and compare policies by mccfr_plus.evaluation."
            )
        return super().run(*arguments, **options)

    run.__doc__ = NeuralSolver.run.__doc__

    @property
    def nodes_touched(self) -> int:
        """Histories visited so far."""
        return int(self._nodes[0])
