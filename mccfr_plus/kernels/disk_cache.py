"""Compiled kernels on disk, under a digest of all the code that they contain.

Numba's own cache looks at the file of the outermost function only, and lies beside it, where an installation empties
it. This one lies in the user's cache folder, or in ``NUMBA_CACHE_DIR``, and follows each call: an edit anywhere
compiles anew what it concerns, and nothing else. Each compiled version is one file, so that processes need no lock.
"""

import contextlib
import enum
import functools
import hashlib
import os
import pickle
import sys
import tempfile
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import caching, compiler, config
from numba.core.dispatcher import Dispatcher
from numba.core.runtime import rtsys
from numba.core.serialize import dumps
from numba.core.typing.templates import builtin_registry
from numba.extending import _Intrinsic
from numba.misc.appdirs import AppDirs

from mccfr_plus.kernels import pipeline


def cache_folder() -> Path:
    """Returns the folder of the compiled kernels."""
    return Path(getattr(config, "CACHE_DIR", "") or AppDirs("mccfr_plus", appauthor=False).user_cache_dir) / "kernels"


class DiskCache(caching.NullCache):
    """The compiled versions of one kernel, in the place of Numba's own cache.

    The digest is computed when the kernel is first needed: what it calls may be defined later than itself.

    Args:
        kernel: The kernel. Its options count, too: an inlined kernel and its copy for Python have the same function.
    """

    def __init__(self, kernel: Dispatcher):
        self._kernel = kernel
        self._stem: str | None = None  # of file names
        self._is_open = False

    @property
    def is_off(self) -> bool:
        """Whether nothing is kept, because the code cannot be identified or the folder not be written."""
        self._open()
        return self._stem is None

    def _open(self) -> None:
        if self._is_open:
            return
        self._is_open = True
        digest = digest_of(self._kernel)
        if digest is not None and _is_writable(cache_folder()):
            self._stem = f"{self._kernel.py_func.__name__}-{digest}"

    def _path(self, sig: Any, codegen: Any) -> Path | None:
        self._open()
        if self._stem is None:
            return None
        key = repr((sig, codegen.magic_tuple(), numba.__version__, compiler.__file__, _format()))
        return cache_folder() / f"{self._stem}-{hashlib.sha256(key.encode()).hexdigest()[:16]}.nbc"

    def holds(self, sig: Any, target_context: Any) -> bool:
        """Returns whether there is a compiled version for a signature."""
        path = self._path(sig, target_context.codegen())
        return path is not None and path.exists()

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Returns the compiled version for a signature, or None."""
        # Enough for compiled code: `target_context.refresh()` would import all that compiling needs, for 0.4 s.
        rtsys.initialize(target_context)
        path = self._path(sig, target_context.codegen())
        if path is None:
            return None
        try:
            return self._unpacked(target_context, pickle.loads(path.read_bytes()))
        except OSError:
            return None
        except Exception:  # cut off when the machine lost its power, or damaged otherwise: compiled anew
            with contextlib.suppress(OSError):
                path.unlink()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keeps a compiled version; it is compiled again in the next process if the disk is full."""
        path = self._path(sig, data.codegen)
        if path is None or data.library.has_dynamic_globals or any(not lifted.can_cache for lifted in data.lifted):
            return
        with contextlib.suppress(OSError):
            handle, temporary = tempfile.mkstemp(dir=path.parent)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(dumps(self._packed(data)))
                os.replace(temporary, path)
            except BaseException:
                os.unlink(temporary)
                raise

    def _packed(self, result: Any) -> tuple:
        return result._reduce()

    def _unpacked(self, target_context: Any, packed: tuple) -> Any:
        return compiler.CompileResult._rebuild(target_context, *packed)


class InlineCache(DiskCache):
    """The same for an inline kernel, of which there is no machine code."""

    def _packed(self, result: Any) -> tuple:
        result.fndesc.typemap = result.fndesc.calltypes = None  # large, and not needed
        name, _, bitcode = result.library.serialize_using_bitcode()
        return name, bitcode, result.fndesc, result.signature

    def _unpacked(self, target_context: Any, packed: tuple) -> Any:
        name, bitcode, descriptor, signature = packed
        library = pipeline.InlineLibrary.load(target_context.codegen(), name, bitcode)
        return compiler.compile_result(
            typing_context=target_context.typing_context,
            target_context=target_context,
            entry_point=object(),
            fndesc=descriptor,
            library=library,
            signature=signature,
            objectmode=False,
        )


@functools.cache
def _format() -> str:
    """Returns a digest of how kernels are compiled and written: files of another version are not read."""
    sources = (Path(module.__file__ or "").read_bytes() for module in (sys.modules[__name__], pipeline))
    return hashlib.sha256(b"".join(sources)).hexdigest()[:16]


def _is_writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)


# --- the digest ---

# Modules whose functions are the same as long as the versions of Python, NumPy and Numba are, which Numba looks at.
_TRUSTED = ("builtins", "math", "cmath", "ctypes", "_ctypes", "numpy", "numba", "llvmlite")


def digest_of(function: Any) -> str | None:
    """Returns a digest of a function and of everything that it calls: what a compiled copy of it depends on.

    Overloads (`numba.extending.overload`) and intrinsics are followed like calls. It is 16 hexadecimal digits, or None
    if the function reaches something whose content cannot be told.
    """
    digest = hashlib.sha256()
    if not _Reader(digest.update).read(function):
        return None
    return digest.hexdigest()[:16]


