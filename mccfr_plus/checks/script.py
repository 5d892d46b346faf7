"""Kernels as plain Python, with draws that go through all outcomes one by one, each with its probability.

A kernel is Python before it is compiled. Here its functions are copied with other globals: kernels become their Python
twins, and the functions of `mccfr_plus.estimators.draws` ask a `Script` what to draw. Summed up over all scripts, an
estimator's mean is exact. What the draws' twins give as probabilities is what the compiled draws do, down to their
tables and the rounding of sums.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher

from mccfr_plus.estimators import draws
from mccfr_plus.kernels import random_numbers as rng


class DrawsDirectly(Exception):
    """A kernel that draws by itself, and not through `mccfr_plus.estimators.draws`."""


class Script:
    """Draws what it is told, and after that the first that is possible; notes the probabilities."""

    def __init__(self) -> None:
        self.choices: list[int] = []
        self.chances: list[Sequence[float]] = []

    def begin(self) -> None:
        """Starts a run of the script."""
        self.chances = []

    def choose(self, chances: Sequence[float]) -> int:
        """Returns the index of what is drawn next from a distribution."""
        position = len(self.chances)
        self.chances.append(chances)
        if position == len(self.choices):
            self.choices.append(next(i for i, chance in enumerate(chances) if chance > 0.0))
        return self.choices[position]

    @property
    def probability(self) -> float:
        """Probability of all that was drawn in this run."""
        return math.prod(c[i] for c, i in zip(self.chances, self.choices, strict=True))

    def advance(self) -> bool:
        """Moves on to the next outcome. Returns whether there is one."""
        while self.choices:
            chances = self.chances[len(self.choices) - 1]
            rest = range(self.choices[-1] + 1, len(chances))
            following = next((i for i in rest if chances[i] > 0.0), None)
            if following is not None:
                self.choices[-1] = following
                return True
            self.choices.pop()
        return False


def all_outcomes(script: Script, run: Callable[[], Any]) -> Iterator[tuple[float, Any]]:
    """Yields (probability, what `run` returned) for every outcome that can happen.

    Args:
        script: The one that the kernels inside `run` ask.
        run: Does one traversal.
    """
    script.choices = []
    while True:
        script.begin()
        result = run()
        del script.choices[len(script.chances) :]  # a shorter traversal than the last one
        yield script.probability, result
        if not script.advance():
            return


def scripted_draws(script: Script) -> dict[Callable, Callable]:
    """Returns what is to stand in for each function of `mccfr_plus.estimators.draws`, and for drawing directly."""

    def draw_outcome(chance, first, count, rng):
        return script.choose(outcome_chances(chance[int(first) : int(first) + int(count)]))

    def draw_action(strategy, first, count, rng):
        return script.choose(picking_chances(strategy[int(first) : int(first) + int(count)]))

    def draw_exploring(strategy, exploration, first, count, epsilon, rng):
        rows = slice(int(first), int(first) + int(count))
        other = picking_chances(exploration[rows]) if len(exploration) else [1.0 / count] * int(count)
        usual = picking_chances(strategy[rows])
        return script.choose([epsilon * a + (1.0 - epsilon) * b for a, b in zip(other, usual, strict=True)])

    def draw_uniform(count, rng):
        return script.choose([1.0 / count] * int(count))

    def draw_coin(probability, rng):
        chance = min(max(float(probability), 0.0), 1.0)
        return script.choose([1.0 - chance, chance]) == 1

    def draw_directly(*_):
        raise DrawsDirectly

    return {
        draws.draw_outcome: draw_outcome,
        draws.draw_action: draw_action,
        draws.draw_exploring: draw_exploring,
        draws.draw_uniform: draw_uniform,
        draws.draw_coin: draw_coin,
        rng.next_double: draw_directly,
        rng.next_word: draw_directly,
    }


def outcome_chances(rows: np.ndarray) -> list[float]:
    """Returns what an alias table draws with which probability; `rows` are those of one distribution."""
    chances = rows["accept"] / len(rows)
    np.add.at(chances, rows["alias"], (1.0 - rows["accept"]) / len(rows))
    return chances.tolist()


def picking_chances(weights: np.ndarray) -> list[float]:
    """Returns with which probability `draw_action` draws what, also from numbers that do not sum to 1."""
    ends = np.minimum(np.cumsum(weights), 1.0)
    chances = np.diff(np.maximum.accumulate(np.append(0.0, ends)))
    if abs(float(np.sum(weights)) - 1.0) < 1e-9:  # a strategy: its own numbers, without the rounding of the sum
        return np.asarray(weights).tolist()
    positive = np.flatnonzero(np.asarray(weights) > 0)
    last = int(positive[-1]) if len(positive) else 0
    chances[last] += 1.0 - ends[-1]
    return chances.tolist()


def plain(kernel: Callable, replacements: dict[Callable, Callable]) -> Callable:
    """Returns a kernel as a Python function; so is everything that it calls.

    Args:
        kernel: A kernel, or a plain function where compilation is switched off.
        replacements: What is to stand in for some of the functions.
    """
    return _Translator(replacements).twin(kernel)


class _Translator:
    def __init__(self, replacements: dict[Callable, Callable]):
        self._twins: dict[int, Any] = {id(_source(k)): v for k, v in replacements.items()}

    def twin(self, function: Any) -> Any:
        source = _source(function)
        if id(source) in self._twins:
            return self._twins[id(source)]
        names: dict[str, Any] = {}
        copy = types.FunctionType(
            source.__code__, names, source.__name__, source.__defaults__, self._closure(source.__closure__)
        )
        copy.__kwdefaults__ = source.__kwdefaults__
        self._twins[id(source)] = copy  # before what it calls, which may call it
        names.update(source.__globals__)
        for name in _names_in(source.__code__) & set(names):
            names[name] = self.value(names[name])
        return copy

    def value(self, value: Any) -> Any:
        """Returns what a global name is to mean."""
        if _is_kernel(value):
            return self.twin(value)
        return _PlainModule(value, self) if isinstance(value, types.ModuleType) else value

    def _closure(self, cells: tuple | None) -> tuple | None:
        return None if cells is None else tuple(types.CellType(self.value(cell.cell_contents)) for cell in cells)


class _PlainModule:
    """A module whose kernels are plain, for kernels that call ``module.function``."""

    def __init__(self, module: types.ModuleType, translator: _Translator):
        self._module, self._translator = module, translator

    def __getattr__(self, name: str) -> Any:
        if self._module.__name__ in ("numpy.random", "random"):
            raise DrawsDirectly
        return self._translator.value(getattr(self._module, name))


def _source(function: Any) -> Any:
    return getattr(function, "py_func", function)


def _is_kernel(value: Any) -> bool:
    if isinstance(value, Dispatcher):
        return True
    # Where compilation is switched off kernels are plain functions.
    return isinstance(value, types.FunctionType) and not value.__module__.startswith(("numpy", "numba"))


def _names_in(code: types.CodeType) -> set[str]:
    """Returns the names that a function and those defined inside it use."""
    nested = (constant for constant in code.co_consts if isinstance(constant, types.CodeType))
    return set(code.co_names).union(*(_names_in(inner) for inner in nested))
