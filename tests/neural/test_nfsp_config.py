"""NFSP's config: values out of range are errors when it is built."""

import dataclasses
import json
import math

import pytest

from mccfr_plus.errors import ConfigError
from mccfr_plus.neural import NFSPConfig


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("episodes", 0, "episodes=0: must be a whole number, at least 1"),
        ("batch_size", True, "batch_size=True"),
        ("learn_every", 1.5, "learn_every=1.5"),
        ("parallel_episodes", 0, "parallel_episodes=0"),
        ("target_every", -1, "target_every=-1"),
        ("min_samples", 0, "min_samples=0"),
        ("transition_capacity", 0, "transition_capacity=0"),
        ("decision_capacity", 0, "decision_capacity=0"),
        ("epsilon_decay", 0, "epsilon_decay=0"),
        ("threads", 0, "threads=0"),
        ("threads", 10**30, "this machine has"),
        ("hidden_layers", 64, "hidden_layers=64: give a tuple of widths"),
        ("hidden_layers", (64, 0), "a width in hidden_layers=0"),
        ("value_learning_rate", 0.0, "value_learning_rate=0.0: must be a positive number"),
        ("learning_rate", math.inf, "learning_rate=inf"),
        ("gradient_clip", -1.0, "gradient_clip=-1.0"),
        ("anticipatory", 1.1, "anticipatory=1.1: must be a probability, from 0 to 1"),
        ("anticipatory", True, "anticipatory=True"),
        ("epsilon_start", math.nan, "epsilon_start=nan"),
        ("epsilon_end", -0.1, "epsilon_end=-0.1"),
        ("scale_targets", 1, "scale_targets=1: must be True or False"),
    ],
)
def test_out_of_range(name, value, message):
    with pytest.raises(ConfigError, match=message):
        NFSPConfig(**{name: value})


def test_inconsistent_settings():
    with pytest.raises(ConfigError, match=r"transition_capacity=100 is smaller than min_samples=1000"):
        NFSPConfig(transition_capacity=100)
    with pytest.raises(ConfigError, match=r"decision_capacity=5000 is smaller than min_samples=6000"):
        NFSPConfig(decision_capacity=5000, min_samples=6000)
    NFSPConfig(anticipatory=0, epsilon_start=0.0, epsilon_end=0.0)


def test_exploration_decays():
    config = NFSPConfig(epsilon_start=0.5, epsilon_end=0.1, epsilon_decay=1000)
    assert config.epsilon(0) == 0.5
    assert config.epsilon(1000) == pytest.approx(0.1 + 0.4 / math.e)
    assert config.epsilon(10**6) == pytest.approx(0.1)


def test_is_frozen_and_round_trips_through_json():
    config = NFSPConfig(hidden_layers=[32, 16], gradient_clip=1.0)
    assert config.hidden_layers == (32, 16)
    assert hash(config) == hash(NFSPConfig(hidden_layers=(32, 16), gradient_clip=1.0))
    assert eval(repr(config)) == config
    assert NFSPConfig(**json.loads(json.dumps(config.as_dict()))) == config
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.episodes = 1
