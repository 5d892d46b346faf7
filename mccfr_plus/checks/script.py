"""Kernels as plain Python, with draws that go through all outcomes one by one, each with its probability.

A kernel is Python before it is compiled. Here its functions are copied with other globals: each kernel becomes a Python
copy of itself, and the functions of `mccfr_plus.estimators.draws` take their results from a `Script`. The mean over all
scripts is an estimator's exact mean. Probabilities are those of the compiled draws, alias tables and rounding included.
"""

import math
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher
from numba.extending import _Intrinsic

from mccfr_plus.estimators import draws
from mccfr_plus.kernels import random_numbers as rng
from mccfr_plus.kernels.compile import names_of, source_of


class DrawsDirectly(Exception):
    """Raised for a kernel that draws by itself, and not through `mccfr_plus.estimators.draws`."""


class Script:
    """Determines draws: those in `choices`, then the first possible one. Records their probabilities."""

    def __init__(self) -> None:
        self.choices: list[int] = []
        self.chances: list[Sequence[float]] = []

    def choose(self, chances: Sequence[float]) -> int:
        """Returns the index of the next draw from a distribution."""
        position = len(self.chances)
        self.chances.append(chances)
        if position == len(self.choices):
            self.choices.append(next(i for i, chance in enumerate(chances) if chance > 0.0))
        return self.choices[position]


def all_outcomes(script: Script, run: Callable[[], Any]) -> Iterator[tuple[float, Any]]:
    """Yields (probability, result of `run`) for every possible outcome of the kernels that draw from the script."""
    script.choices = []
    while True:
        script.chances = []
        result = run()
        del script.choices[len(script.chances) :]  # a shorter traversal than the last one
        yield math.prod(c[i] for c, i in zip(script.chances, script.choices, strict=True)), result
        while script.choices:  # on to the next outcome of the last draw that has one
            chances, last = script.chances[len(script.choices) - 1], script.choices.pop()
            following = next((i for i in range(last + 1, len(chances)) if chances[i] > 0.0), None)
            if following is not None:
                script.choices.append(following)
                break
        else:
            return


def scripted_draws(script: Script) -> dict[Callable, Callable]:
    """Returns the replacement of each function of `mccfr_plus.estimators.draws`, and of the random generator's."""

    def draw_exploring(strategy, exploration, first, count, epsilon, rng):
        rows = slice(int(first), int(first + count))
        other = picking_chances(exploration[rows]) if len(exploration) else [1.0 / count] * int(count)
        usual = picking_chances(strategy[rows])
        return script.choose([epsilon * a + (1.0 - epsilon) * b for a, b in zip(other, usual, strict=True)])

    def draw_coin(probability, rng):
        chance = min(max(float(probability), 0.0), 1.0)
        return script.choose([1.0 - chance, chance]) == 1

    def draw_directly(*_):
        raise DrawsDirectly

    return {
        draws.draw_outcome: lambda chance, first, count, rng: script.choose(
            outcome_chances(chance[int(first) : int(first + count)])
        ),
        draws.draw_action: lambda strategy, first, count, rng: script.choose(
            picking_chances(strategy[int(first) : int(first + count)])
        ),
        draws.draw_exploring: draw_exploring,
        draws.draw_uniform: lambda count, rng: script.choose([1.0 / count] * int(count)),
        draws.draw_coin: draw_coin,
        rng.next_double: draw_directly,
        rng.next_word: draw_directly,
    }


def outcome_chances(rows: np.ndarray) -> list[float]:
    """Returns the probabilities that an alias table gives its outcomes; `rows` are those of one distribution."""
    chances = rows["accept"] / len(rows)
    np.add.at(chances, rows["alias"], (1.0 - rows["accept"]) / len(rows))
    return chances.tolist()


def picking_chances(weights: np.ndarray) -> list[float]:
    """Returns the probabilities with which `draw_action` draws, also from numbers that do not sum to 1."""
    if abs(float(np.sum(weights)) - 1.0) < 1e-9:  # a strategy: its own numbers, without the rounding of the sum
        return np.asarray(weights).tolist()
    ends = np.minimum(np.cumsum(weights), 1.0)
    chances = np.diff(np.maximum.accumulate(np.append(0.0, ends)))
    positive = np.flatnonzero(np.asarray(weights) > 0)
    last = int(positive[-1]) if len(positive) else 0
    chances[last] += 1.0 - ends[-1]
    return chances.tolist()


def plain(kernel: Callable, replacements: dict[Callable, Callable]) -> Callable:
    """Returns a kernel as a Python function that calls Python functions only, with some functions replaced."""
    copies: dict[int, Any] = {id(source_of(old)): new for old, new in replacements.items()}

    def copied(function: Any) -> Any:
        source = source_of(function)
        if id(source) not in copies:
            names, closure = dict(source.__globals__), source.__closure__
            cells = closure and tuple(types.CellType(translated(cell.cell_contents)) for cell in closure)
            copy = types.FunctionType(source.__code__, names, source.__name__, source.__defaults__, cells)
            copy.__kwdefaults__ = source.__kwdefaults__
            copies[id(source)] = copy  # before its callees are copied, which may call it
            for name in names_of(source.__code__) & set(names):
                names[name] = translated(names[name])
        return copies[id(source)]

    def translated(value: Any) -> Any:
        """Returns what the value of a global means in plain Python."""
        if isinstance(value, types.ModuleType):
            return _PlainModule(value, translated)
        # Where compilation is switched off kernels are plain functions.
        is_function = isinstance(value, types.FunctionType) and not value.__module__.startswith(("numpy", "numba"))
        if is_function or isinstance(value, Dispatcher):
            return copied(value)
        return copies.get(id(value), value) if isinstance(value, _Intrinsic) else value

    return copied(kernel)


class _PlainModule:
    """A module whose kernels are plain, for kernels that call ``module.function``."""

    def __init__(self, module: types.ModuleType, translated: Callable[[Any], Any]):
        self._module, self._translated = module, translated

    def __getattr__(self, name: str) -> Any:
        if self._module.__name__ in ("numpy.random", "random"):
            raise DrawsDirectly
        return self._translated(getattr(self._module, name))
