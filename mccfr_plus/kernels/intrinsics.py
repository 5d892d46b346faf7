"""What kernels need of the machine below them: addresses, calls back into Python, and words that threads share.

Each function has a reference implementation in plain Python, for runs without compilation.
"""

import ctypes

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

_CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64)
_WORD = ir.IntType(64)

# An index as an unsigned number, for which Numba leaves out the code that makes negative ones wrap.
at = np.uint64


def callback(function) -> ctypes._CFuncPtr:  # type: ignore[name-defined]
    """Returns an object that kernels can call by its address; it must be kept alive as long as they may."""
    return _CALLBACK(function)


def address_of(thing: np.ndarray | ctypes._CFuncPtr) -> int:  # type: ignore[name-defined]
    """Returns the address of an array's data, or of a callback."""
    if isinstance(thing, np.ndarray):
        return thing.ctypes.data
    return ctypes.cast(thing, ctypes.c_void_p).value or 0


# --- arrays by address ---


def pointer(address):
    """Returns an address as a pointer for `numba.carray`: so an array need not be an argument of a kernel."""
    return ctypes.c_void_p(int(address))


@overload(pointer)
def _pointer_in_kernel(address):
    return lambda address: _as_pointer(address)  # type: ignore[call-arg]


@intrinsic
def _as_pointer(typing_context, address):
    def build(context, builder, signature, arguments):
        return builder.inttoptr(arguments[0], cgutils.voidptr_t)

    return types.voidptr(types.int64), build


# --- calls back into Python ---


def call_back(address, first, second):
    """Calls the callback at an address with two whole numbers.

    From a kernel that runs without the interpreter's lock, the lock is taken for the time of the call.
    """
    _CALLBACK(int(address))(int(first), int(second))


@overload(call_back)
def _call_back_in_kernel(address, first, second):
    return lambda address, first, second: _call_address(address, first, second)  # type: ignore[call-arg]


@intrinsic
def _call_address(typing_context, address, first, second):
    return types.none(types.int64, types.int64, types.int64), _call_nothing


def yield_address() -> int:
    """Returns the address of the system's function that lets another thread run; 0 if there is none by that name."""
    try:
        return address_of(ctypes.CDLL(None).sched_yield)
    except (AttributeError, OSError, TypeError):  # not a POSIX system
        return 0


def call_yield(address):
    """Calls the function of `yield_address`."""
    ctypes.CFUNCTYPE(ctypes.c_int)(int(address))()


@overload(call_yield)
def _call_yield_in_kernel(address):
    return lambda address: _call_without_arguments(address)  # type: ignore[call-arg]


@intrinsic
def _call_without_arguments(typing_context, address):
    return types.none(types.int64), _call_nothing


def _call_nothing(context, builder, signature, arguments):
    """Calls the function at the first argument with the others, which are words; it returns nothing."""
    address, *words = arguments
    kind = ir.FunctionType(ir.VoidType(), [_WORD] * len(words))
    builder.call(builder.inttoptr(address, kind.as_pointer()), words)
    return context.get_dummy_value()


# --- branches ---


def unlikely(condition):
    """Returns the condition, of which the compiler learns that it is seldom true.

    Without it, a call that is hardly ever made slows the hot loop around it.
    """
    return condition


@overload(unlikely, inline="always")  # the hint is lost where it is compiled apart from the branch
def _unlikely_in_kernel(condition):
    return lambda condition: _expect_false(condition)  # type: ignore[call-arg]


@intrinsic
def _expect_false(typing_context, condition):
    def build(context, builder, signature, arguments):
        bit = ir.IntType(1)
        expect = cgutils.get_or_insert_function(builder.module, ir.FunctionType(bit, [bit, bit]), "llvm.expect.i1")
        return builder.call(expect, [arguments[0], bit(0)])

    return types.boolean(types.boolean), build


# --- bits ---


def lowest_bit(mask):
    """Returns the position of the lowest bit that is set in a mask, which must not be 0."""
    return (int(mask) & -int(mask)).bit_length() - 1


@overload(lowest_bit, inline="always")
def _lowest_bit_in_kernel(mask):
    return lambda mask: _count_zeros(np.int64(mask))  # type: ignore[call-arg]


@intrinsic
def _count_zeros(typing_context, mask):
    def build(context, builder, signature, arguments):
        return builder.cttz(arguments[0], ir.IntType(1)(1))

    return types.int64(types.int64), build


# --- the cache ---


def prefetch(array, index):
    """Begins to fetch an entry of an array that is soon to be read or written. There need be no such entry.

    Args:
        array: Of one dimension, or of two.
        index: A number, or two of them.
    """


@overload(prefetch, inline="always")
def _prefetch_in_kernel(array, index):
    if isinstance(index, types.BaseTuple):
        return lambda array, index: _fetch_ahead(array, index)  # type: ignore[call-arg]
    return lambda array, index: _fetch_ahead(array, (np.int64(index),))  # type: ignore[call-arg]


