"""Averages that are wrong on purpose: each is caught, and the message says what to look at."""

from dataclasses import dataclass

import numba
import numpy as np
import pytest
from texts import text_of_error

from mccfr_plus import PowerAverage, check_average
from mccfr_plus.kernels.intrinsics import pointer
from mccfr_plus.trees.scratch import refresh_reach

FAULTS = {
    # fault: what the message must say
    "forgets reach": "is biased",
    "forgets the weight": "is biased",
    "visits by draws of others": "is biased",
    "NaN": "adds NaN or infinity",
    "negative": "makes a sum of the average negative",
    "leaves infosets out": "adds nothing up at an infoset",
    "writes to the strategy": "writes to the strategy",
}
NUMBERS = {name: number for number, name in enumerate(FAULTS, 1)}


SELECTED = np.zeros(1, np.int64)  # the number of the fault, or 0: the kernel reads it there, and is compiled once
ADDRESS = SELECTED.ctypes.data


@numba.njit(error_model="numpy")
def add(tree, strategy, average, scratch, player, weight):
    fault = numba.carray(pointer(ADDRESS), 1, np.int64)[0]
    refresh_reach(tree, strategy, scratch, player)
    first, last = tree.slot_range[player], tree.slot_range[player + 1]
    if fault == 2:
        weight = 1.0
    if fault == 3:  # the weight of this iteration depends on another player's strategy
        weight *= strategy[tree.slot_range[len(tree.slot_range) - 2 - player]]
    if fault == 4:
        weight = np.inf * 0.0
    if fault == 5:
        weight = -weight
    if fault == 6:
        last -= 2
    if fault == 7:
        strategy[first] += 1e-3
    for slot in range(first, last):
        average[slot] += weight * (strategy[slot] if fault == 1 else scratch.reach[slot])


@dataclass(frozen=True)
class Wrong(PowerAverage):
    fault: str = ""

    @property
    def kernel(self):
        SELECTED[0] = NUMBERS.get(self.fault, 0)
        return add


def test_without_a_fault_it_passes():
    assert check_average(Wrong()).figures["bias"] < 1e-10


@pytest.mark.parametrize("fault", list(FAULTS))
def test_faults_are_caught(fault):
    assert "where: game" in text_of_error(lambda: check_average(Wrong(fault=fault)), FAULTS[fault])
