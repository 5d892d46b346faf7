"""The one place that owns the options of Numba's compiler, composes kernels, and keeps them on disk.

No kernel calls itself: a cached self-recursive kernel crashes the next process (numba issue 6061), so every traversal
has its own stack.
"""

import contextlib
import dis
import functools
import hashlib
import logging
import threading
import time
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import numba
from numba.core import config, types
from numba.core.compiler import Compiler
from numba.core.registry import CPUDispatcher

from mccfr_plus.errors import ConfigError
from mccfr_plus.kernels.disk_cache import DiskCache, InlineCache, digest_of, names_of
from mccfr_plus.kernels.interrupts import deferred_signals
from mccfr_plus.kernels.pipeline import InlineCompiler, KernelCompiler

logger = logging.getLogger("mccfr_plus")

# Kernels never raise, so Python's error model (a check at each division) would only cost time.
_OPTIONS: dict[str, Any] = {"error_model": "numpy", "nogil": True, "no_cfunc_wrapper": True}

# What only kernels call needs no wrapper for Python, which takes longer to compile than most kernels themselves.
_INLINE_OPTIONS = {**_OPTIONS, "forceinline": True, "no_cpython_wrapper": True}

_NOTICE_AFTER = 1.0  # seconds; loading from the disk takes less


def kernel(function: Callable) -> Any:
    """Returns the function as a kernel: compiled by Numba when it is first called, and kept on disk.

    It has no reference counts, and so must not make arrays.
    """
    return _dispatcher(function, _Kernel, DiskCache, _OPTIONS, KernelCompiler)


def allocating_kernel(function: Callable) -> Any:
    """Returns the function as a kernel that may make arrays. No other kind may get arrays from it."""
    return _dispatcher(function, _Kernel, DiskCache, _OPTIONS, Compiler)


def may_make_arrays(function: Any) -> bool:
    """Returns whether a function is an `allocating_kernel`."""
    return isinstance(function, _Kernel) and function._compiler.pipeline_class is Compiler  # type: ignore[attr-defined]


def inline_kernel(function: Callable) -> Any:
    """Returns the function as a kernel that is inlined where it is called, by other kernels only.

    It is for what runs per node or infoset: a call passes bundles of arrays, which was measured to cost ten times as
    much as the work itself.
    """
    return _dispatcher(function, _InlineKernel, InlineCache, _INLINE_OPTIONS, InlineCompiler)


def expression_kernel(function: Callable) -> Any:
    """Returns an inline kernel without branches, which Numba compiles where it is called, and not on its own.

    It is for what takes bundles of arrays and reads little of them: compiling that on its own takes longer.
    """
    return _dispatcher(function, _InlineKernel, InlineCache, {**_INLINE_OPTIONS, "inline": "always"}, InlineCompiler)


def _dispatcher(function: Callable, kind: type, cache: type[DiskCache], options: dict, compiler: type) -> Any:
    dispatcher = numba.njit(**options, pipeline_class=compiler)(function)
    if isinstance(dispatcher, CPUDispatcher):  # or it is the plain function, where compilation is switched off
        dispatcher.__class__ = kind
        dispatcher._cache = cache(dispatcher)  # type: ignore[attr-defined]
    return dispatcher


