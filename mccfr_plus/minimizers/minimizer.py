"""The contract of minimizers, `minimize`, which calls their kernels, and regret matching: one kernel, two switches."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mccfr_plus.errors import ConfigError
from mccfr_plus.kernels.compile import inline_kernel
from mccfr_plus.kernels.slots import Constant, bind, optional_slot, required_slot
from mccfr_plus.parameters import Component, number
from mccfr_plus.trees.needs import DIFFERENCES, REGRETS
from mccfr_plus.trees.scratch import FETCH_AHEAD, FETCH_ROWS_AHEAD, LOOK_AHEAD, TIED, at, list_begin
from mccfr_plus.trees.tree import Tree

REGRET = 0  # the row of the tables that holds cumulative regrets

_SMALLEST_TOTAL = 1e-300  # keeps 1 / total finite

CUTS = Constant("CUTS", False, "Whether negative cumulative regrets become 0.")
PREDICTS = Constant("PREDICTS", False, "Whether the last regrets count again, as a prediction of the next ones.")


@dataclass(frozen=True)
class Minimizer(Component):
    """Minimizes regret at every information set, given exact or sampled action values.

    ``kernel(values, strategy, tables, first, last, iteration, parameters) -> float`` is a Numba function. It is called
    once for each touched infoset that has several actions, children before parents. `values` and `strategy` have shape
    ``[num_slots]``, and `tables` ``[num_tables, num_slots]``; the infoset's slots are first .. last - 1. The kernel's
    contract:

    1. ``values[first:last]`` are the counterfactual values of the actions, and ``strategy[first:last]`` is the strategy
       that was played. Update ``tables[:, first:last]`` and write the next strategy to ``strategy[first:last]``.
    2. Return the value that the infoset passes to its parent: for regret matching, the expected value of the strategy
       played.
    3. Do not write to other slots. You may use ``values[first:last]`` as scratch memory.
    4. Never write anything but probabilities to `strategy`, even temporarily: with ``thread_mode="fast"``, threads
       share it.

    docs/tutorials/own-components.md has a complete example.

    Attributes:
        short_name: The minimizer's name in messages.
        kernel: The kernel, as a ``staticmethod``, or as a property if the kernel depends on the parameters.
        prepare: A kernel that is called once per update, before the first infoset is processed. Default: none. Its
            signature is ``prepare(tree, strategy, tables, scratch, player, iteration, parameters)``; it may modify
            `tables`, `scratch` and `parameters`.
        num_tables: Number of rows of the tables.
        references: Keys of `mccfr_plus.citations`.
        provides: The minimizer's properties, from `mccfr_plus.trees.needs`: `REGRETS` if row 0 of the tables holds
            cumulative regrets, including negative ones, possibly without the latest discounts; `DIFFERENCES` if the
            minimizer uses only differences between an infoset's values, so that `full` may omit payoffs that are equal
            for all actions.
        needs: The features, also from `mccfr_plus.trees.needs`, that the minimizer needs from the tree and other
            components.
        default_average: Short name of the average in the minimizer's paper.

    Examples:
        >>> mccfr_plus.Discounted(alpha=1.5, beta=0.0).parameters()[:2]
        array([1.5, 0. ])
    """

    short_name: ClassVar[str] = "user-defined"
    kernel: ClassVar[Any] = None
    prepare: ClassVar[Any] = None
    num_tables: ClassVar[int] = 1
    references: ClassVar[tuple[str, ...]] = ()
    provides: ClassVar[frozenset[str]] = frozenset()
    needs: ClassVar[frozenset[str]] = frozenset()
    default_average: ClassVar[str] = "uniform"

    def parameters(self) -> np.ndarray:
        """Returns the ``parameters`` of the kernels (float64), which the kernels may modify."""
        return np.zeros(0)

    def tables(self, tree: Tree) -> np.ndarray:
        """Returns the tables as they are before the first iteration, ``[num_tables, tree.slot_capacity]`` float64."""
        return np.zeros((self.num_tables, tree.slot_capacity))

    def begin(self, tree: Tree, tables: np.ndarray) -> None:
        """Initializes, in place, the entries of `tables` that depend on all infosets, where `INFOSETS` is needed."""

    def cumulative_regrets(self, tables: np.ndarray, parameters: np.ndarray, slots: slice) -> np.ndarray:
        """Returns the current cumulative regrets of one infoset's actions."""
        return tables[0, slots].copy()


@required_slot
def UPDATE_INFOSET(values, strategy, tables, first, last, iteration, parameters):
    """The kernel of a minimizer; see `Minimizer`."""


@optional_slot
def PREPARE(tree, strategy, tables, scratch, player, iteration, parameters):
    """The `prepare` of a minimizer; does nothing by default."""


@inline_kernel
def _fetch(infoset, gradient, strategy, tables):
    """Begins to fetch what an update reads, where the game is not stored."""
    FETCH_AHEAD(gradient, infoset["parent_slot"])
    FETCH_AHEAD(gradient, infoset["first_slot"], infoset["num_actions"])
    FETCH_AHEAD(strategy, infoset["first_slot"], infoset["num_actions"])
    FETCH_ROWS_AHEAD(tables, infoset["first_slot"], infoset["num_actions"])


