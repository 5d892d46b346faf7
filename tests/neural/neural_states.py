"""States of neural solvers, networks and memories, as dicts of arrays: copied, compared, and how training fails."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np


def copy_of(thing: Any) -> dict[str, np.ndarray]:
    """Returns a copy of the state of something that has one."""
    return {name: array.copy() for name, array in thing.state().items()}


def differing(one: Any, other: Any) -> list[str]:
    """Returns the names of arrays that are not bitwise the same in two states, or in those of two things."""
    states = [dict(each if isinstance(each, dict) else each.state()) for each in (one, other)]
    found = [{name: (array.dtype, array.shape, array.tobytes()) for name, array in state.items()} for state in states]
    return sorted(name for name in found[0].keys() | found[1].keys() if found[0].get(name) != found[1].get(name))


def failing_at_the_third_call(function: Callable, error: str) -> tuple[Callable, list]:
    """Returns a module's `forward` that then returns NaN or interrupts, and the list to which each call is added."""
    calls: list = []

    def call(*arguments: Any) -> Any:
        calls.append(function(*arguments))
        if len(calls) < 3:
            return calls[-1]
        if error == "nan":
            return calls[-1] * math.nan
        raise KeyboardInterrupt

    return call, calls


class OneFeature:
    """Stands for a `TreeEnv`: every player has the same information sets, and the same divisor of values."""

    def __init__(self, features: Any, unit: float = 4.0):
        self._features, self._unit, self.num_actions = features, unit, features.masks.shape[1]

    @property
    def features(self) -> Any:
        return self

    def __getitem__(self, player: int) -> Any:
        return self._features

    def inputs_of(self, player: int) -> np.ndarray:
        return self._features.tensors

    def unit_of(self, player: int, is_scaled: bool) -> float:
        return self._unit
