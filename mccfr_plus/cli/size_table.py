"""What `mccfr-plus stats GAME --estimate` prints."""

from __future__ import annotations

import math
import textwrap

from mccfr_plus.cli import output
from mccfr_plus.cli.recommendation import Recommendation
from mccfr_plus.tree.confidence_interval import Interval, as_text
from mccfr_plus.tree.size import ESTIMATORS, InfosetBounds, SizeEstimate

_WIDTH = 100
_LARGEST_SIZE = 15.0  # log10; above it bytes are written as a power of ten


def print_estimate(estimate: SizeEstimate, recommendation: Recommendation) -> None:
    """Prints sizes, costs, iterations and the recommendation."""
    players = range(len(estimate.decision_nodes))
    print(estimate.game)
    print()
    rows = [
        ["", "estimate", *_limits(estimate)],
        _row("histories", estimate.histories),
        _row("chance nodes", estimate.chance_nodes),
        _row("terminal nodes", estimate.terminal_nodes),
        *(_row(f"decision nodes of player {p}", estimate.decision_nodes[p]) for p in players),
        *(_infosets(f"information sets of player {p}", estimate.infosets[p], estimate.is_exact) for p in players),
    ]
    output.print_table(rows)
    print()
    output.print_table(
        [
            ["", *(f"player {p}" for p in players)],
            ["actions, mean", *(f"{mean:.2f}" for mean in estimate.mean_actions)],
            ["actions, most seen", *map(output.count, estimate.most_actions)],
        ]
    )
    print(f"random play: {estimate.mean_length:.1f} moves on average; longest history seen: {estimate.longest_seen}")
    print(
        f"perfect recall: {'no' if not estimate.perfect_recall else 'yes' if estimate.is_exact else 'as far as seen'}"
    )
    print()
    output.print_table(
        [
            ["memory and time", "estimate", *_limits(estimate)],
            _size_row("compiled tree", estimate.compiled_bytes()),
            _size_row("solver on top", estimate.solver_bytes()),
            _size_row("lazy tree, all visited", estimate.lazy_bytes()),
            _row("seconds to compile", estimate.compile_seconds()),
        ]
    )
    print()
    rows = [["one iteration", "histories visited", "seconds, compiled"]]
    for name in ESTIMATORS:
        nodes, seconds = estimate.nodes_per_iteration(name), estimate.seconds_per_iteration(name)
        rows.append([name, as_text(nodes.log10), _seconds(seconds)])
    output.print_table(rows)
    print()
    print(_recommended(recommendation))
    print()
    print(textwrap.fill(_how(estimate), _WIDTH))


def _limits(estimate: SizeEstimate) -> list[str]:
    return [] if estimate.is_exact else ["at least", "at most"]


def _row(name: str, interval: Interval) -> list[str]:
    if interval.is_exact:
        return [name, as_text(interval.log10)]
    return [name, *map(as_text, interval)]


def _infosets(name: str, bounds: InfosetBounds, is_exact: bool) -> list[str]:
    if is_exact:
        return [name, output.count(bounds.seen)]
    return [name, "", output.count(bounds.at_least), as_text(bounds.at_most)]


def _size_row(name: str, interval: Interval) -> list[str]:
    return [name, *map(_size, interval[:1] if interval.is_exact else interval)]


def _size(log10: float) -> str:
    if log10 == math.inf:
        return as_text(log10)
    return output.size(10**log10) if log10 < _LARGEST_SIZE else f"{as_text(log10)} bytes"


def _seconds(interval: Interval) -> str:
    return f"{10**interval.log10:.2g}" if interval.log10 < 0 else as_text(interval.log10)


def _recommended(recommendation: Recommendation) -> str:
    parts = f"--estimator={recommendation.estimator} --minimizer={recommendation.minimizer}"
    tree = "compile the tree" if recommendation.tree == "compiled" else "expand the tree on demand"
    return textwrap.fill(f"recommended: {tree}, {parts}: {recommendation.reason}", _WIDTH, break_on_hyphens=False)


def _how(estimate: SizeEstimate) -> str:
    if estimate.is_exact:
        return f"All histories were counted, in {estimate.seconds:.1f} s."
    looked = f"{estimate.num_nodes_seen:,} histories visited in {estimate.seconds:.1f} s"
    if not estimate.is_complete:
        return f"Time was up before the end of the game: {looked}. Give more --seconds, or no limit."
    if estimate.is_cut_off:
        looked += ", when time was up"
    return (
        f"Limits with {estimate.confidence:.0%} confidence each, from {estimate.num_runs} independent samples; "
        f"{looked}. Information sets: at least, by how often samples met the same ones (can be far "
        "below the truth); at most, the decision nodes."
    )
