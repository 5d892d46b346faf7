"""The kinds of kernels: the one place that owns the options of Numba's compiler."""

import contextlib
import gc
import logging
import threading
import time
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import numba
from numba.core import config, types
from numba.core.registry import CPUDispatcher

from mccfr_plus.kernels.disk_cache import DiskCache
from mccfr_plus.kernels.interrupts import deferred_signals
from mccfr_plus.kernels.pipeline import AllocatingCompiler, InlineCompiler, KernelCompiler

logger = logging.getLogger("mccfr_plus")

# Kernels never raise, so Python's error model (a check at each division) would only cost time.
_OPTIONS: dict[str, Any] = {"error_model": "numpy", "nogil": True, "no_cfunc_wrapper": True}

# What only kernels call needs no wrapper for Python, which takes longer to compile than most kernels themselves.
_INLINE_OPTIONS: dict[str, Any] = {"forceinline": True, "no_cpython_wrapper": True}

_NOTICE_AFTER = 1.0  # seconds; loading from the disk takes less


def kernel(function: Callable) -> Any:
    """Returns the function as a kernel: compiled by Numba when it is first called, and kept on disk.

    It has no reference counts, and so must not make arrays.
    """
    return _dispatcher(function, KernelCompiler)


def allocating_kernel(function: Callable) -> Any:
    """Returns the function as a kernel that may make arrays. No other kind may get arrays from it."""
    return _dispatcher(function, AllocatingCompiler)


def may_make_arrays(function: Any) -> bool:
    """Returns whether a function is an `allocating_kernel`."""
    return isinstance(function, _Kernel) and function._compiler.pipeline_class is AllocatingCompiler  # type: ignore[attr-defined]


def inline_kernel(function: Callable) -> Any:
    """Returns the function as a kernel that is inlined where it is called, by other kernels only.

    It is for what runs per node or infoset: a call passes bundles of arrays, for ten times the cost of the work itself.
    """
    return _dispatcher(function, InlineCompiler)


def expression_kernel(function: Callable) -> Any:
    """Returns an inline kernel without branches, which Numba compiles where it is called, and not on its own.

    It is for what takes bundles of arrays and reads little of them: compiling that on its own takes longer.
    """
    return _dispatcher(function, InlineCompiler, inline="always")


def _dispatcher(function: Callable, compiler: type, **options: Any) -> Any:
    is_inline = compiler is InlineCompiler
    options = _OPTIONS | (_INLINE_OPTIONS if is_inline else {}) | options
    dispatcher = numba.njit(**options, pipeline_class=compiler)(function)
    if isinstance(dispatcher, CPUDispatcher):  # or it is the plain function, where compilation is switched off
        dispatcher.__class__ = _InlineKernel if is_inline else _Kernel
        dispatcher._cache = DiskCache(dispatcher)  # type: ignore[attr-defined]
    return dispatcher


class _Kernel(CPUDispatcher):
    _cache: Any

    def compile(self, sig: Any) -> Any:
        """Compiles a version or loads it. Signals wait meanwhile, because Numba turns them into other errors."""
        if isinstance(self._cache, DiskCache) and self._cache.holds(sig, self.targetctx):  # a sent kernel has another
            return super().compile(sig)
        was_enabled = gc.isenabled()
        gc.disable()  # 6 % of a first start: compilation makes millions of objects that stay
        try:
            with deferred_signals():
                return super().compile(sig)
        finally:
            if was_enabled:
                gc.enable()

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Compiles a version for types only: by default, one more is compiled for each constant that is passed."""
        named = {name: types.unliteral(kind) for name, kind in kws.items()}
        return super().get_call_template([types.unliteral(kind) for kind in args], named)


class _InlineKernel(_Kernel):
    """A kernel without a wrapper for Python; Python calls a copy that has one."""

    _callable: Any = None

    def add_overload(self, cres: Any) -> None:
        self.overloads[tuple(cres.signature.args)] = cres

    def __call__(self, *arguments: Any) -> Any:
        if self._callable is None:
            self._callable = kernel(self.py_func)
        return self._callable(*arguments)


def recompiled(like: Any, function: Callable) -> Any:
    """Returns a function as a kernel of the same kind as another kernel; a user-defined one may make arrays."""
    compiler = getattr(getattr(like, "_compiler", None), "pipeline_class", None)
    if compiler is InlineCompiler and "inline" in like.targetoptions:
        return expression_kernel(function)
    return _dispatcher(function, compiler if compiler in (InlineCompiler, KernelCompiler) else AllocatingCompiler)


def source_of(kernel: Any) -> Any:
    """Returns the Python function of a kernel: itself where compilation is switched off."""
    return getattr(kernel, "py_func", kernel)


def is_kernel(value: Any) -> bool:
    """Returns whether a value is a kernel: a function that Numba compiles."""
    if isinstance(getattr(value, "py_func", None), FunctionType):
        return True
    return getattr(config, "DISABLE_JIT", 0) == 1 and isinstance(value, FunctionType)


def is_no_notice(record: logging.LogRecord) -> bool:
    """Returns whether a record is another one than that something is compiled; for filters."""
    return not record.getMessage().startswith("compiling ")


@contextlib.contextmanager
def announce_compilation(function: Any, what: str = "a kernel", about: float = 3.0) -> Iterator[None]:
    """Logs that a kernel is compiled, and how long that took, if the ``with`` block takes so long that it must be.

    `about` is how many seconds this takes, as a rule.
    """
    if getattr(function, "overloads", True):  # compiled or loaded, or a plain function: compilation is switched off
        yield
        return
    is_kept = getattr(getattr(function, "_cache", None), "digest", None) is not None
    once = "once" if is_kept else "in every process, as its code cannot be identified"
    begin = time.monotonic()
    timer = threading.Timer(_NOTICE_AFTER, logger.warning, [f"compiling {what}, {once}: about {about:.0f} s"])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        if timer.is_alive():
            timer.cancel()
        else:
            logger.info("compiled %s in %.1f s", what, time.monotonic() - begin)