@inline_kernel
def minimize(tree, strategy, tables, scratch, player, iteration, parameters):
    """Updates the player's touched infosets, children before parents, and passes their values up.

    First-visit order puts parents first, so that the list is read backward. An infoset with one action is not updated.
    `strategy`, `tables` and `scratch` are modified in place; the gradient becomes meaningless.
    """
    gradient, touched = scratch.gradient, scratch.touched
    PREPARE(tree, strategy, tables, scratch, player, iteration, parameters)
    if TIED():
        _minimize_tied(tree, strategy, tables, scratch, player, iteration, parameters)
        return
    begin = tree.infoset_range[player]
    last = begin + scratch.num_touched[player] - 1
    for position in range(last, max(last - LOOK_AHEAD, begin - 1), -1):
        _fetch(touched[at(position)], gradient, strategy, tables)
    for position in range(last, begin - 1, -1):
        if position >= begin + LOOK_AHEAD:
            _fetch(touched[at(position - LOOK_AHEAD)], gradient, strategy, tables)
        infoset = touched[at(position)]
        first = infoset["first_slot"]
        count = infoset["num_actions"]
        if count == 2:  # as most often; with a constant there are no loops
            value = UPDATE_INFOSET(gradient, strategy, tables, first, first + 2, iteration, parameters)
        elif count > 2:
            value = UPDATE_INFOSET(gradient, strategy, tables, first, first + count, iteration, parameters)
        else:
            value = gradient[at(first)]
        gradient[at(infoset["parent_slot"])] += value
    scratch.reach_valid[player] = 0


@inline_kernel
def _minimize_tied(tree, strategy, tables, scratch, player, iteration, parameters):
    """Passes values up under the strategy that was played, adds up each infoset's entries, and updates it once."""
    gradient, entries, stamps = scratch.gradient, scratch.touched, scratch.stamps
    begin, stamp = list_begin(tree, scratch, player), scratch.counts[0]["stamp"]
    end = begin + scratch.num_touched[player]
    for position in range(end - 1, begin - 1, -1):
        entry = entries[at(position)]
        first, base, count = entry["first_slot"], entry["base"], entry["num_actions"]
        is_new, value = stamps[at(first)] != stamp, 0.0
        stamps[at(first)] = stamp
        for action in range(count):
            value += strategy[at(first + action)] * gradient[at(base + action)]
            # The slots of infosets are free: traversals write to those of entries.
            before = 0.0 if is_new else gradient[at(first + action)]
            gradient[at(first + action)] = before + gradient[at(base + action)]
        gradient[at(entry["parent_slot"])] += value
        entry["histories"] = 1 if is_new else 0  # from now on: whether the infoset is updated here
    for position in range(begin, end):
        first, count = entries[at(position)]["first_slot"], entries[at(position)]["num_actions"]
        if entries[at(position)]["histories"] == 1 and count > 1:
            UPDATE_INFOSET(gradient, strategy, tables, first, first + count, iteration, parameters)


def minimize_with(minimizer: Minimizer) -> Callable:
    """Returns `minimize` with the kernels of a minimizer; raises ConfigError if it has none."""
    if minimizer.kernel is None:
        raise ConfigError(f"{minimizer!r} has no kernel: define one in its class; see mccfr_plus.Minimizer.")
    kernels = {UPDATE_INFOSET: minimizer.kernel, PREPARE: minimizer.prepare}
    return bind(minimize, {place: given for place, given in kernels.items() if given is not None})


@inline_kernel
def expected_value(values, strategy, first, last):
    """Returns the expected value of the strategy at one infoset."""
    value = 0.0
    for slot in range(first, last):
        value += strategy[at(slot)] * values[at(slot)]
    return value


@inline_kernel
def play_in_proportion(shares, strategy, first, last, total):
    """Makes the strategy's entries proportional to shares that sum to `total`, or uniform if that is 0.

    Writes nothing but probabilities: in fast mode another thread reads them, and regrets would grow without end.
    """
    if total > _SMALLEST_TOTAL:
        scale = 1.0 / total
        for slot in range(first, last):
            strategy[at(slot)] = shares[at(slot)] * scale
    else:
        for slot in range(first, last):
            strategy[at(slot)] = 1.0 / (last - first)


@inline_kernel
def match_regrets(values, strategy, tables, first, last, iteration, parameters):
    """Updates an infoset. See `Minimizer`. With `PREDICTS` the first parameter is the weight of the prediction."""
    value, total = expected_value(values, strategy, first, last), 0.0
    weight = parameters[0] if PREDICTS() else 0.0
    for slot in range(first, last):
        if PREDICTS():
            instant = values[at(slot)] - value
            regret = tables[REGRET, at(slot)] + instant
        else:
            regret = tables[REGRET, at(slot)] + values[at(slot)] - value
        if CUTS():
            regret = max(regret, 0.0)
        tables[REGRET, at(slot)] = regret
        if PREDICTS():
            share = max(regret + weight * instant, 0.0)
        elif CUTS():
            share = regret
        else:
            share = max(regret, 0.0)
        values[at(slot)] = share
        total += share
    play_in_proportion(values, strategy, first, last, total)
    return value


