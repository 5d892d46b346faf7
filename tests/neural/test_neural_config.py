"""Configs: values out of range are errors when they are built."""

import dataclasses
import json
import math

import pytest

from mccfr_plus.errors import ConfigError
from mccfr_plus.neural import DeepCFRConfig


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("traversals", 0, "traversals=0: must be a whole number, at least 1"),
        ("traversals", 1.5, "traversals=1.5"),
        ("batch_size", True, "batch_size=True"),
        ("train_steps", -1, "train_steps=-1"),
        ("threads", 0, "threads=0"),
        ("threads", 10**30, "this machine has"),
        ("hidden_layers", 64, r"hidden_layers=64: give a tuple of widths, such as \(128, 128\)"),
        ("hidden_layers", (64, 0), "a width in hidden_layers=0"),
        ("learning_rate", 0.0, "learning_rate=0.0: must be a positive number"),
        ("learning_rate", math.nan, "learning_rate=nan"),
        ("gradient_clip", -1.0, "gradient_clip=-1.0"),
        ("warm_start", 1, "warm_start=1: must be True or False"),
        ("memory", "ring", "memory='ring': give one of aggregated, reservoir"),
        ("weighting", "quadratic", "give one of linear, uniform"),
        ("fallback", "first", "give one of argmax, uniform"),
    ],
)
def test_out_of_range(name, value, message):
    with pytest.raises(ConfigError, match=message):
        DeepCFRConfig(**{name: value})


def test_is_frozen_and_round_trips_through_json():
    config = DeepCFRConfig(hidden_layers=[32, 16], gradient_clip=1.0)
    assert config.hidden_layers == (32, 16)
    assert hash(config) == hash(DeepCFRConfig(hidden_layers=(32, 16), gradient_clip=1.0))
    assert eval(repr(config)) == config
    assert DeepCFRConfig(**json.loads(json.dumps(config.as_dict()))) == config
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.traversals = 1
