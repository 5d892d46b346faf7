"""Calls Python's objects from kernels, through the interpreter's C interface: without bytecode in between.

A call from a kernel into a Python function that asks pyspiel three questions spends most of its time on the bytecode
around them. Here the kernel asks them itself: it takes the interpreter's lock, calls the bound C++ functions, and
releases what they return. Everything that is not plain goes to the Python function, which gives the same answers.

Objects are their addresses, references are counted by hand: `call_object` returns a new one.

Reference: Python documentation, "Python/C API reference manual": call protocol, object protocol, thread state.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from mccfr_plus.kernels.compile import inline_kernel

_WORD = ir.IntType(64)

# Entries of the array of addresses; callables come behind.
(
    _ENSURE,
    _RELEASE,
    _CALL,
    _INCREF,
    _DECREF,
    _CLEAR_ERROR,
    _FROM_INTEGER,
    _AS_INTEGER,
    _AS_FLOAT,
    _AS_TEXT,
    _LIST_SIZE,
    _LIST_ITEM,
) = range(12)
FIRST_CALLABLE = 12
NUM_CALLABLES = 6
NUM_ADDRESSES = FIRST_CALLABLE + NUM_CALLABLES

_NAMES = (
    "PyGILState_Ensure",
    "PyGILState_Release",
    "PyObject_Vectorcall",
    "Py_IncRef",
    "Py_DecRef",
    "PyErr_Clear",
    "PyLong_FromLongLong",
    "PyLong_AsLongLong",
    "PyFloat_AsDouble",
    "PyUnicode_AsUTF8AndSize",
    "PyList_Size",
    "PyList_GetItem",
)


def addresses(callables: Sequence[Any]) -> np.ndarray:
    """Returns what the functions below take as ``api``, ``[NUM_ADDRESSES]`` int64.

    It is empty where this Python has no C interface.

    Args:
        callables: NUM_CALLABLES functions to be called; the caller keeps them alive.
    """
    if sys.implementation.name != "cpython":
        return np.zeros(0, np.int64)
    try:
        functions = [ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0 for name in _NAMES]
    except AttributeError:
        return np.zeros(0, np.int64)
    return np.array([*functions, *map(id, callables)], np.int64)


def release_objects(objects: Sequence[int]) -> None:
    """Gives back references that kernels hold."""
    release = ctypes.pythonapi.Py_DecRef
    release.argtypes, release.restype = [ctypes.c_void_p], None
    for address in objects:
        release(address)


# --- calls of a C function at an address ---


def _define(num_arguments: int, result: types.Type, result_ir: ir.Type) -> tuple:
    """Returns what an intrinsic returns that calls a function with so many words."""

    def build(context, builder, signature, arguments):
        kind = ir.FunctionType(result_ir, [_WORD] * num_arguments)
        return builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), arguments[1:])

    return result(*[types.int64] * (num_arguments + 1)), build


@intrinsic
def _c_0(typing_context, function):
    return _define(0, types.int64, _WORD)


@intrinsic
def _c_1(typing_context, function, a):
    return _define(1, types.int64, _WORD)


@intrinsic
def _c_1_float(typing_context, function, a):
    return _define(1, types.float64, ir.DoubleType())


@intrinsic
def _c_2(typing_context, function, a, b):
    return _define(2, types.int64, _WORD)


@intrinsic
def _c_4(typing_context, function, a, b, c, d):
    return _define(4, types.int64, _WORD)


# --- what kernels call; `api` is what `addresses` returns ---


@inline_kernel
def take_lock(api):
    """Takes the interpreter's lock and returns what `give_lock` gets."""
    return _c_0(api[_ENSURE])  # type: ignore[call-arg]


@inline_kernel
def give_lock(api, token):
    """Gives the interpreter's lock back."""
    _c_1(api[_RELEASE], token)  # type: ignore[call-arg]


@inline_kernel
def call_object(api, number, arguments, count):
    """Calls a callable; returns a new reference, or 0 if it has raised, which is then forgotten.

    Args:
        api: See `addresses`.
        number: Of the callable.
        arguments: The address of as many references.
        count: How many.
    """
    result: int = _c_4(api[_CALL], api[FIRST_CALLABLE + number], arguments, count, 0)  # type: ignore[call-arg]
    if result == 0:
        _c_0(api[_CLEAR_ERROR])  # type: ignore[call-arg]
    return result


@inline_kernel
def keep(api, thing):
    """Takes a reference."""
    _c_1(api[_INCREF], thing)  # type: ignore[call-arg]


@inline_kernel
def let_go(api, thing):
    """Gives a reference back."""
    _c_1(api[_DECREF], thing)  # type: ignore[call-arg]


@inline_kernel
def integer_object(api, value):
    """Returns a new reference to a Python integer."""
    return _c_1(api[_FROM_INTEGER], value)  # type: ignore[call-arg]


@inline_kernel
def integer_of(api, thing):
    """Returns the value of a Python integer."""
    return _c_1(api[_AS_INTEGER], thing)  # type: ignore[call-arg]


@inline_kernel
def float_of(api, thing):
    """Returns the value of a Python float."""
    return _c_1_float(api[_AS_FLOAT], thing)  # type: ignore[call-arg]


@inline_kernel
def text_of(api, thing, size):
    """Returns the address of a string's UTF-8, which lives as long as the string; its length goes to address `size`."""
    return _c_2(api[_AS_TEXT], thing, size)  # type: ignore[call-arg]


@inline_kernel
def list_size(api, thing):
    """Returns the length of a Python list; negative for anything else."""
    size: int = _c_1(api[_LIST_SIZE], thing)  # type: ignore[call-arg]
    if size < 0:
        _c_0(api[_CLEAR_ERROR])  # type: ignore[call-arg]
    return size


@inline_kernel
def list_item(api, thing, index):
    """Returns an entry of a Python list, a reference that is not to be given back."""
    return _c_2(api[_LIST_ITEM], thing, index)  # type: ignore[call-arg]
