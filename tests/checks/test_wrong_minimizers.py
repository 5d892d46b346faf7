"""Minimizers that are wrong on purpose: each is caught, and the message says what to look at."""

from dataclasses import dataclass

import numba
import numpy as np
import pytest
from texts import text_of_error

from mccfr_plus import CheckError, Minimizer, RegretMatching, check_minimizer
from mccfr_plus.trees.scratch import at

FAULTS = {
    # fault: what the message must say
    "wrong sign": "grows as fast as time does",
    "not normalised": "plays something other than a distribution",
    "writes to a neighbour's strategy": "writes outside of its slots, to `strategy`",
    "writes to a neighbour's table": "writes outside of its slots, to `tables.0.`",
    "writes to others' values": "writes outside of its slots, to `values`",
    "NaN": "plays NaN or infinity",
    "does nothing": "grows as fast as time does",
    "favours action 0": "treats actions by their places",
    "linear regret": "grows as fast as time does",
    "returns nothing": "does not get near an equilibrium",
    "returns NaN": "returns NaN or infinity",
    "negative probability": "with negative probability",
    "writes to a table of another row": "writes to `tables.1.`, which does not exist",
    "reads a parameter that there is not": r"plays NaN or infinity[^$]*`parameters\(\)`, which has 1 numbers",
    "depends on the slot": "plays differently when actions and information states are listed in another order",
}
NUMBERS = {name: number for number, name in enumerate(FAULTS, 1)}


@numba.njit(error_model="numpy")
def rule(values, strategy, tables, first, last, iteration, parameters):
    """Regret matching with the fault whose number is the parameter; 0: none."""
    fault = parameters[0]
    value, total = 0.0, 0.0
    for slot in range(first, last):
        value += strategy[slot] * values[slot]
    if fault == 7:
        return value
    for slot in range(first, last):
        instant = values[slot] - value
        if fault == 1:
            instant = -instant
        if fault == 9:  # follows the leader of the last round
            tables[0, slot] = 0.0
        tables[0, slot] += instant
        strategy[slot] = max(tables[0, slot], 0.0)
        if fault == 12 and tables[0, slot] < -2.0:
            strategy[slot] = -0.1
        if fault == 8 and slot == first:
            strategy[slot] *= 1.01
        if fault == 15:
            strategy[slot] *= 1.0 + 1e-4 * (first % 7)
            strategy[slot] += 1e-4 * (first % 5)
        total += strategy[slot]
    for slot in range(first, last):
        if fault == 6:
            strategy[slot] /= total
        elif fault != 2 or total <= 0.0:
            strategy[slot] = strategy[slot] / total if total > 0.0 else 1.0 / (last - first)
    if fault == 3:
        strategy[at(last)] = 0.5
    if fault == 4:
        tables[0, first - 1] += 1.0
    if fault == 5:
        values[at(last)] += 1.0
    if fault == 10:
        return 0.0
    if fault == 13:
        tables[at(1), first] += 1.0
    if fault == 14:
        strategy[first] += parameters[at(1)]
    if fault == 11:
        return value / 0.0 - value / 0.0
    return value


@dataclass(frozen=True)
class Wrong(Minimizer):
    fault: str = ""
    short_name = "wrong"
    kernel = staticmethod(rule)

    def parameters(self):
        return np.array([NUMBERS.get(self.fault, 0)], np.float64)


def test_without_a_fault_it_passes():
    assert "relabelled game" in str(check_minimizer(Wrong()))


@pytest.mark.parametrize("fault", list(FAULTS))
def test_faults_are_caught(fault):
    text = text_of_error(lambda: check_minimizer(Wrong(fault)), FAULTS[fault])
    assert text.startswith(f"Wrong(fault={fault!r}): ")
    assert "where: game" in text


@dataclass(frozen=True)
class Bounded(RegretMatching):
    factor: float = 1.0

    def regret_bound(self, rounds, actions, width):
        return self.factor * width * (actions * rounds) ** 0.5


def test_a_method_gives_the_bound():
    assert "bound" in str(check_minimizer(Bounded()))
    with pytest.raises(CheckError, match="more regret than its bound"):
        check_minimizer(Bounded(0.01))