@intrinsic
def _fetch_ahead(typing_context, array, index):
    def build(context, builder, signature, arguments):
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        array_type = signature.args[0]
        entry = context.make_array(array_type)(context, builder, arguments[0])
        indices = cgutils.unpack_tuple(builder, arguments[1])
        address = cgutils.get_item_pointer(context, builder, array_type, entry, indices)
        to_read, into_all_caches, data = number(0), number(3), number(1)
        builder.call(function, [builder.bitcast(address, byte), to_read, into_all_caches, data])
        return context.get_dummy_value()

    return types.none(array, types.UniTuple(types.int64, len(index))), build


# --- words that threads share ---


def head_of(records, index):
    """Returns the first two int32 fields of a record, read at once and before everything that is read after them."""
    record = records[index]
    return record[0], record[1]


@overload(head_of)
def _head_of_in_kernel(records, index):
    return lambda records, index: _load_head(records, np.int64(index))  # type: ignore[call-arg]


@intrinsic
def _load_head(typing_context, records, index):
    def build(context, builder, signature, arguments):
        word = builder.load_atomic(_place(context, builder, signature, arguments), ordering="acquire", align=8)
        half = ir.IntType(32)
        first, second = builder.trunc(word, half), builder.trunc(builder.lshr(word, _WORD(32)), half)
        return context.make_tuple(builder, signature.return_type, [first, second])

    return types.UniTuple(types.int32, 2)(records, types.int64), build


def publish_head(records, index, first, second):
    """Writes the first two int32 fields of a record at once, after all that this thread wrote before.

    `records` is modified in place.
    """
    records[index][0], records[index][1] = first, second


@overload(publish_head)
def _publish_head_in_kernel(records, index, first, second):
    def write(records, index, first, second):
        word = (np.int64(second) << 32) | (np.int64(first) & 0xFFFFFFFF)
        _store_word(records, np.int64(index), word)  # type: ignore[call-arg]

    return write


@intrinsic
def _store_word(typing_context, array, index, value):
    def build(context, builder, signature, arguments):
        builder.store_atomic(arguments[2], _place(context, builder, signature, arguments), ordering="release", align=8)
        return context.get_dummy_value()

    return types.none(array, types.int64, types.int64), build


def load_word(array, index):
    """Returns an entry of an int64 array as another thread has published it, with all that it wrote before."""
    return array[index]


@overload(load_word)
def _load_word_in_kernel(array, index):
    return lambda array, index: _load_acquire(array, index)  # type: ignore[call-arg]


@intrinsic
def _load_acquire(typing_context, array, index):
    def build(context, builder, signature, arguments):
        place = _place(context, builder, signature, arguments)
        return builder.load_atomic(place, ordering="acquire", align=8)

    return types.int64(array, types.int64), build


def publish_word(array, index, value):
    """Writes an entry of an int64 array after all that this thread wrote before. Modified in place."""
    array[index] = value


@overload(publish_word)
def _publish_word_in_kernel(array, index, value):
    return lambda array, index, value: _store_word(array, np.int64(index), np.int64(value))  # type: ignore[call-arg]


def add_word(array, index, value):
    """Adds to an entry of an int64 array and returns what stood there, at once for all threads. Modified in place."""
    before = array[index]
    array[index] += value
    return before


@overload(add_word)
def _add_word_in_kernel(array, index, value):
    return lambda array, index, value: _fetch_add(array, np.int64(index), np.int64(value))  # type: ignore[call-arg]


@intrinsic
def _fetch_add(typing_context, array, index, value):
    return types.int64(array, types.int64, types.int64), _read_modify_write("add")


def swap_word(array, index, value):
    """Writes an entry of an int64 array and returns what stood there, at once for all threads. Modified in place."""
    before = array[index]
    array[index] = value
    return before


@overload(swap_word)
def _swap_word_in_kernel(array, index, value):
    return lambda array, index, value: _exchange(array, np.int64(index), np.int64(value))  # type: ignore[call-arg]


@intrinsic
def _exchange(typing_context, array, index, value):
    return types.int64(array, types.int64, types.int64), _read_modify_write("xchg")


def _read_modify_write(operation):
    """Returns the code that changes a word by an operation of LLVM's and returns what stood there."""

    def build(context, builder, signature, arguments):
        place = _place(context, builder, signature, arguments)
        return builder.atomic_rmw(operation, place, arguments[2], ordering="acq_rel")

    return build


def _place(context, builder, signature, arguments):
    """Returns the address of an entry, as that of a word."""
    array_type = signature.args[0]
    array = context.make_array(array_type)(context, builder, arguments[0])
    entry = cgutils.get_item_pointer(context, builder, array_type, array, [arguments[1]])
    return builder.bitcast(entry, _WORD.as_pointer())
