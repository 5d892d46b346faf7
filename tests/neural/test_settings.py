"""Configs and specs: values out of range are errors, and defaults that depend on the representation."""

import dataclasses
import json
import math

import pytest

from mccfr_plus import neural
from mccfr_plus.errors import ConfigError
from mccfr_plus.neural import DeepCFRConfig, DREAMConfig, ESCHERConfig, NFSPConfig, settings_of


@pytest.mark.parametrize(
    ("kind", "name", "value", "message"),
    [
        (DeepCFRConfig, "traversals", 0, "traversals=0: must be an integer, at least 1"),
        (DeepCFRConfig, "hidden_layers", 64, r"hidden_layers=64: give a tuple of widths, such as \(128, 128\)"),
        (DeepCFRConfig, "learning_rate", math.nan, "learning_rate=nan: must be a positive number"),
        (DeepCFRConfig, "warm_start", 1, "warm_start=1: must be True or False"),
        (DeepCFRConfig, "memory", "ring", "memory='ring': give one of aggregated, reservoir"),
        (DREAMConfig, "epsilon", 0.0, "epsilon=0.0: must be above 0 and at most 1"),
        (DREAMConfig, "baseline_training", {"train_steps": 3}, "give a TrainingConfig"),
        (NFSPConfig, "anticipatory", 1.1, "anticipatory=1.1: must be a probability, from 0 to 1"),
        (NFSPConfig, "transition_capacity", 100, "transition_capacity=100 must be at least min_samples, which is 1000"),
    ],
)
def test_out_of_range(kind, name, value, message):
    with pytest.raises(ConfigError, match=message):
        kind(**{name: value})


@pytest.mark.parametrize("kind", [DeepCFRConfig, NFSPConfig])
def test_is_frozen_and_round_trips_through_json(kind):
    config = kind(hidden_layers=[32, 16]).resolved("batched")
    assert config.hidden_layers == (32, 16)
    assert hash(config) == hash(kind(hidden_layers=(32, 16)).resolved("batched"))
    assert kind().changed(json.loads(json.dumps(config.as_dict()))) == config
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.threads = 1


def test_defaults_depend_on_the_representation():
    config = DeepCFRConfig(traversals=7)
    tree, batched = config.resolved("tree"), config.resolved("batched")
    assert (tree.traversals, tree.memory, tree.learning_rate) == (7, "aggregated", 2e-3)
    assert (batched.traversals, batched.memory, batched.learning_rate) == (7, "reservoir", 1e-3)
    assert batched.resolved("tree") == batched
    for wrong in (DeepCFRConfig(memory="aggregated"), ESCHERConfig(values="exact")):
        with pytest.raises(ConfigError, match=r"needs a compiled tree: omit \w+, or give representation='tree'"):
            wrong.resolved("batched")


def test_specs():
    name, config, representation = settings_of(
        "escher(value_training.train_steps=5, traversals=1e3, hidden_layers=[8, 8], representation=batched)"
    )
    assert (name, representation, config.value_training.train_steps) == ("escher", "batched", 5)
    assert (config.traversals, config.hidden_layers) == (1000, (8, 8))
    assert settings_of("nfsp").config == NFSPConfig()
    assert set(neural.ALGORITHMS) == {"deep_cfr", "dream", "escher", "nfsp"}


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("cfr", "unknown neural algorithm 'cfr': give one of deep_cfr, dream, escher, nfsp"),
        ("dream(traversal=3)", "has no setting 'traversal'. Did you mean 'traversals'"),
        ("dream(baseline_training.train_steps=0)", "train_steps=0: must be an integer"),
    ],
)
def test_bad_specs(spec, message):
    with pytest.raises(ConfigError, match=message):
        settings_of(spec)


def test_solvers_of_specs():
    pytest.importorskip("torch")
    from mccfr_plus.errors import BudgetError

    solver = neural.new_solver("kuhn_poker", "dream(traversals=20, representation=batched)", seed=3)
    assert (type(solver), solver.seed, solver.config.traversals) == (neural.DREAM, 3, 20)
    assert neural.new_solver("leduc_poker", "dream(hidden_layers=[8])", max_nodes=1000).representation.kind == "batched"
    with pytest.raises(BudgetError, match="Or give representation='batched'"):
        neural.new_solver("leduc_poker", "dream(representation=tree)", max_nodes=1000)
