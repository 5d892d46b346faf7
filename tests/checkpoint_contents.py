"""Reads checkpoints as numpy does."""

from typing import Any, NamedTuple

import numpy as np

from mccfr_plus.files.checkpoint import read_header


class Contents(NamedTuple):
    header: dict[str, Any]
    arrays: dict[str, np.ndarray]


def contents_of(path) -> Contents:
    """Returns the header and the arrays of a checkpoint."""
    header = read_header(path)
    with np.load(path, allow_pickle=False) as archive:
        return Contents(header, {name: archive[name] for name in header["arrays"]})