class _Reader:
    def __init__(self, write: Callable[[bytes], None]):
        self._write = write
        self._seen: dict[int, int] = {}

    def read(self, value: Any) -> bool:
        """Writes what a value consists of; returns whether that is possible."""
        if isinstance(
            getattr(value, "py_func", None), types.FunctionType
        ):  # a kernel: its source, compiler and options
            options = {**getattr(value, "targetoptions", {}), **getattr(value, "locals", {})}
            compiler = getattr(getattr(value, "_compiler", None), "pipeline_class", type(None)).__name__
            self._write(f"{compiler} {sorted((name, _option(given)) for name, given in options.items())};".encode())
            value = value.py_func
        if isinstance(value, types.FunctionType) and not _is_trusted(value.__module__):
            return self._read_function(value) and all(self.read(other) for other in _overloads_of(value))
        if isinstance(value, _Intrinsic) and not _is_trusted(value._defn.__module__):
            return self.read(value._defn)
        if isinstance(value, ir.Type):
            self._write(f"{value};".encode())
            return True
        if isinstance(value, types.CodeType):
            return self._read_code(value)
        if isinstance(value, np.ndarray) and not value.dtype.hasobject:
            self._write(f"{value.dtype.descr}{value.shape}".encode())
            self._write(value.tobytes())
            return True
        if isinstance(value, tuple | list | frozenset):
            items = sorted(value, key=repr) if isinstance(value, frozenset) else value
            self._write(f"{type(value).__name__}{len(value)}{getattr(value, '_fields', ())};".encode())
            return all(self.read(item) for item in items)
        if isinstance(value, enum.Enum):
            self._write(f"{type(value).__qualname__}.{value.name}=".encode())  # its repr may not tell its value
            return self.read(value.value)
        if isinstance(value, type) and issubclass(value, enum.Enum):
            self._write(f"{value.__qualname__};".encode())
            return all(self.read(member) for member in value.__members__.values())
        if isinstance(value, type) and issubclass(value, tuple) and hasattr(value, "_fields"):
            defaults = getattr(value, "_field_defaults", {})
            self._write(f"{value.__qualname__}{value._fields}{tuple(defaults)};".encode())
            return self.read(tuple(defaults.values()))
        if value is None or isinstance(value, bool | int | float | complex | str | bytes | np.generic | np.dtype):
            self._write(f"{type(value).__name__} {value!r};".encode())
            return True
        if isinstance(value, numba.types.Type):
            self._write(f"{value!r};".encode())
            return True
        if isinstance(value, types.ModuleType):
            self._write(f"{value.__name__};".encode())
            return _is_trusted(value.__name__)
        # Only what has a name of its own: an object of a trusted class may hold anything.
        owner, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
        self._write(f"{owner}.{name};".encode())
        return isinstance(name, str) and _is_trusted(owner)

    def _read_function(self, function: types.FunctionType) -> bool:
        if id(function) in self._seen:
            self._write(f"function {self._seen[id(function)]};".encode())  # which one it is matters
            return True
        self._seen[id(function)] = len(self._seen)
        # What Numba keeps on disk names the modules of all functions in it and imports them on loading: they must be
        # the same in the process that loads it, and there already. The functions of a program may come from what was
        # kept of its file as a module, so that the file counts too; a notebook has none.
        module, file = function.__globals__.get("__name__"), os.path.abspath(function.__code__.co_filename)
        if module not in sys.modules:
            return False
        self._write(f"{module} {file if os.path.exists(file) else ''};".encode())
        try:
            cells = [cell.cell_contents for cell in function.__closure__ or ()]
        except ValueError:  # not set yet
            return False
        keywords = function.__kwdefaults__ or {}
        self._write(f"{tuple(keywords)};".encode())
        if not (self._read_code(function.__code__) and self.read(function.__defaults__) and self.read(cells)):
            return False
        if not self.read(tuple(keywords.values())):
            return False
        for name in sorted(names_of(function.__code__)):
            if name in function.__globals__:
                self._write(f"{name}=".encode())
                if not self.read(function.__globals__[name]):
                    return False
        return True

    def _read_code(self, code: types.CodeType) -> bool:
        self._write(code.co_code)
        counts = code.co_argcount, code.co_kwonlyargcount, code.co_flags
        self._write(repr((code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars, counts)).encode())
        return self.read(code.co_consts)


def _overloads_of(function: types.FunctionType) -> list[types.FunctionType]:
    """Returns what stands in for a Python function in kernels."""
    _read_overloads()
    return _overloads.get(function, [])


_overloads: dict[Any, list[types.FunctionType]] = {}
_num_read = 0  # entries of Numba's registry that are in `_overloads`


def _read_overloads() -> None:
    global _num_read
    entries = builtin_registry.globals
    for function, kind in entries[_num_read:]:
        for template in getattr(kind, "templates", ()):
            implementation = getattr(template, "_overload_func", None)
            if implementation is not None and not _is_trusted(getattr(function, "__module__", None)):
                _overloads.setdefault(function, []).append(implementation)
    _num_read = len(entries)


def _is_trusted(module: str | None) -> bool:
    return isinstance(module, str) and module.split(".")[0] in _TRUSTED


def _option(given: Any) -> str:
    return repr(sorted(map(str, given)) if isinstance(given, set | frozenset) else given)  # sets have no fixed order


def names_of(code: types.CodeType) -> set[str]:
    """Returns the global names that code uses, and those of attributes."""
    return set(code.co_names).union(*(names_of(each) for each in code.co_consts if isinstance(each, types.CodeType)))
