"""Composing kernels: names are replaced at any depth, once per combination, and what does not change stays."""

from types import FunctionType

import numpy as np
import pytest

from mccfr_plus import ConfigError
from mccfr_plus.kernels.compile import compose, inline_kernel, kernel

FACTOR = 2.0


@inline_kernel
def rule(x):
    """The place of a rule."""
    return x


@inline_kernel
def scaled(x):
    return FACTOR * x


@kernel
def other(x):
    return x + 1.0


@kernel
def loop(x):
    return rule(scaled(x)) + other(0.0)


@kernel
def negative(x):
    return -x


def test_names_are_replaced_at_any_depth():
    assert loop(3.0) == 7.0
    assert compose(loop, rule=negative)(3.0) == -5.0
    assert compose(loop, FACTOR=10.0)(3.0) == 31.0
    assert compose(loop, rule=negative, FACTOR=10.0)(3.0) == -29.0
    assert compose(compose(loop, rule=negative), FACTOR=10.0)(3.0) == -29.0
    assert loop(3.0) == 7.0


def test_the_same_names_give_the_same_kernel():
    assert compose(loop, rule=negative) is compose(loop, rule=negative)
    assert compose(loop, rule=negative) is not compose(loop, rule=other)
    assert compose(loop, rule=rule, FACTOR=FACTOR) is loop


def test_kernels_of_one_source_have_names_of_their_own():
    """Also where the last thing that is composed is the same: Numba names symbols after them."""
    kernels = [compose(compose(loop, FACTOR=factor), rule=negative) for factor in (5.0, 6.0)]
    names = {getattr(each, "py_func", each).__qualname__ for each in kernels}
    assert len(names) == 2
    assert [each(1.0) for each in kernels] == [-4.0, -5.0]


def test_a_rule_that_is_defined_anew_gives_a_kernel_of_another_name():
    """As when a cell of a notebook is run again."""

    def rule_of(sign):
        @inline_kernel
        def rule(x):
            return sign * x

        return rule

    kernels = [compose(loop, rule=rule_of(sign)) for sign in (1.0, -1.0)]
    assert len({getattr(each, "py_func", each).__qualname__ for each in kernels}) == 2
    assert [each(1.0) for each in kernels] == [3.0, -1.0]


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match="loop does not use nothing, rules"):
        compose(loop, rules=negative, nothing=1, FACTOR=3.0)
    assert compose(loop, strict=False, rules=negative) is loop


@kernel
def rule_of_two(x, y):
    return x + y


first_loop = second_loop = loop


@kernel
def two_loops(x):
    return first_loop(x) + second_loop(x)


def _with_globals(function, **own):
    """Returns a copy of a kernel for which some names mean something else, as in another module."""
    source = getattr(function, "py_func", function)
    return kernel(FunctionType(source.__code__, {**source.__globals__, **own}, source.__name__))


@pytest.mark.parametrize("own", [rule_of_two, 1.0], ids=["kernel", "constant"])
def test_a_global_of_another_kind_is_not_replaced(own):
    loop_of_another = _with_globals(loop, rule=own)
    message = r"The global rule of .*test_compose.loop is not what is composed .*, which is a kernel of \(x\). Give"
    with pytest.raises(ConfigError, match=message):
        compose(loop_of_another, rule=negative)
    assert compose(loop_of_another, rule=own) is loop_of_another


def test_a_name_with_two_meanings_is_refused():
    """As in a user-defined component that has a global with the name of one of the package's kernels."""
    for name, second in (
        ("rule", _with_globals(loop, rule=other)),
        ("FACTOR", _with_globals(loop, scaled=_with_globals(scaled, FACTOR=3.0))),
    ):
        both = _with_globals(two_loops, second_loop=second)
        with pytest.raises(ConfigError, match=rf"The global {name} of .*test_compose\.\w+ is not what is composed"):
            compose(both, rule=negative, FACTOR=5.0)


@kernel
def floor(x):
    """Has the name of a function that it uses."""
    return FACTOR * np.floor(rule(x))


@kernel
def countdown(x):
    return countdown(x - rule(x)) if x > 0.0 else x


def test_an_attribute_may_have_the_name_of_a_kernel():
    assert compose(floor, rule=other, FACTOR=3.0)(7.5) == 24.0


def test_a_kernel_that_calls_itself_is_refused():
    with pytest.raises(ConfigError, match="The kernel countdown calls countdown, from which it was called"):
        compose(countdown, rule=other)
