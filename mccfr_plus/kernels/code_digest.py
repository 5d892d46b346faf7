"""A digest of a function and of everything that it calls: what a compiled copy of it depends on.

Overloads (`numba.extending.overload`) and intrinsics are followed like calls.
"""

import enum
import hashlib
import os
import sys
import types
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core.typing.templates import builtin_registry
from numba.extending import _Intrinsic

# Modules whose functions are the same as long as the versions of Python, NumPy and Numba are, which Numba looks at.
_TRUSTED = ("builtins", "math", "cmath", "ctypes", "_ctypes", "numpy", "numba", "llvmlite")


def digest_of(function: Any) -> str | None:
    """Returns 16 hexadecimal digits, or None if the function reaches something whose content cannot be told."""
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
        for name in sorted(_names(function.__code__)):
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


def _names(code: types.CodeType) -> set[str]:
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _names(constant)
    return names
