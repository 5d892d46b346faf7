"""Kernels: their kinds, the options of Numba's compiler, and compiled code on disk under a digest of all it depends on.

The digest covers the sources of this package, the source files of user-defined functions and of modules that they use,
and what is frozen into kernels: values of globals, of closures and of constants. Numba's own cache checks only the file
of the outermost function and lies beside it, where an installation empties it. This one lies in the user's cache
folder, or in ``NUMBA_CACHE_DIR``. Each compiled version is one file, so that processes need no lock.
"""

import contextlib
import enum
import functools
import gc
import hashlib
import linecache
import logging
import os
import pickle
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import caching, config, types
from numba.core.compiler import CompileResult, compile_result
from numba.core.errors import NumbaExperimentalFeatureWarning
from numba.core.registry import CPUDispatcher
from numba.core.runtime import rtsys
from numba.core.serialize import dumps
from numba.extending import _Intrinsic
from numba.misc.appdirs import AppDirs

from mccfr_plus.kernels.interrupts import deferred_signals
from mccfr_plus.kernels.pipeline import AllocatingCompiler, Constant, InlineCompiler, InlineLibrary, KernelCompiler

logger = logging.getLogger("mccfr_plus")

# Kernels never raise, so Python's error model (a check at each division) would only cost time.
_OPTIONS: dict[str, Any] = {"error_model": "numpy", "nogil": True, "no_cfunc_wrapper": True}

# What only kernels call needs no wrapper for Python, which takes longer to compile than most kernels themselves.
_INLINE_OPTIONS: dict[str, Any] = {"forceinline": True, "no_cpython_wrapper": True}

_NOTICE_AFTER = 1.0  # seconds; loading from the disk takes less

# Modules that stay the same as long as the versions of Python, NumPy and Numba do, which Numba looks at.
_TRUSTED = ("builtins", "math", "cmath", "ctypes", "_ctypes", "numpy", "numba", "llvmlite")
_PACKAGE = __name__.partition(".")[0]

# What a text tells apart.
_PLAIN = bool | int | float | complex | str | bytes | np.generic | np.dtype | numba.types.Type | ir.Type | Constant

_NOT_SET = object()  # what a closure refers to; it has no digest


def kernel(function: Callable) -> Any:
    """Returns the function as a kernel, compiled at its first call and kept on disk. It must not make arrays."""
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
        gc.disable()  # 6% of a first start: compilation makes millions of objects that stay
        try:
            with deferred_signals(), warnings.catch_warnings():
                # Numba warns where a process compiles a kernel for records that begin like those of another version.
                warnings.simplefilter("ignore", NumbaExperimentalFeatureWarning)
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
    """Logs that a kernel is compiled, if the block takes so long that it must be; `about` is its usual seconds."""
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


# --- compiled code on disk ---


def cache_folder() -> Path:
    """Returns the folder of the compiled kernels."""
    return Path(getattr(config, "CACHE_DIR", "") or AppDirs("mccfr_plus", appauthor=False).user_cache_dir) / "kernels"


