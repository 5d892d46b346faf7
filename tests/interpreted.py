"""Solvers whose loops run as plain Python, so that tests can try all combinations without compiling one.

A loop is composed as for the compiler, with the same components. Tests of components compare both bit by bit.
"""

from __future__ import annotations

import ctypes
import functools
import math
import time
from collections.abc import Callable

import numba
import numpy as np
import pytest

from mccfr_plus import Solver
from mccfr_plus.checks.sampler import plain
from mccfr_plus.kernels.barrier import SPINS
from mccfr_plus.kernels.intrinsics import call_yield, pointer
from mccfr_plus.kernels.slots import bind
from mccfr_plus.solver import engine
from mccfr_plus.trees.by_rules import rows, successors

_composed = engine.composed


@functools.lru_cache(1 << 16)
def _array_at(address, shape, dtype) -> np.ndarray:
    """Returns what `numba.carray` does, for a tenth of the time: rows of a game are looked at again and again."""
    memory = (ctypes.c_byte * (math.prod(shape) * np.dtype(dtype).itemsize)).from_address(address)
    return np.ndarray(shape, dtype, memory)


def _carray(address, shape, dtype) -> np.ndarray:
    return _array_at(address, tuple(map(int, shape)) if isinstance(shape, tuple) else (int(shape),), dtype)


def _words_at(address) -> np.ndarray:
    """Returns an array of int64 without an end, as kernels make them; none at address 0."""
    return _array_at(int(address), (1 << 40,), np.int64) if address else np.zeros(0, np.int64)


_REPLACEMENTS = {
    pointer: int,
    numba.carray: _carray,
    successors._words: _words_at,
    rows.symmetries_of: lambda expansion: _words_at(expansion[rows.SYMMETRIES]),
    # A thread that looks at a barrier in Python keeps the interpreter's lock from those it waits for.
    call_yield: lambda address: time.sleep(1e-5),
}


@functools.cache
def interpreted(kernel: Callable) -> Callable:
    """Returns a kernel as a Python function."""
    function = plain(bind(kernel, {SPINS: 1}, partial=True), _REPLACEMENTS)

    def run(*arguments):
        with np.errstate(all="ignore"):  # as compiled code does
            return function(*arguments)

    return run


def plain_solver(*arguments, **options) -> Solver:
    """Returns a solver whose loop runs as Python."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "composed", composed)
        return Solver(*arguments, **options)


def composed(*components, **options) -> Callable:
    """Returns a loop as a Python function; see `mccfr_plus.solver.config.composed`."""
    return interpreted(_composed(*components, **options))
