"""The digest of a kernel: what a compiled copy of it on disk depends on.

It covers the sources of this package, the source files of user-defined functions and of modules that they use, and what
is frozen into kernels: values of globals, of closures and of constants.
"""

import enum
import functools
import hashlib
import linecache
import os
import sys
import types
from pathlib import Path
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.extending import _Intrinsic

from mccfr_plus.kernels.constants import Constant

# Modules that stay the same as long as the versions of Python, NumPy and Numba do, which Numba looks at.
_TRUSTED = ("builtins", "math", "cmath", "ctypes", "_ctypes", "numpy", "numba", "llvmlite")
_PACKAGE = __name__.partition(".")[0]


_NOT_SET = object()  # what a closure refers to; it has no digest


class _UnknownSourceError(Exception):
    """Raised where the content of something that a kernel contains cannot be told."""


def digest_of(kernel: Any) -> str | None:
    """Returns a digest of a kernel and of everything that it calls, 16 hexadecimal digits.

    None if it contains something whose source cannot be identified: such kernels are compiled in every process.
    """
    try:
        return hashlib.sha256(f"{package_digest()} {_described(kernel)}".encode()).hexdigest()[:16]
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


def _described(value: Any) -> str:
    """Returns a text that is the same for values of the same content only."""
    if isinstance(getattr(value, "py_func", None), types.FunctionType):  # a kernel: its compiler and options matter
        options = {**getattr(value, "targetoptions", {}), **getattr(value, "locals", {})}
        compiler = getattr(getattr(value, "_compiler", None), "pipeline_class", type(None)).__name__
        texts = sorted(f"{name}={_option(given)}" for name, given in options.items())
        return f"{compiler} {texts} {_described(value.py_func)}"
    if isinstance(value, _Intrinsic):
        return _described(value._defn)
    if isinstance(value, types.FunctionType):
        return "trusted" if _is_trusted(value.__module__) else _of_function(value)
    if isinstance(value, Constant):
        return f"{value.name}={value.value!r}"
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return f"{value.dtype.descr}{value.shape}{hashlib.sha256(value.tobytes()).hexdigest()}"
    if isinstance(value, tuple | list):
        return f"{type(value).__name__}[{' '.join(map(_described, value))}]"
    if isinstance(value, frozenset):
        return f"frozenset{sorted(map(_described, value))}"
    if isinstance(value, enum.Enum):
        return f"{_described(type(value))}.{value.name}"
    if value is None or isinstance(
        value, bool | int | float | complex | str | bytes | np.generic | np.dtype | numba.types.Type | ir.Type
    ):
        return f"{type(value).__name__} {value!r}"
    # Modules, classes, and what else has a name of its own in one: the source says what it is.
    module = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None)
    name = getattr(value, "__qualname__", None)
    if not isinstance(module, str) or not (isinstance(value, types.ModuleType) or isinstance(name, str)):
        raise _UnknownSourceError
    return f"{module}.{name} {_source_of_module(module)}"


_texts: dict[types.FunctionType, str] = {}


def _of_function(function: types.FunctionType) -> str:
    """Returns a digest of a function, of its frozen values, and of what it calls."""
    if function not in _texts:
        _texts[function] = "itself"  # where it calls itself
        try:
            _texts[function] = hashlib.sha256("\n".join(_texts_of(function)).encode()).hexdigest()
        except _UnknownSourceError:
            del _texts[function]
            raise
    return _texts[function]


def _texts_of(function: types.FunctionType) -> list[str]:
    module, code = function.__globals__.get("__name__"), function.__code__
    # Compiled code names the modules of its functions, which Numba imports when it loads it: they must be there.
    if module not in sys.modules:
        raise _UnknownSourceError
    # A program's functions may also come from its file as a module, so that the file counts as well as the text.
    file = os.path.abspath(code.co_filename)
    texts = [str(module), function.__qualname__, str(code.co_firstlineno), file if os.path.exists(file) else ""]
    if not _is_ours(module):  # the code as well, as the file may have been edited since it was imported
        texts += [_source_of_file(code.co_filename), _of_code(code)]
    texts += [_described(function.__defaults__ or ())]
    given = {**(function.__kwdefaults__ or {}), **values_of(function)}
    return texts + [f"{name}={_described(value)}" for name, value in given.items()]


def values_of(function: types.FunctionType) -> dict[str, Any]:
    """Returns what the names in a function mean: globals, closures, and attributes of modules that users write.

    They come in a fixed order; the name of an attribute is ``module.attribute``.
    """
    used, names = sorted(names_of(function.__code__)), function.__globals__
    found = {name: names[name] for name in used if name in names}
    for name, module in list(found.items()):
        if isinstance(module, types.ModuleType) and not _is_trusted(module.__name__):
            found |= {f"{name}.{each}": vars(module)[each] for each in used if each in vars(module)}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not set yet
            found[name] = _NOT_SET
    return found


def _of_code(code: types.CodeType) -> str:
    constants = [_of_code(each) if isinstance(each, types.CodeType) else repr(each) for each in code.co_consts]
    return f"{code.co_code.hex()} {code.co_names} {constants}"


def _source_of_module(module: str) -> str:
    if _is_trusted(module) or _is_ours(module):
        return ""
    return _source_of_file(getattr(sys.modules.get(module), "__file__", None) or "")


def _source_of_file(file: str) -> str:
    """Returns a digest of a source file, or of the cell of a notebook, which Python keeps under a made-up name."""
    linecache.checkcache(file)
    text = "".join(linecache.getlines(file))
    if not text:
        raise _UnknownSourceError
    return hashlib.sha256(text.encode()).hexdigest()


def _is_trusted(module: str | None) -> bool:
    return isinstance(module, str) and module.partition(".")[0] in _TRUSTED


def _is_ours(module: str | None) -> bool:
    return isinstance(module, str) and module.partition(".")[0] == _PACKAGE


def _option(given: Any) -> str:
    return repr(sorted(map(str, given)) if isinstance(given, set | frozenset) else given)  # sets have no fixed order


def names_of(code: types.CodeType) -> set[str]:
    """Returns the global names that code uses, and those of attributes."""
    return set(code.co_names).union(*(names_of(each) for each in code.co_consts if isinstance(each, types.CodeType)))
