"""Slots: `bind` replaces them by identity at any depth, once per combination, and refuses what cannot be right."""

import types
from types import FunctionType

import numpy as np
import pytest

from mccfr_plus import ConfigError
from mccfr_plus.kernels.compile import inline_kernel, kernel, source_of
from mccfr_plus.kernels.slots import Constant, bind, optional_slot, required_slot
from mccfr_plus.minimizers.minimizer import UPDATE_INFOSET, minimize

FACTOR = Constant("FACTOR", 2.0)
NEGATES = Constant("NEGATES", False)


@optional_slot
def RULE(x):
    """Returns x by default."""
    return x


@required_slot
def NEEDED(x):
    """Has no default."""


RULE_ALIAS = RULE


@inline_kernel
def scaled(x):
    if NEGATES():
        return -FACTOR() * x
    return FACTOR() * x


@kernel
def other(x):
    return x + 1.0


@kernel
def loop(x):
    return RULE(scaled(x)) + other(0.0)


@kernel
def loop_of_aliases(x):
    return RULE_ALIAS(x) + RULE(10.0 * x)


@kernel
def negative(x):
    return -x


@kernel
def scaled_negative(x):
    return -FACTOR() * x


@kernel
def needing(x):
    return NEEDED(x) + 1.0


def closing_over(called):
    @kernel
    def closed(x):
        return called(x) + 1.0

    return closed


def test_slots_are_replaced_at_any_depth():
    assert loop(3.0) == 7.0
    assert bind(loop, {RULE: negative})(3.0) == -5.0
    assert bind(loop, {FACTOR: 10.0})(3.0) == 31.0
    assert bind(loop, {RULE: negative, FACTOR: 10.0})(3.0) == -29.0
    assert bind(bind(loop, {RULE: negative}), {FACTOR: 10.0})(3.0) == -29.0
    assert bind(loop, {NEGATES: True})(3.0) == -5.0
    assert loop(3.0) == 7.0


def test_what_fills_a_slot_is_bound_as_well():
    assert bind(loop, {RULE: scaled_negative, FACTOR: 3.0})(1.0) == -8.0
    first = bind(scaled_negative, {FACTOR: 5.0})  # what was bound before stays
    assert bind(loop, {RULE: first, FACTOR: 3.0})(1.0) == -14.0


def test_aliases_and_closures_are_reached():
    assert bind(loop_of_aliases, {RULE: negative})(1.0) == -11.0
    assert bind(closing_over(RULE), {RULE: negative})(3.0) == -2.0
    assert bind(closing_over(scaled), {FACTOR: 5.0})(3.0) == 16.0


def test_the_same_bindings_give_the_same_kernel():
    assert bind(loop, {RULE: negative}) is bind(loop, {RULE: negative})
    assert bind(loop, {RULE: negative}) is not bind(loop, {RULE: other})
    assert bind(loop, {FACTOR: 3.0}) is not bind(loop, {FACTOR: 3})


def test_kernels_of_one_source_have_names_of_their_own():
    """Numba names symbols after them, also where the last binding is the same."""

    def rule_of(sign):
        @inline_kernel
        def rule(x):
            return sign * x

        return rule

    kernels = [bind(bind(loop, {FACTOR: factor}), {RULE: negative}) for factor in (5.0, 6.0)]
    kernels += [bind(loop, {RULE: rule_of(sign)}) for sign in (1.0, -1.0)]
    assert len({source_of(each).__qualname__ for each in kernels}) == 4
    assert [each(1.0) for each in kernels] == [-4.0, -5.0, 3.0, -1.0]


def test_unknown_and_open_slots_are_refused():
    with pytest.raises(ConfigError, match="loop does not use the slots NEEDED"):
        bind(loop, {NEEDED: negative})
    assert bind(loop, {NEEDED: negative}, partial=True) is loop
    with pytest.raises(ConfigError, match="needing: nothing fills the slots NEEDED"):
        bind(needing, {})
    assert bind(needing, {NEEDED: negative})(1.0) == 0.0


@kernel
def rule_of_two(x, y):
    return x + y


@pytest.mark.parametrize("wrong", [rule_of_two, 1.0, "rule"])
def test_what_fills_a_slot_has_its_parameters(wrong):
    with pytest.raises(ConfigError, match=r"cannot fill RULE, a kernel of \(x\): compile it with Numba"):
        bind(loop, {RULE: wrong})


def test_a_minimizer_without_numba_is_refused():
    with pytest.raises(ConfigError, match=r"cannot fill UPDATE_INFOSET, a kernel of \(values, .* Numba"):
        bind(minimize, {UPDATE_INFOSET: lambda values, strategy: 0.0})


@pytest.mark.parametrize(("attribute", "value"), [("RULE", RULE), ("loop", loop)])
def test_a_slot_behind_a_module_is_refused(attribute, value):
    helpers = types.ModuleType("helpers")
    setattr(helpers, attribute, value)
    source = compile(f"def reaching(x):\n    return helpers.{attribute}(x)", "reaching.py", "exec")
    names = {"helpers": helpers, "__name__": __name__}
    exec(source, names)
    with pytest.raises(ConfigError, match=rf"reaches a slot through helpers.{attribute}: import {attribute}"):
        bind(kernel(names["reaching"]), {RULE: negative})


@kernel
def floor(x):
    """Has the name of a function that it uses."""
    return scaled(np.floor(RULE(x)))


@kernel
def countdown(x):
    return countdown(x - RULE(x)) if x > 0.0 else x


def test_kernels_that_call_themselves_are_refused():
    assert bind(floor, {RULE: other, FACTOR: 3.0})(7.5) == 24.0
    with pytest.raises(ConfigError, match="the kernel countdown calls itself"):
        bind(countdown, {RULE: other})


def test_a_constant_is_a_literal():
    """A branch that the constant rules out is not compiled: its types need not fit."""

    @kernel
    def narrow(x):
        return x.no_such_attribute if NEGATES() else x

    assert bind(narrow, {}, partial=True)(2.0) == 2.0
    assert isinstance(source_of(narrow), FunctionType)
