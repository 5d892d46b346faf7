"""The one place that owns the options of Numba's compiler.

`cache=True` keeps compiled kernels on disk, so that only the first start of a machine compiles. No kernel calls
itself: a cached self-recursive kernel crashes the next process (numba issue 6061), so every traversal has its own stack.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import types
import weakref
from collections.abc import Iterator
from typing import Any

import numba

from mccfr_plus.kernels.code_digest import digest_of

logger = logging.getLogger("mccfr_plus")

# Kernels never raise, so Python's error model (a check at each division) would only cost time.
kernel = numba.njit(cache=True, error_model="numpy", nogil=True)

# For what a kernel calls per node or per infoset. Without it each call passes bundles of arrays and counts their
# references with atomic operations, which was measured to cost ten times as much as the work itself.
inline_kernel = numba.njit(cache=True, error_model="numpy", nogil=True, forceinline=True)

_recompiled: weakref.WeakSet = weakref.WeakSet()
_announced: set[str] = set()

_NOTICE_AFTER = 1.0  # seconds; loading from the disk cache takes less


@contextlib.contextmanager
def announce_compilation(function: Any) -> Iterator[None]:
    """Logs a line if what runs inside takes so long that the function must be compiling for the first time."""
    # What is compiled or loaded already in this process; a plain function where compilation is switched off.
    if getattr(function, "overloads", True):
        yield
        return
    how_often = "in every process, because of your own parts" if function in _recompiled else "once on a machine"
    text = f"compiling the kernels: this happens {how_often} and takes about a minute"
    timer = threading.Timer(_NOTICE_AFTER, _log_once, [text])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _log_once(text: str) -> None:
    if text not in _announced:
        _announced.add(text)
        logger.warning(text)


def rebind(function: Any, **replacements: Any) -> Any:
    """Returns a kernel in which some of the functions that it calls by global name are others.

    This is how somebody's own part, or the rules of a game, get into the loops of the package, at their speed, from one
    source. Passing functions as arguments would do the same, but Numba does not keep such kernels on disk. What is
    returned is kept there under a name that contains a digest of the code of everything that it calls, so that a change
    anywhere compiles again; where that cannot be told, it is compiled in each process.

    Args:
        function: A kernel.
        **replacements: Global names of the kernel's module and what they are to mean, kernels as a rule.
    """
    source = getattr(function, "py_func", function)  # the function itself where compilation is switched off
    unknown = set(replacements) - set(source.__code__.co_names)
    if unknown:
        raise ValueError(f"{source.__name__} does not use {', '.join(sorted(unknown))}")
    twin = types.FunctionType(
        source.__code__,
        {**source.__globals__, **replacements},
        source.__name__,
        source.__defaults__,
        source.__closure__,
    )
    digest = digest_of(twin)
    if digest is not None:
        twin.__qualname__ = f"{source.__name__}_{digest}"  # which Numba names the file after
    rebound = numba.njit(error_model="numpy", nogil=True, cache=digest is not None)(twin)
    if digest is None:
        _recompiled.add(rebound)
    return rebound
