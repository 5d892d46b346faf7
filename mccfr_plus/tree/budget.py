"""Limits on the size of a compiled tree, and the error of a tree that exceeds them."""

from __future__ import annotations

import math

import pyspiel

from mccfr_plus.errors import BudgetError
from mccfr_plus.tree.confidence_interval import as_text
from mccfr_plus.tree.size_estimate import estimate_size

_PROBE_AFTER = 20_000  # nodes; smaller games are compiled before an estimate is made
_SAMPLE_SIZE = 5_000  # histories
ESTIMATE_MARGIN = 20.0  # estimates from a small sample may be far too large


class Budget:
    """The largest number of nodes and bytes that compiling a tree may take.

    Args:
        game: The game that is traversed.
        max_nodes: The largest number of histories to accept.
        max_bytes: The largest memory to accept.
        estimate_margin: An estimate this many times over the budget ends the traversal at once.
    """

    def __init__(self, game: pyspiel.Game, max_nodes: int, max_bytes: int, estimate_margin: float = ESTIMATE_MARGIN):
        self._game = game
        self._estimate_margin = estimate_margin
        self.max_nodes = max_nodes
        self._max_bytes = max_bytes
        self._estimate: float | None = None  # log10 of the number of nodes

    def check(self, num_nodes: int, num_bytes: int) -> None:
        """Compares what was used so far with the budget.

        Raises:
            BudgetError: If it is more than the budget, or if an estimate from a sample is far beyond it.
        """
        if self._estimate is None and num_nodes > _PROBE_AFTER:
            self._estimate = _log10_nodes(self._game)
            if self._estimate > math.log10(self.max_nodes * self._estimate_margin):
                self._refuse(f"the budget is {self.max_nodes:,} nodes", num_nodes)
        if num_nodes > self.max_nodes:
            self._refuse(f"more than the budget of {self.max_nodes:,} nodes", num_nodes)
        if num_bytes > self._max_bytes:
            self._refuse(
                f"more than the memory limit of {self._max_bytes:,} bytes after {num_nodes:,} nodes", num_nodes
            )

    def _refuse(self, reason: str, num_nodes: int) -> None:
        if self._estimate is None:
            self._estimate = _log10_nodes(self._game)
        estimate = as_text(max(self._estimate, math.log10(max(num_nodes, 1))))
        raise BudgetError(
            f"the tree of {self._game} has about {estimate} nodes (estimated from a sample); {reason}. Choose smaller "
            "parameters of the game, or raise max_nodes or max_bytes (on the command line --max_nodes, --max_bytes; "
            "about 20 bytes a node, 250 bytes and its text an information state). What the game would take: "
            "mccfr_plus.estimate_size, or mccfr-plus stats GAME --estimate."
        )


def _log10_nodes(game: pyspiel.Game) -> float:
    return estimate_size(game, sample_size=_SAMPLE_SIZE, seed=0).histories.log10
