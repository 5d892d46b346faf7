"""Random streams that depend on what they are for, and not on who draws from them."""

from __future__ import annotations

import numpy as np


def stream_of(seed: int, *key: int) -> np.ndarray:
    """Returns the state of a random generator, ``[1]`` uint64.

    Args:
        seed: Of the run, an integer >= 0.
        *key: What the stream is for, such as iteration, player and chunk, integers from 0 to 2^32 - 1.
    """
    return np.random.SeedSequence(seed, spawn_key=key).generate_state(1, np.uint64)
