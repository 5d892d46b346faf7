"""Every algorithm in every representation, with small networks and memories: the table that tests of all share."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from mccfr_plus import neural
from mccfr_plus.neural import DeepCFRConfig, DREAMConfig, ESCHERConfig, NFSPConfig, TrainingConfig

SMALL = TrainingConfig(hidden_layers=(8,), train_steps=3, batch_size=16)
COMMON = {"hidden_layers": (8,), "train_steps": 3, "batch_size": 16, "traversals": 30, "policy_training": SMALL}
RESERVOIR = {"memory": "reservoir", "memory_capacity": 100}  # full in the second iteration
PLAY = NFSPConfig(
    episodes=60,
    parallel_episodes=10,
    hidden_layers=(8,),
    batch_size=16,
    learn_every=32,
    target_every=3,
    min_samples=20,
    transition_capacity=120,
    decision_capacity=25,
)


class Case(NamedTuple):
    """An algorithm with its config and representation."""

    algorithm: str
    config: Any
    representation: str

    def new(self, game: Any = "kuhn_poker", seed: int = 1, **options: Any) -> Any:
        """Returns a solver."""
        kind = getattr(neural, self.algorithm)
        return kind(game, self.config, representation=self.representation, seed=seed, **options)


CASES = {
    "Deep CFR": Case("DeepCFR", DeepCFRConfig(**COMMON), "tree"),
    "Deep CFR, reservoir": Case("DeepCFR", DeepCFRConfig(**COMMON, **RESERVOIR, warm_start=False), "tree"),
    "DREAM": Case("DREAM", DREAMConfig(**COMMON, baseline_training=SMALL), "tree"),
    "DREAM, reservoir": Case("DREAM", DREAMConfig(**COMMON, **RESERVOIR, baseline=False), "tree"),
    "DREAM, DCFR+": Case("DREAM", DREAMConfig(**COMMON, baseline_training=SMALL, minimizer="dcfr+"), "tree"),
    "ESCHER": Case("ESCHER", ESCHERConfig(**COMMON, value_training=SMALL, value_traversals=10), "tree"),
    "ESCHER, exact": Case("ESCHER", ESCHERConfig(**COMMON, **RESERVOIR, values="exact"), "tree"),
    "NFSP": Case("NFSP", PLAY, "tree"),
    "batched Deep CFR": Case("DeepCFR", DeepCFRConfig(**COMMON, parallel_traversals=10), "batched"),
    "batched DREAM": Case("DREAM", DREAMConfig(**COMMON, baseline_training=SMALL, memory_capacity=100), "batched"),
    "VR-DeepPDCFR+": Case("DREAM", DREAMConfig(**COMMON, baseline_training=SMALL, minimizer="pdcfr+"), "batched"),
    "batched ESCHER": Case("ESCHER", ESCHERConfig(**COMMON, value_training=SMALL, value_traversals=10), "batched"),
    "batched NFSP": Case("NFSP", PLAY, "batched"),
}
every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
