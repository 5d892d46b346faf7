"""How to solve a game of a given size: compile it or expand its tree, and which scheme to take."""

from __future__ import annotations

from typing import NamedTuple

from mccfr_plus.cli.choice import EXTERNAL_MAX_NODES
from mccfr_plus.tree.confidence_interval import as_text, number_of
from mccfr_plus.tree.game_tree import DEFAULT_MAX_NODES, DEFAULT_MAX_NODES_OF_RULES
from mccfr_plus.tree.size import SizeEstimate

# `solve` without parts takes full traversals up to 10 million histories, because it runs for ten seconds: see
# `cli.choice`. A run of minutes or hours gets as many hundred iterations of a second, in which they were ahead.
_FULL_MAX_SECONDS = 1.0


class Recommendation(NamedTuple):
    """Whether to compile, which parts to take, and why."""

    tree: str  # "compiled" or "lazy"
    estimator: str
    minimizer: str
    reason: str


def recommend(estimate: SizeEstimate, max_nodes: int | None, max_bytes: int) -> Recommendation:
    """Returns how to solve a game of this size.

    Args:
        estimate: The size.
        max_nodes: The largest number of histories of a compiled tree; None: the default for the game.
        max_bytes: Its largest memory, in bytes.
    """
    if max_nodes is None:
        max_nodes = DEFAULT_MAX_NODES_OF_RULES if estimate.has_compiled_rules else DEFAULT_MAX_NODES
    fits = estimate.fits(max_nodes, max_bytes)
    tree = "compiled" if fits else "lazy"
    if fits:
        why = f"the tree keeps within {as_text_of(max_nodes)} nodes and the memory limit"
    elif number_of(estimate.histories.low) > max_nodes:
        why = f"the tree is larger than {as_text_of(max_nodes)} nodes"
    else:
        why = "the tree may not keep within the limits of nodes and memory"
    if not estimate.perfect_recall:
        why += "; a player forgets what it did, and of the estimators only outcome plays such games"
        return Recommendation(tree, "outcome", "rm", why)
    if fits:
        seconds = number_of(estimate.seconds_per_iteration("full").log10)
        if seconds <= _FULL_MAX_SECONDS:
            return Recommendation(tree, "full", "prm+", f"{why}, and a full iteration takes about {seconds:.2g} s")
        return Recommendation(tree, "external", "rm", f"{why}, but a full iteration takes about {seconds:.2g} s")
    traversal = max(interval.log10 for interval in estimate.external)
    if estimate.is_complete and number_of(traversal) <= EXTERNAL_MAX_NODES:
        why += f", and a traversal of external sampling visits about {as_text(traversal)} histories"
        return Recommendation(tree, "external", "rm", why)
    return Recommendation(
        tree, "outcome", "rm", f"{why}, and a traversal of external sampling would visit {as_text(traversal)} histories"
    )


def as_text_of(number: float) -> str:
    """Returns a count as a limit reads: ``"50,000,000"``."""
    return f"{number:,.0f}"