class DiskCache(caching.NullCache):
    """The compiled versions of one kernel, in the place of Numba's own cache."""

    def __init__(self, kernel: Any):
        self._kernel = kernel
        self._is_inline = kernel._compiler.pipeline_class is InlineCompiler

    @functools.cached_property
    def digest(self) -> str | None:
        """The digest of the code, computed at first use: what the kernel calls may be defined later than itself."""
        return digest_of(self._kernel)

    def _path(self, sig: Any, codegen: Any) -> Path | None:
        if self.digest is None:
            return None
        key = repr((sig, codegen.magic_tuple(), numba.__version__, numba.__file__))
        version = hashlib.sha256(key.encode()).hexdigest()[:16]
        return cache_folder() / f"{self._kernel.py_func.__name__}-{self.digest}-{version}.nbc"

    def holds(self, sig: Any, target_context: Any) -> bool:
        path = self._path(sig, target_context.codegen())
        return path is not None and path.exists()

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        # Enough for compiled code: `target_context.refresh()` would import all that compiling needs, for 0.4 s.
        rtsys.initialize(target_context)
        path = self._path(sig, target_context.codegen())
        if path is None:
            return None
        rebuild = _rebuilt_inline if self._is_inline else CompileResult._rebuild
        try:
            return rebuild(target_context, *pickle.loads(path.read_bytes()))
        except Exception:  # there is none, or it was cut off when the machine lost its power: compiled again
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keeps a compiled version; it is compiled again in the next process if the folder cannot be written."""
        path = self._path(sig, data.codegen)
        if path is None or data.library.has_dynamic_globals or any(not lifted.can_cache for lifted in data.lifted):
            return
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=path.parent)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(dumps(_reduced_inline(data) if self._is_inline else data._reduce()))
                os.replace(temporary, path)
            except BaseException:
                os.unlink(temporary)
                raise


def _reduced_inline(result: Any) -> tuple:
    """Returns what is kept of an inline kernel, which has no machine code."""
    result.fndesc.typemap = result.fndesc.calltypes = None  # large, and not needed
    name, _, bitcode = result.library.serialize_using_bitcode()
    return name, bitcode, result.fndesc, result.signature


def _rebuilt_inline(target_context: Any, name: str, bitcode: bytes, descriptor: Any, signature: Any) -> Any:
    return compile_result(
        typing_context=target_context.typing_context,
        target_context=target_context,
        entry_point=object(),
        fndesc=descriptor,
        library=InlineLibrary.load(target_context.codegen(), name, bitcode),
        signature=signature,
        objectmode=False,
    )


# --- digests ---


class _UnknownSourceError(Exception):
    """The content of something in a kernel cannot be told."""


def digest_of(kernel: Any) -> str | None:
    """Returns a digest of a kernel and of everything that it calls, 16 hexadecimal digits.

    None if it contains something whose source cannot be identified: such kernels are compiled in every process.
    """
    try:
        return _hash(f"{package_digest()} {_described(kernel)}")[:16]
    except _UnknownSourceError:
        return None


@functools.cache
def package_digest() -> str:
    """Returns a digest of this package's sources."""
    digest = hashlib.sha256()
    folder = Path(__file__).parent.parent
    for path in sorted(folder.rglob("*.py")):
        digest.update(str(path.relative_to(folder)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _described(value: Any) -> str:
    """Returns a text that is the same for values of the same content only."""
    if isinstance(getattr(value, "py_func", None), FunctionType):  # a kernel: its compiler and options matter
        options = {**getattr(value, "targetoptions", {}), **getattr(value, "locals", {})}
        kind = getattr(getattr(value, "_compiler", None), "pipeline_class", type(None)).__name__
        sets = {name: sorted(map(str, each)) for name, each in options.items() if isinstance(each, set | frozenset)}
        texts = sorted(f"{name}={given!r}" for name, given in (options | sets).items())  # sets have no fixed order
        return f"{kind} {texts} {_described(value.py_func)}"
    if isinstance(value, _Intrinsic):
        return _described(value._defn)
    if isinstance(value, FunctionType):
        return "trusted" if _is_of(value.__module__, *_TRUSTED) else _of_function(value)
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return f"{value.dtype.descr}{value.shape}{hashlib.sha256(value.tobytes()).hexdigest()}"
    if isinstance(value, tuple | list):
        return f"{type(value).__name__}[{' '.join(map(_described, value))}]"
    if isinstance(value, frozenset):
        return f"frozenset{sorted(map(_described, value))}"
    if isinstance(value, enum.Enum):
        return f"{_described(type(value))}.{value.name}"
    if value is None or isinstance(value, _PLAIN):
        return f"{type(value).__name__} {value!r}"
    # Modules, classes, and what else has a name of its own in one: the source says what it is.
    module = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
    name = getattr(value, "__qualname__", None)
    if not isinstance(module, str) or not (isinstance(value, ModuleType) or isinstance(name, str)):
        raise _UnknownSourceError
    if _is_of(module, *_TRUSTED, _PACKAGE):
        return f"{module}.{name}"
    return f"{module}.{name} {_source_of(getattr(sys.modules.get(module), '__file__', None) or '')}"


_texts: dict[FunctionType, str] = {}


def _of_function(function: FunctionType) -> str:
    """Returns a digest of a function, of its frozen values, and of what it calls."""
    if function not in _texts:
        _texts[function] = "itself"  # where it calls itself
        try:
            _texts[function] = _hash("\n".join(_texts_of(function)))
        except _UnknownSourceError:
            del _texts[function]
            raise
    return _texts[function]


def _texts_of(function: FunctionType) -> list[str]:
    module, code = function.__globals__.get("__name__"), function.__code__
    # Compiled code names the modules of its functions, which Numba imports when it loads it: they must be there.
    if module not in sys.modules:
        raise _UnknownSourceError
    # A program's functions may also come from its file as a module, so that the file counts as well as the text.
    file = os.path.abspath(code.co_filename)
    texts = [str(module), function.__qualname__, str(code.co_firstlineno), file if os.path.exists(file) else ""]
    if not _is_of(module, _PACKAGE):  # the code as well, as the file may have been edited since it was imported
        texts += [_source_of(code.co_filename), _of_code(code)]
    texts += [_described(function.__defaults__ or ())]
    given = {**(function.__kwdefaults__ or {}), **values_of(function)}
    return texts + [f"{name}={_described(value)}" for name, value in given.items()]


def values_of(function: FunctionType) -> dict[str, Any]:
    """Returns what the names in a function mean: globals, closures, and attributes of modules that users write.

    They come in a fixed order; the name of an attribute is ``module.attribute``.
    """
    used, names = sorted(names_of(function.__code__)), function.__globals__
    found = {name: names[name] for name in used if name in names}
    for name, module in list(found.items()):
        if isinstance(module, ModuleType) and not _is_of(module.__name__, *_TRUSTED):
            found |= {f"{name}.{each}": vars(module)[each] for each in used if each in vars(module)}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not set yet
            found[name] = _NOT_SET
    return found


def names_of(code: CodeType) -> set[str]:
    """Returns the global names that code uses, and those of attributes."""
    return set(code.co_names).union(*(names_of(each) for each in code.co_consts if isinstance(each, CodeType)))


def _of_code(code: CodeType) -> str:
    constants = [_of_code(each) if isinstance(each, CodeType) else repr(each) for each in code.co_consts]
    return f"{code.co_code.hex()} {code.co_names} {constants}"


def _source_of(file: str) -> str:
    """Returns a digest of a source file, or of the cell of a notebook, which Python keeps under a made-up name."""
    linecache.checkcache(file)
    text = "".join(linecache.getlines(file))
    if not text:
        raise _UnknownSourceError
    return _hash(text)


def _is_of(module: str | None, *packages: str) -> bool:
    return isinstance(module, str) and module.partition(".")[0] in packages
