"""Neural solvers whose samples come from workers on a Ray cluster. They need the extras ``ray`` and ``neural``.

    driver: strategy table --one put per phase--> workers: chunks of traversals, each with a random stream of its own
      ^                                              |
      '-- training <-- memories <--- samples, in the order of chunks

Workers only sample: they get the game's arrays once, need no torch, and what they return depends on their arguments
alone. Networks, memories and checkpoints stay in the driver. So a run's bits depend on its seed and on the number of
chunks, not on how many workers there are, which of them are slow, or which die.

Example:
    >>> from mccfr_plus.cluster.neural import DistributedDeepCFR
    >>> from mccfr_plus.neural import DeepCFRConfig
    >>> config = DeepCFRConfig(traversals=200, hidden_layers=(32,))
    >>> with DistributedDeepCFR("kuhn_poker", config, seed=1, cluster="local") as solver:
    ...     solver.run(30).exploitability() < 0.1
    True
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mccfr_plus.cluster.neural.deep_cfr import DistributedDeepCFR
    from mccfr_plus.cluster.neural.dream import DistributedDREAM
    from mccfr_plus.cluster.neural.escher import DistributedESCHER
    from mccfr_plus.cluster.neural.nfsp import DistributedNFSP

_NEEDS_TORCH = {  # which workers do without
    "DistributedDREAM": "mccfr_plus.cluster.neural.dream",
    "DistributedDeepCFR": "mccfr_plus.cluster.neural.deep_cfr",
    "DistributedESCHER": "mccfr_plus.cluster.neural.escher",
    "DistributedNFSP": "mccfr_plus.cluster.neural.nfsp",
}

__all__ = ["DistributedDREAM", "DistributedDeepCFR", "DistributedESCHER", "DistributedNFSP"]


def __getattr__(name: str) -> Any:
    if name not in _NEEDS_TORCH:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_NEEDS_TORCH[name]), name)
