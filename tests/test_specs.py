"""Specs: ``name(key=value, ...)`` as text."""

import math

import pytest

from mccfr_plus.specs import parse_spec, split_specs


def test_values_are_literals_words_and_specs():
    name, parameters = parse_spec(' external ( a=1e999, b=(64, 64), c="x,)", d=rm+, e=hedge(eta=(1,)), f.g=True)')
    assert name == "external"
    assert parameters == {
        "a": math.inf, "b": (64, 64), "c": "x,)", "d": "rm+", "e": "hedge(eta=(1,))", "f.g": True,
    }  # fmt: skip
    assert parse_spec("openspiel:cfr+") == ("openspiel:cfr+", {})
    assert parse_spec("full()") == ("full", {})


def test_commas_inside_brackets_do_not_split():
    assert split_specs("external(a=1, b=2), cfr+ ,outcome") == ["external(a=1, b=2)", "cfr+", "outcome"]
    assert split_specs(" ") == []


@pytest.mark.parametrize(
    "text",
    ["", "a b", "a(1)", "a(b)", "a(b=)", "a(b=1,b=2)", "a(b=1,)", "a(b=1", "a(b=(1])", "a(b=__import__('os').x)", "a)(",
     "a(b=1)(c=2)", "a(b=c(d))", "a(b='1)"],
)  # fmt: skip
def test_anything_else_is_a_syntax_error(text):
    with pytest.raises(SyntaxError):
        parse_spec(text)
