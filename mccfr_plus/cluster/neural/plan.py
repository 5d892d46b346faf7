"""Into which chunks sampling is divided: what bits depend on besides the seed."""

from __future__ import annotations

from typing import Any

import numpy as np

from mccfr_plus.errors import ConfigError
from mccfr_plus.neural.config import check_whole

CHUNKS = 8  # by default: so that 8 workers have something to do


def check_chunks(chunks: Any, counts: dict[str, int]) -> None:
    """Raises ConfigError if a number of chunks is none, or some would be empty.

    Args:
        chunks: How many.
        counts: What is divided into them, by the name of the setting.
    """
    check_whole("chunks", chunks)
    for name, count in counts.items():
        if chunks > count:
            raise ConfigError(
                f"chunks={chunks} is more than {name}={count}: some chunks would be empty. Give fewer chunks or a "
                f"larger {name}."
            )


def shares_of(count: int, chunks: int) -> list[int]:
    """Returns how much each chunk has of a count: as equal as can be, the first ones one more."""
    return [count // chunks + (chunk < count % chunks) for chunk in range(chunks)]


def seed_of(seed: Any) -> Any:
    """Returns the integer that streams derive from: the seed, or one that is drawn where it is none.

    Args:
        seed: An integer, which is returned, a numpy generator, or None.
    """
    if isinstance(seed, np.random.Generator):
        return int(seed.integers(0, 2**63))
    return int(np.random.SeedSequence().generate_state(1, np.uint64)[0]) if seed is None else seed
