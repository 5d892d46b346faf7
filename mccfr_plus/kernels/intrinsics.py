"""What kernels need of the machine: addresses, calls back into Python, words that threads share, random numbers.

Intrinsics are functions in plain Python, for runs without compilation, and code for kernels, which stands above it.

Random numbers are SplitMix64 (Steele, Lea and Flood 2014, figure 17; constants of their implementation), which passes
BigCrush. The state is one word of scratch arrays, from `mccfr_plus.parameters.new_states`: a `numpy.random.Generator`
costs 30 us a call.
"""

import ctypes
import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import _Intrinsic

from mccfr_plus.kernels.compile import expression_kernel, inline_kernel

_WORD, _HALF = ir.IntType(64), ir.IntType(32)

# An index as an unsigned number, for which Numba leaves out the code that makes negative ones wrap.
at = np.uint64

# What kernels can call by its address, made from a function; it must be kept alive as long as they may.
callback = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64)


class _InKernels(_Intrinsic):  # type: ignore[misc]
    """An intrinsic that Python can call, too."""

    def __call__(self, *arguments: Any) -> Any:
        return self.__wrapped__(*arguments)  # type: ignore[attr-defined]


def in_kernels(typed: Callable, build: Callable) -> Callable[[Callable], Any]:
    """Returns the decorator of a function that is other code in kernels; see `numba.extending.intrinsic`.

    `typed` returns the signature for the arguments' types, which are converted to its own; `build` emits the code.
    """

    def decorate(function: Callable) -> Any:
        def definition(typing_context, *arguments):
            return typed(*arguments), build

        names = ["typing_context", *inspect.signature(function).parameters]
        parameters = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names]
        definition.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        made = _InKernels(function.__name__, definition)
        made._register()
        return functools.update_wrapper(made, function)

    return decorate


def address_of(thing: np.ndarray | ctypes._CFuncPtr) -> int:  # type: ignore[name-defined]
    """Returns the address of an array's data, or of a callback."""
    if isinstance(thing, np.ndarray):
        return thing.ctypes.data
    return ctypes.cast(thing, ctypes.c_void_p).value or 0


def _as_pointer(context, builder, signature, arguments):
    return builder.inttoptr(arguments[0], cgutils.voidptr_t)


@in_kernels(lambda address: types.voidptr(types.int64), _as_pointer)
def pointer(address):
    """Returns an address as a pointer for `numba.carray`: so an array need not be an argument of a kernel."""
    return ctypes.c_void_p(int(address))


STACK_FLOATS = 1536


def _stack_floats(context, builder, signature, arguments):
    room = cgutils.alloca_once(builder, ir.ArrayType(ir.DoubleType(), STACK_FLOATS))
    return builder.bitcast(room, cgutils.voidptr_t)


@in_kernels(lambda: types.voidptr(), _stack_floats)
def stack_floats():
    """Returns a pointer to `STACK_FLOATS` float64 on the stack, for `numba.carray`. Kernels must not return it."""
    return ctypes.cast((ctypes.c_double * STACK_FLOATS)(), ctypes.c_void_p)


# --- calls back into Python ---


def _call_nothing(context, builder, signature, arguments):
    """Calls the function at an address with words; it returns nothing."""
    address, *words = arguments
    kind = ir.FunctionType(ir.VoidType(), [_WORD] * len(words))
    builder.call(builder.inttoptr(address, kind.as_pointer()), words)
    return context.get_dummy_value()


@in_kernels(lambda address, first, second: types.none(types.int64, types.int64, types.int64), _call_nothing)
def call_back(address, first, second):
    """Calls the callback at an address with two integers, with the interpreter's lock."""
    callback(int(address))(int(first), int(second))


def yield_address() -> int:
    """Returns the address of the system's function that lets another thread run; 0 if there is none by that name."""
    try:
        return address_of(ctypes.CDLL(None).sched_yield)
    except (AttributeError, OSError, TypeError):  # not a POSIX system
        return 0


@in_kernels(lambda address: types.none(types.int64), _call_nothing)
def call_yield(address):
    """Calls the function of `yield_address`."""
    ctypes.CFUNCTYPE(ctypes.c_int)(int(address))()


def _expect_false(context, builder, signature, arguments):
    bit = ir.IntType(1)
    expect = cgutils.get_or_insert_function(builder.module, ir.FunctionType(bit, [bit, bit]), "llvm.expect.i1")
    return builder.call(expect, [arguments[0], bit(0)])


@in_kernels(lambda condition: types.boolean(types.boolean), _expect_false)
def unlikely(condition):
    """Returns the condition, which the compiler takes for seldom true, so that a rare call does not slow a hot loop."""
    return condition


def _count_zeros(context, builder, signature, arguments):
    return builder.cttz(arguments[0], ir.IntType(1)(1))


@in_kernels(lambda mask: types.int64(types.int64), _count_zeros)
def lowest_bit(mask):
    """Returns the position of the lowest bit that is set in a mask, which must not be 0."""
    return (int(mask) & -int(mask)).bit_length() - 1


