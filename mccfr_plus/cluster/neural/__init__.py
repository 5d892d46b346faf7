"""Neural solvers whose samples come from workers on a Ray cluster. They need the extras ``ray`` and ``neural``.

    driver: strategy table --once per phase--> workers: batches of histories, each with its own seed
      ^                                           |
      '-- training <-- memories <-- regrets <-- histories, in the order of batches

Workers only sample: they get the game's arrays once, need no torch, and their results depend on their arguments alone.
Networks, memories and checkpoints stay in the driver. So results are bitwise identical for the same seed and the same
number of batches: the number and the speed of workers, and workers that die, change nothing.

Examples:
    >>> from mccfr_plus.cluster.neural import DistributedDeepCFR
    >>> from mccfr_plus.neural import DeepCFRConfig
    >>> config = DeepCFRConfig(traversals=200, hidden_layers=(32,))
    >>> with DistributedDeepCFR("kuhn_poker", config, seed=1, cluster="local") as solver:
    ...     solver.run(30).exploitability() < 0.1
    True
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mccfr_plus.cluster.neural.algorithms import (
        DistributedDeepCFR,
        DistributedDREAM,
        DistributedESCHER,
        DistributedNFSP,
    )

__all__ = ["DistributedDREAM", "DistributedDeepCFR", "DistributedESCHER", "DistributedNFSP"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from mccfr_plus.cluster.neural import algorithms  # needs torch, which workers do without

    return getattr(algorithms, name)
