"""Memory: how much there is, and how a limit is divided among the parts of a tree that grows."""

import contextlib
import ctypes
import gc
from pathlib import Path
from typing import NamedTuple

import numpy as np
import psutil

from mccfr_plus.errors import ConfigError
from mccfr_plus.parameters import bytes_of

_SHARE_OF_FREE = 0.5  # of what is free, without a limit
_STATES_SHARE = 0.2  # of the limit: for states of the game that are kept to save replays
_MOST_STATES = 4 << 30  # bytes
_LEAST = 32 << 20  # bytes for a tree below which a limit is refused: arrays take memory by huge pages, some 2 MiB each

KERNELS = 75_000_000  # bytes that the kernels of a solver take once they are loaded from the disk cache

_LAST_INDEX = int(np.iinfo(np.int32).max) - 1


def resident_bytes() -> int:
    """Returns the memory that this process has, in bytes."""
    return psutil.Process().memory_info().rss


def release_unused() -> None:
    """Gives memory back to the operating system: cycles of references, and what glibc keeps in small pieces."""
    gc.collect()
    with contextlib.suppress(AttributeError, OSError, TypeError):  # other C libraries; TypeError: Windows
        ctypes.CDLL(None).malloc_trim(0)


def available_bytes() -> int:
    """Returns the memory that this process could still get, in bytes: of the machine, or of its container."""
    free = psutil.virtual_memory().available
    group = Path("/sys/fs/cgroup")
    with contextlib.suppress(OSError, ValueError):  # no such control group on this machine, or "max"
        limit = int((group / "memory.max").read_text())
        free = min(free, limit - int((group / "memory.current").read_text()))
    return max(free, 0)


class MemoryPlan(NamedTuple):
    """The places that a lazy tree reserves and may fill."""

    limit: int  # bytes of the whole process
    max_nodes: int
    max_infosets: int
    max_slots: int
    infoset_cost: int  # bytes, without its slots
    slot_cost: int  # bytes
    tree_bytes: int  # what nodes, infosets and slots may take together
    state_bytes: int  # what kept states of the game may take
    node_cost: int = 0  # bytes; 0: nodes are not stored


def plan_memory(limit: str | int | float | None, *, node_cost: int, infoset_cost: int, slot_cost: int) -> MemoryPlan:
    """Returns how a limit on the memory of the whole process is divided, or a ConfigError if nothing useful fits.

    Without a `limit`, half of what is free is added to what the process has. Costs are bytes in tree and solver.
    """
    if limit is not None:
        release_unused()
    here = resident_bytes() + KERNELS
    total = here + int(_SHARE_OF_FREE * available_bytes()) if limit is None else bytes_of(limit)
    room = total - here
    if room < _LEAST:
        raise ConfigError(
            f"memory={limit!r}: Python, OpenSpiel and the compiled kernels take {here / 1e6:,.0f} MB, and a "
            f"lazy tree needs {_LEAST / 1e6:,.0f} MB, so give at least {(here + _LEAST) / 1e6 + 1:,.0f} MB."
        )
    states = min(int(_STATES_SHARE * room), _MOST_STATES) if node_cost else 0
    return MemoryPlan(
        limit=total,
        max_nodes=min(room // node_cost, _LAST_INDEX) if node_cost else 0,
        max_infosets=min(room // (infoset_cost + slot_cost), _LAST_INDEX),
        max_slots=min(room // slot_cost, _LAST_INDEX),
        infoset_cost=infoset_cost,
        slot_cost=slot_cost,
        tree_bytes=room - states,
        state_bytes=states,
        node_cost=node_cost,
    )
