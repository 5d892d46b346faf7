"""Neural algorithms by short name. Without torch."""

from __future__ import annotations

from typing import Any

from mccfr_plus import neural

# The classes of `mccfr_plus.neural`; each has a config of that name and "Config".
ALGORITHMS = {
    "deep_cfr": "DeepCFR",
    "dream": "DREAM",
    "escher": "ESCHER",
    "nfsp": "NFSP",
    "batched_deep_cfr": "BatchedDeepCFR",
    "batched_dream": "BatchedDREAM",
    "batched_escher": "BatchedESCHER",
    "batched_nfsp": "BatchedNFSP",
}
WITHOUT_TREE = tuple(name for name in ALGORITHMS if name.startswith("batched_"))


def default_config(algorithm: str) -> Any:
    """Returns the default config of one of `ALGORITHMS`."""
    return getattr(neural, f"{ALGORITHMS[algorithm]}Config")()
