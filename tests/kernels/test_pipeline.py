"""Kernels without reference counts: what they may do, and that inline ones are not compiled more often than needed."""

import numba
import numpy as np
import pytest
from numba.core.errors import UnsupportedError

from mccfr_plus.kernels.compile import allocating_kernel, expression_kernel, inline_kernel, kernel
from mccfr_plus.kernels.intrinsics import address_of, pointer, unlikely


def sum_of_copy(array):
    copy = array + 1.0
    return copy.sum()


def test_only_allocating_kernels_make_arrays():
    array = np.arange(3.0)
    with pytest.raises(UnsupportedError, match="sum_of_copy makes an array"):
        kernel(sum_of_copy)(array)
    assert allocating_kernel(sum_of_copy)(array) == 6.0
    with pytest.raises(UnsupportedError, match="sum_of_copy makes an array"):
        kernel(sum_of_copy)(array)  # what the disk has of the other one is not taken for it


@kernel
def copies_a_row(table):
    table[1, :] = table[0]


@allocating_kernel
def zeros(count):
    return np.zeros(count)


@kernel
def calls_zeros(count):
    return zeros(count)[0]


def test_only_allocating_kernels_copy_slices_and_call_those_that_allocate():
    with pytest.raises(UnsupportedError, match="copies_a_row makes an array, or copies a slice"):
        copies_a_row(np.zeros((2, 2)))
    with pytest.raises(UnsupportedError, match="calls_zeros makes an array"):
        calls_zeros(3)


@inline_kernel
def increment(number):
    return number + 1


@kernel
def increments(number):
    return increment(1) + increment(2) + increment(number)


def test_one_version_serves_all_constants(monkeypatch, tmp_path):
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path))  # it is not on disk
    assert increments(3) == 9
    assert len(increment.overloads) == 1


@kernel
def viewed(array):
    return array.view(np.int64)[0] + array.reshape((1, 2)).view(np.int64)[0, 1]


def test_views_are_not_new_arrays():
    assert viewed(np.zeros(2)) == 0


@inline_kernel
def words_at(address):
    return numba.carray(pointer(address), 2, np.int64)


@expression_kernel
def also_words_at(address):
    return words_at(address)


def write_both(address, index):
    if unlikely(index > 1):
        return
    words_at(address)[index] = 1
    also_words_at(address)[1 - index] = 2


@pytest.mark.parametrize("decorator", [kernel, allocating_kernel])
def test_what_is_written_and_not_read_is_kept(decorator):
    words = np.zeros(2, np.int64)
    decorator(write_both)(address_of(words), 0)
    assert words.tolist() == [1, 2]
