"""Memory: how much there is, the budget of a compiled tree, and how a limit is divided among the parts of others."""

import contextlib
import ctypes
import gc
import math
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import psutil
import pyspiel

from mccfr_plus.errors import BudgetError, ConfigError
from mccfr_plus.games import PyspielGame
from mccfr_plus.parameters import bytes_of
from mccfr_plus.trees.size_estimate import as_text, probe_size

_SHARE_OF_FREE = 0.5  # of what is free, without a limit
_STATES_SHARE = 0.2  # of the limit: for states of the game that are kept to save replays
_MOST_STATES = 4 << 30  # bytes
_LEAST = 32 << 20  # bytes for a tree below which a limit is refused: arrays take memory by huge pages, some 2 MiB each

KERNELS = 75_000_000  # bytes that the kernels of a solver take once they are loaded from the disk cache

# Nodes after which an estimate is made, through pyspiel and by compiled rules; smaller games are compiled by then.
_PROBE_AFTER, _PROBE_RULES_AFTER = 100_000, 2_000_000
_PROBE_AFTER_SECONDS = 5.0  # games in Python may visit some hundred nodes in a second
ESTIMATE_MARGIN = 10.0  # estimates from a small sample may be several times too large

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


class Budget:
    """The largest number of nodes and bytes that compiling a tree may take.

    An estimate that is `estimate_margin` times over the number of nodes ends the traversal at once.
    """

    def __init__(self, game: pyspiel.Game, max_nodes: int, max_bytes: int, estimate_margin: float = ESTIMATE_MARGIN):
        self._game, self._estimate_margin = game, estimate_margin
        self.max_nodes, self._max_bytes = max_nodes, max_bytes
        self._probe_at = time.monotonic() + _PROBE_AFTER_SECONDS
        self._probe_after = _PROBE_RULES_AFTER if isinstance(game, PyspielGame) else _PROBE_AFTER

    def check(self, num_nodes: int, num_bytes: int) -> None:
        """Raises BudgetError if what was used so far is more than the budget, or if an estimate is far beyond it."""
        if num_nodes > self._probe_after or time.monotonic() > self._probe_at:
            self.check_estimate(num_nodes)
        if num_nodes > self.max_nodes:
            self._refuse(f"more than the budget of {self.max_nodes:,} nodes", num_nodes)
        if num_bytes > self._max_bytes:
            why = f"more than the memory limit of {self._max_bytes:,} bytes after {num_nodes:,} nodes"
            self._refuse(why, num_nodes)

    def check_estimate(self, num_nodes: int) -> None:
        """Raises BudgetError if the estimate from a sample is far beyond the budget."""
        if self._log10_nodes > math.log10(self.max_nodes * self._estimate_margin):
            self._refuse(f"the budget is {self.max_nodes:,} nodes", num_nodes)

    @property
    def _log10_nodes(self) -> float:
        return probe_size(self._game).histories.log10

    def _refuse(self, reason: str, num_nodes: int) -> None:
        estimate = as_text(max(self._log10_nodes, math.log10(max(num_nodes, 1))))
        raise BudgetError(
            f"the tree of {self._game} has about {estimate} nodes (estimated from a sample); {reason}. Choose smaller "
            "parameters of the game, or raise max_nodes or max_bytes: about 20 bytes a node, 250 bytes and its text an "
            "information state. See mccfr_plus.estimate_size, or mccfr-plus stats GAME --estimate."
        )


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

    Without a `limit` it is half of what is free, on top of what the process has. Costs are in bytes, in the tree and in
    the solver.
    """
    if limit is not None:
        release_unused()
    here = resident_bytes() + KERNELS
    total = here + int(_SHARE_OF_FREE * available_bytes()) if limit is None else bytes_of(limit)
    room = total - here
    if room < _LEAST:
        raise ConfigError(
            f"memory={limit!r}: Python, OpenSpiel and the compiled kernels take {here / 1e6:,.0f} MB, and a "
            f"lazy tree needs {_LEAST / 1e6:,.0f} MB: give at least {(here + _LEAST) / 1e6 + 1:,.0f}MB."
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