@dataclass(frozen=True)
class RegretMatching(Minimizer):
    """Regret matching (Hart and Mas-Colell 2000), the rule of CFR and of MCCFR.

    Let r be the regrets of this iteration and R the cumulative regrets. Then R += r, and the next strategy is
    proportional to [R]+, or uniform if no entry is positive.

    Examples:
        >>> mccfr_plus.Solver("kuhn_poker", "full", mccfr_plus.RegretMatching()).run(100).exploitability() < 0.05
        True
    """

    short_name: ClassVar[str] = "rm"
    references: ClassVar[tuple[str, ...]] = ("hart2000simple",)
    provides: ClassVar[frozenset[str]] = frozenset({REGRETS, DIFFERENCES})
    kernel: ClassVar[Any] = staticmethod(match_regrets)


@dataclass(frozen=True)
class RegretMatchingPlus(Minimizer):
    """Regret matching with cumulative regrets clipped at 0 (Tammelin et al. 2015), the rule of CFR+.

    Let r be the regrets of this iteration and R the cumulative regrets. Then R becomes [R + r]+, and the next strategy
    is proportional to R, or uniform if R is 0.

    Examples:
        >>> mccfr_plus.Solver("kuhn_poker", "full", mccfr_plus.RegretMatchingPlus()).run(100).exploitability() < 0.05
        True
    """

    short_name: ClassVar[str] = "rm+"
    provides: ClassVar[frozenset[str]] = frozenset({DIFFERENCES})
    references: ClassVar[tuple[str, ...]] = ("tammelin2014solving", "tammelin2015solving")
    default_average: ClassVar[str] = "linear"
    kernel: ClassVar[Any] = staticmethod(bind(match_regrets, {CUTS: True, PREDICTS: False}))


@dataclass(frozen=True)
class PredictiveRegretMatching(Minimizer):
    """Predictive regret matching (Farina, Kroer and Sandholm 2021, algorithm 3).

    Let r be the regrets of this iteration and R the cumulative regrets. Then R becomes R + r, and the next
    strategy is proportional to [R + r]+ with this new R, or uniform if no entry is positive: r serves as the prediction
    of the next regrets.

    Examples:
        >>> solver = mccfr_plus.Solver("kuhn_poker", "full", mccfr_plus.PredictiveRegretMatching())
        >>> solver.run(100).exploitability() < 0.05
        True
    """

    short_name: ClassVar[str] = "prm"
    references: ClassVar[tuple[str, ...]] = ("farina2021faster",)
    provides: ClassVar[frozenset[str]] = frozenset({REGRETS, DIFFERENCES})
    kernel: ClassVar[Any] = staticmethod(bind(match_regrets, {CUTS: False, PREDICTS: True}))

    def parameters(self) -> np.ndarray:
        return np.ones(1)


@dataclass(frozen=True)
class PredictiveRegretMatchingPlus(Minimizer):
    """Predictive regret matching+ (Farina, Kroer and Sandholm 2021, algorithm 4), the rule of PCFR+.

    Let r be the regrets of this iteration and R the cumulative regrets. Then R becomes [R + r]+, and the next strategy
    is proportional to [R + r / (1 + alpha)]+: r serves as the prediction of the next regrets.

    Args:
        alpha: A nonnegative number that reduces the weight of the prediction to 1 / (1 + alpha). SAPCFR+ uses 2 (Meng
            et al. 2026, equation 4).

    Examples:
        >>> solver = mccfr_plus.Solver("kuhn_poker", "full", mccfr_plus.PredictiveRegretMatchingPlus())
        >>> solver.run(100).exploitability() < 0.05
        True
    """

    alpha: float = number(0.0, least=0)
    short_name: ClassVar[str] = "prm+"
    provides: ClassVar[frozenset[str]] = frozenset({DIFFERENCES})
    default_average: ClassVar[str] = "power"
    kernel: ClassVar[Any] = staticmethod(bind(match_regrets, {CUTS: True, PREDICTS: True}))

    @property
    def references(self) -> tuple[str, ...]:  # type: ignore[override]
        """Keys of `mccfr_plus.citations`."""
        return ("farina2021faster", *(("meng2026faster",) if self.alpha else ()))

    def parameters(self) -> np.ndarray:
        return np.array([1.0 / (1.0 + self.alpha)])


def simple_asymmetric() -> PredictiveRegretMatchingPlus:
    """Returns the rule of SAPCFR+ (Meng et al. 2026): the prediction has a weight of a third (alpha = 2)."""
    return PredictiveRegretMatchingPlus(alpha=2.0)