def _fetch_ahead(context, builder, signature, arguments):
    byte = ir.IntType(8).as_pointer()
    kind = ir.FunctionType(ir.VoidType(), [byte, _HALF, _HALF, _HALF])
    function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
    array_type, index_type = signature.args
    entry = context.make_array(array_type)(context, builder, arguments[0])
    indices = [arguments[1]] if index_type == types.int64 else cgutils.unpack_tuple(builder, arguments[1])
    address = cgutils.get_item_pointer(context, builder, array_type, entry, indices)
    to_read, into_all_caches, data = _HALF(0), _HALF(3), _HALF(1)
    builder.call(function, [builder.bitcast(address, byte), to_read, into_all_caches, data])
    return context.get_dummy_value()


def _of_prefetch(array, index):
    is_tuple = isinstance(index, types.BaseTuple)
    return types.none(array, types.UniTuple(types.int64, len(index)) if is_tuple else types.int64)


@in_kernels(_of_prefetch, _fetch_ahead)
def prefetch(array, index):
    """Begins to fetch an entry of an array that is soon to be read or written. There need be no such entry.

    The index is a number, or two of them.
    """


# --- words that threads share ---


def _place(context, builder, signature, arguments):
    """Returns the address of an entry, as that of a word."""
    array_type = signature.args[0]
    array = context.make_array(array_type)(context, builder, arguments[0])
    entry = cgutils.get_item_pointer(context, builder, array_type, array, [arguments[1]])
    return builder.bitcast(entry, _WORD.as_pointer())


def _load(context, builder, signature, arguments):
    return builder.load_atomic(_place(context, builder, signature, arguments), ordering="acquire", align=8)


def _store(context, builder, signature, arguments):
    place = _place(context, builder, signature, arguments)
    builder.store_atomic(arguments[-1], place, ordering="release", align=8)
    return context.get_dummy_value()


def _load_head(context, builder, signature, arguments):
    word = _load(context, builder, signature, arguments)
    first, second = builder.trunc(word, _HALF), builder.trunc(builder.lshr(word, _WORD(32)), _HALF)
    return context.make_tuple(builder, signature.return_type, [first, second])


def _store_head(context, builder, signature, arguments):
    *place, first, second = arguments
    word = builder.or_(builder.shl(second, _WORD(32)), builder.and_(first, _WORD(0xFFFFFFFF)))
    return _store(context, builder, signature, [*place, word])


def _read_modify_write(operation):
    """Returns the code that changes a word by an operation of LLVM's and returns what stood there."""

    def build(context, builder, signature, arguments):
        place = _place(context, builder, signature, arguments)
        return builder.atomic_rmw(operation, place, arguments[2], ordering="acq_rel")

    return build


@in_kernels(lambda records, index: types.UniTuple(types.int32, 2)(records, types.int64), _load_head)
def head_of(records, index):
    """Returns the first two int32 fields of a record, read at once and before everything that is read after them."""
    record = records[index]
    return record[0], record[1]


@in_kernels(lambda records, *_: types.none(records, types.int64, types.int64, types.int64), _store_head)
def publish_head(records, index, first, second):
    """Writes the first two int32 fields of a record at once, after all that this thread wrote before."""
    records[index][0], records[index][1] = first, second


@in_kernels(lambda array, index: types.int64(array, types.int64), _load)
def load_word(array, index):
    """Returns an entry of an int64 array as another thread has published it, with all that it wrote before."""
    return array[index]


@in_kernels(lambda array, *_: types.none(array, types.int64, types.int64), _store)
def publish_word(array, index, value):
    """Writes an entry of an int64 array after all that this thread wrote before."""
    array[index] = value


@in_kernels(lambda array, *_: types.int64(array, types.int64, types.int64), _read_modify_write("add"))
def add_word(array, index, value):
    """Adds to an entry of an int64 array and returns what stood there, at once for all threads. Modified in place."""
    before = array[index]
    array[index] += value
    return before


@in_kernels(lambda array, *_: types.int64(array, types.int64, types.int64), _read_modify_write("xchg"))
def swap_word(array, index, value):
    """Writes an entry of an int64 array and returns what stood there, at once for all threads. Modified in place."""
    before = array[index]
    array[index] = value
    return before


_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_A = np.uint64(0xBF58476D1CE4E5B9)
_MIX_B = np.uint64(0x94D049BB133111EB)
_TO_UNIT = 1.0 / (1 << 53)


@inline_kernel
def next_word(rng):
    """Returns the next 64 random bits. `rng` is modified in place."""
    rng[0] += _GOLDEN
    z = rng[0]
    z = (z ^ (z >> np.uint64(30))) * _MIX_A
    z = (z ^ (z >> np.uint64(27))) * _MIX_B
    return z ^ (z >> np.uint64(31))


@expression_kernel
def next_double(rng):
    """Returns a random number in [0, 1) with 53 bits. `rng` is modified in place."""
    return np.float64(next_word(rng) >> np.uint64(11)) * _TO_UNIT
