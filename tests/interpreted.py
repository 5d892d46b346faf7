"""Solvers whose loops run as plain Python, so that tests can try all combinations without compiling one.

A loop is composed as for the compiler, with the same components. Tests of components compare both bit by bit.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from mccfr_plus.checks.script import plain
from mccfr_plus.kernels.scratch import at
from mccfr_plus.solver import engine

_composed = engine.composed


def checked(index) -> int:
    """Returns what `at` does, as Python indexes with it. Kernels do not wrap negative ones, and NumPy checks others."""
    if index < 0:
        raise IndexError(f"a kernel reads or writes at {index}")
    return int(index)


@functools.cache
def interpreted(kernel: Callable) -> Callable:
    """Returns a kernel as a Python function."""
    function = plain(kernel, {at: checked})

    def run(*arguments):
        with np.errstate(all="ignore"):  # as compiled code does
            return function(*arguments)

    return run


def composed(*components, **options) -> Callable:
    """Returns a loop as a Python function; see `mccfr_plus.kernels.loops.composed.composed`."""
    return interpreted(_composed(*components, **options))
