"""A digest of a function and of everything that it calls: what a compiled copy of it depends on.

Numba's disk cache looks at the file of the outermost function only.
"""

from __future__ import annotations

import enum
import hashlib
import os
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

# Modules whose functions are the same as long as the versions of Python, NumPy and Numba are, which Numba looks at.
_TRUSTED = ("builtins", "math", "cmath", "numpy", "numba", "llvmlite")


def digest_of(function: Any) -> str | None:
    """Returns 16 hexadecimal digits, or None if the function reaches something whose content cannot be told.

    Args:
        function: A Python function or a kernel.
    """
    digest = hashlib.sha256()
    if not _Reader(digest.update).read(function):
        return None
    return digest.hexdigest()[:16]


class _Reader:
    def __init__(self, write: Callable[[bytes], None]):
        self._write = write
        self._seen: set[int] = set()

    def read(self, value: Any) -> bool:
        """Writes what a value consists of; returns whether that is possible."""
        value = getattr(value, "py_func", value)  # a kernel is its source
        if isinstance(value, types.FunctionType):
            return self._read_function(value)
        if isinstance(value, types.CodeType):
            return self._read_code(value)
        if isinstance(value, np.ndarray) and not value.dtype.hasobject:
            self._write(f"{value.dtype.descr}{value.shape}".encode())
            self._write(value.tobytes())
            return True
        if isinstance(value, tuple | list | frozenset):
            items = sorted(value, key=repr) if isinstance(value, frozenset) else value
            self._write(f"{type(value).__name__}{len(value)}".encode())
            return all(self.read(item) for item in items)
        if isinstance(value, enum.Enum):
            self._write(repr(value).encode())
            return True
        if isinstance(value, type) and issubclass(value, tuple | enum.Enum):  # a NamedTuple or an enumeration
            members = getattr(value, "_fields", None) or list(getattr(value, "__members__", {}).values())
            self._write(f"{value.__qualname__}{members!r};".encode())
            return True
        if value is None or isinstance(value, bool | int | float | complex | str | bytes | np.generic | np.dtype):
            self._write(f"{type(value).__name__} {value!r};".encode())
            return True
        owner = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None)
        if isinstance(owner, str) and owner.split(".")[0] in _TRUSTED:
            self._write(f"{owner}.{getattr(value, '__qualname__', '')};".encode())
            return True
        return False

    def _read_function(self, function: types.FunctionType) -> bool:
        if id(function) in self._seen:
            return True
        self._seen.add(id(function))
        # What Numba keeps on disk names the modules of all functions in it and imports them on loading: they must be
        # the same in the process that loads it, and there already. The functions of a program may come from what was
        # kept of its file as a module, so that the file counts too; a notebook has none.
        module, file = function.__globals__.get("__name__"), os.path.abspath(function.__code__.co_filename)
        if module not in sys.modules:
            return False
        self._write(f"{module} {file if os.path.exists(file) else ''};".encode())
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
        if not (self._read_code(function.__code__) and self.read(function.__defaults__) and self.read(cells)):
            return False
        for name in sorted(_names(function.__code__)):
            if name in function.__globals__:
                self._write(f"{name}=".encode())
                if not self.read(function.__globals__[name]):
                    return False
        return True

    def _read_code(self, code: types.CodeType) -> bool:
        self._write(code.co_code)
        self._write(repr((code.co_names, code.co_varnames, code.co_freevars, code.co_argcount)).encode())
        return self.read(code.co_consts)


def _names(code: types.CodeType) -> set[str]:
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _names(constant)
    return names