class _Kernel(CPUDispatcher):
    _cache: Any

    def compile(self, sig: Any) -> Any:
        """Compiles a version or loads it. Signals wait meanwhile: Numba would turn them into other errors."""
        if isinstance(self._cache, DiskCache) and self._cache.holds(sig, self.targetctx):  # a sent kernel has another
            return super().compile(sig)
        with deferred_signals():
            return super().compile(sig)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Compiles a version for types only: by default, one more is compiled for each constant that is passed."""
        return super().get_call_template(
            [types.unliteral(kind) for kind in args], {name: types.unliteral(kind) for name, kind in kws.items()}
        )


class _InlineKernel(_Kernel):
    """A kernel without a wrapper for Python; Python calls a copy that has one."""

    _callable: Any = None

    def add_overload(self, cres: Any) -> None:
        """Adds a compiled version, without an entry for Python."""
        self.overloads[tuple(cres.signature.args)] = cres

    def __call__(self, *arguments: Any) -> Any:
        if self._callable is None:
            self._callable = kernel(self.py_func)
        return self._callable(*arguments)


_composed: dict[tuple, tuple[Any, dict[str, Any]]] = {}  # the names are kept alive, as the key holds their ids


def compose(function: Any, *, strict: bool = True, **names: Any) -> Any:
    """Returns a kernel in which some global names mean something else, in it and in all that it calls.

    This is how estimators, minimizers and averages, built-in or user-defined, and the rules of games get into the
    loops: one source, one compiled kernel per combination. Passing functions as arguments would do the same, but Numba
    does not keep such kernels on disk. The same names give the same kernel.

    Args:
        strict: Whether each name must occur.
        **names: Global names, and the kernels or constants that they mean.

    Raises:
        ConfigError: If a name does not mean in all of them what is to be replaced: a user-defined component may have a
            global of the same name for something else.
        ValueError: If a name occurs nowhere and `strict` is set.

    Examples:
        >>> @kernel
        ... def scaled(x):
        ...     return SCALE * x
        >>> compose(scaled, SCALE=2.0)(3.0)
        6.0
    """
    used: dict[str, FunctionType] = {}
    composed = _compose(function, names, used, ())
    if strict and set(used) != set(names):
        raise ValueError(f"{_source(function).__name__} does not use {', '.join(sorted(set(names) - set(used)))}")
    return composed


def _compose(function: Any, names: dict[str, Any], used: dict[str, FunctionType], callers: tuple[Any, ...]) -> Any:
    """Returns the kernel; enters in `used` which function was the first to use each name."""
    source = _source(function)
    callers, replacements = (*callers, function), {}
    for name in sorted(names_of(source.__code__)):
        if name in names:
            first = used.setdefault(name, source)
            if source.__globals__.get(name, names) is not names[name]:
                _require_same_meaning(name, names[name], source, first)
                replacements[name] = names[name]
        elif _is_kernel(called := source.__globals__.get(name)):
            if called in callers:
                _require_attribute(name, source)
                continue
            inner = _compose(called, names, used, callers)
            if inner is not called:
                replacements[name] = inner
    if not replacements:
        return function
    key = (source, tuple((name, id(value)) for name, value in replacements.items()))
    if key not in _composed:
        copy = FunctionType(
            source.__code__,
            {**source.__globals__, **replacements},
            source.__name__,
            source.__defaults__,
            source.__closure__,
        )
        # Numba names symbols after this: different kernels of one source must not share a symbol, also when some of
        # them are loaded from the disk. The name of the source tells what was composed into it before.
        label = ";".join([source.__qualname__, *(f"{name}={_label(value)}" for name, value in replacements.items())])
        copy.__qualname__ = f"{source.__name__}_{hashlib.sha256(label.encode()).hexdigest()[:16]}"
        _composed[key] = _kind_of(function)(copy), replacements
    return _composed[key][0]


def _require_attribute(name: str, source: FunctionType) -> None:
    """Raises ConfigError if code calls the global of this name; it may be that of an attribute, as in ``np.clip``."""
    if any(each.opname == "LOAD_GLOBAL" and each.argval == name for each in dis.get_instructions(source)):
        raise ConfigError(
            f"The kernel {source.__name__} calls {name}, from which it was called: kernels that call themselves crash "
            "when they are loaded from the disk. Write a loop, with a stack if need be."
        )


def _require_same_meaning(name: str, new: Any, source: FunctionType, first: FunctionType) -> None:
    """Raises ConfigError if a global that is to be replaced is something else, there or in the first function."""
    if name not in source.__globals__:
        return
    old, expected = source.__globals__[name], first.__globals__.get(name, new)
    if old is expected or expected is new:
        is_same = len(_parameters(old)) == len(_parameters(new))
    else:
        is_same = not _is_kernel(old) and old == expected
    if is_same and _is_kernel(old) == _is_kernel(new):
        return
    if source.__module__.startswith("mccfr_plus."):  # the global is right, so that the user-defined kernel is not
        raise ConfigError(
            f"{new!r} cannot be {name}, which is a kernel of ({', '.join(_parameters(old))}): "
            "compile it with numba.njit, and give it these parameters."
        )
    where = dict.fromkeys(f"{each.__module__}.{each.__name__}" for each in (first, source))
    what = f"a kernel of ({', '.join(_parameters(new))})" if _is_kernel(new) else "a constant"
    raise ConfigError(
        f"The global {name} of {' and '.join(where)} is not what is composed into kernels by this name, which is "
        f"{what}. Give your own one another name."
    )


def _parameters(value: Any) -> tuple[str, ...]:
    """Returns the names of a kernel's parameters; none for a constant."""
    code = getattr(_source(value), "__code__", None)
    return code.co_varnames[: code.co_argcount] if code else ()


def _kind_of(function: Any) -> Callable:
    """Returns the decorator for a copy of a kernel; a user-defined one may make arrays."""
    compiler: Any = getattr(getattr(function, "_compiler", None), "pipeline_class", None)
    if compiler is InlineCompiler and "inline" in function.targetoptions:
        return expression_kernel
    return {InlineCompiler: inline_kernel, KernelCompiler: kernel}.get(compiler, allocating_kernel)


def _source(function: Any) -> Any:
    return getattr(function, "py_func", function)  # the function itself where compilation is switched off


def _is_kernel(value: Any) -> bool:
    if isinstance(getattr(value, "py_func", None), FunctionType):
        return True
    return getattr(config, "DISABLE_JIT", 0) == 1 and isinstance(value, FunctionType)


def _label(value: Any) -> str:
    source = _source(value)
    if isinstance(source, FunctionType):
        return f"{source.__module__}.{source.__qualname__}.{_digest(source)}"
    return repr(value)


@functools.cache
def _digest(function: FunctionType) -> str | None:
    return digest_of(function)


def is_no_notice(record: logging.LogRecord) -> bool:
    """Returns whether a record is another one than that something is compiled; for filters."""
    return not record.getMessage().startswith("compiling ")


@contextlib.contextmanager
def announce_compilation(function: Any, what: str = "a kernel", about: float = 3.0) -> Iterator[None]:
    """Logs what is compiled, and how long it took, if what runs inside takes so long that it must be compiling.

    Args:
        function: The kernel that runs inside.
        what: What is compiled, such as ``"external + rm"``.
        about: How many seconds this takes, as a rule.
    """
    # What is compiled or loaded already in this process; a plain function where compilation is switched off.
    if getattr(function, "overloads", True):
        yield
        return
    cache = getattr(function, "_cache", None)
    once = "in every process, as its code cannot be identified" if getattr(cache, "is_off", False) else "once"
    begin = time.monotonic()
    text = f"compiling {what}, {once}: about {about:.0f} s"
    timer = threading.Timer(_NOTICE_AFTER, logger.warning, [text])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        if timer.is_alive():
            timer.cancel()
        else:
            logger.info("compiled %s in %.1f s", what, time.monotonic() - begin)
