"""The components that suit a game, where a user leaves them open."""

import math
from typing import Any, NamedTuple

import pyspiel

from mccfr_plus.errors import ConfigError
from mccfr_plus.estimators import ExternalSampling
from mccfr_plus.evaluation.expected_time import seconds_to_list_leaves, visited_histories
from mccfr_plus.games import PyspielGame, RulesGame, compiled_rules
from mccfr_plus.solver.config import SolverConfig
from mccfr_plus.solver.registry import default_minimizer, estimator_of
from mccfr_plus.solver.solver import Solver
from mccfr_plus.solver.tree_choice import TreeLimits, compiled_if_it_fits, suits_rules
from mccfr_plus.trees.by_rules.payoff_matrix import BYTES_PER_ENTRY
from mccfr_plus.trees.by_rules.requirements import can_be_implicit, rules_to_traverse
from mccfr_plus.trees.game_tree import DEFAULT_MAX_NODES, DEFAULT_MAX_NODES_OF_RULES
from mccfr_plus.trees.intervals import as_text, number_of
from mccfr_plus.trees.loading import load_game
from mccfr_plus.trees.needs import HISTORIES, INFOSETS
from mccfr_plus.trees.size_estimate import SizeEstimate, probe_size

# A full iteration takes about 10 ns per history, so that a tree of this size gets some hundred of them in ten seconds.
# After as many (games of 1 to 2 million histories, stopped early) full traversals were still 4 to 10 times closer to
# an equilibrium than external sampling was in the same time; on smaller trees it is 100 to 1e6 times.
_FULL_MAX_NODES = 10_000_000
# A run of minutes or hours gets several hundred iterations of a second, in which full traversals were ahead.
_FULL_MAX_NODES_OF_LONG_RUNS = 100_000_000

# On a lazy tree pyspiel expands each new history, 1e5 per second and core: a traversal of external sampling with more
# histories takes over a second, in which outcome sampling learns from thousands of histories.
_EXTERNAL_MAX_NODES = 1e5
# Exact exploitability of phantom_ttt after 30 CPU s of external sampling, November 2026: 0.0682 with this average,
# 0.0876 with the linear one, which counts uniform play where no traversal had been; 0.0172 with symmetry.
_AVERAGE_BY_RULES = "stochastic(gamma=1.0)"
_EXTERNAL_MAX_NODES_BY_RULES = 1e7  # a second by compiled rules
_ENDLESS_NODES = 1e9  # hours of a traversal on a lazy tree
# Exploitability after so many CPU seconds, November 2026: phantom_ttt, with symmetry, external 0.0079 after 120 and
# 0.0053 after 300, full 0.0050 after 150 and 0.0013 after 291; liars_dice(numdice=2,dice_sides=5) external 0.0377 after
# 240, full 0.0244 after 116.
_LONG_BEGIN = 900.0  # seconds of finding a payoff matrix, in a run of minutes or hours


def solver_for(
    game: pyspiel.Game | str,
    given: dict[str, Any],
    *,
    seed: int,
    limits: TreeLimits,
    needs_exploitability: bool = False,
) -> tuple[Solver, str]:
    """Returns a solver with an estimator that is chosen for the game, and the reason for it.

    Args:
        given: Arguments of `SolverConfig.from_specs` without the estimator; what else is missing is chosen, too.
        needs_exploitability: Whether the run will be evaluated.

    Raises:
        ConfigError: If components are unknown or do not go together.
        GameError: If the game cannot be loaded or compiled, or cannot be evaluated.
    """
    game = load_game(game)
    draft = SolverConfig.from_specs(**given)
    kind = "rules" if draft.symmetry else "compiled" if draft.who_needs(HISTORIES, INFOSETS) else draft.tree
    tree = None
    if kind in ("auto", "compiled"):
        tree = compiled_if_it_fits(game, kind, draft.memory, limits)
    if tree and needs_exploitability:
        tree.require_perfect_recall("an exploitability")
    if tree:
        chosen, reason = _for_compiled(tree.perfect_recall, tree.num_nodes, _FULL_MAX_NODES)
    else:
        kind = "rules" if kind == "rules" or suits_rules(game, draft) else "lazy"
        size = probe_size(game)
        chosen, reason = _for_rules(size, rules_to_traverse(game)) if kind == "rules" else _for_lazy(size)
    config = SolverConfig.from_specs(**{"minimizer": None, **chosen, **given, "tree": "compiled" if tree else kind})
    return Solver.from_config(tree or game, config, seed=seed), reason


def _for_compiled(perfect_recall: bool, num_nodes: float, most_nodes: float) -> tuple[dict[str, Any], str]:
    if not perfect_recall:
        return {"estimator": "outcome"}, "no other estimator can be used with imperfect recall"
    if num_nodes <= most_nodes:
        return {"estimator": "full"}, f"full traversals are fast with {num_nodes:,.0f} histories"
    return {"estimator": "external"}, f"sampling converges sooner with {num_nodes:,.0f} histories"


def _for_lazy(size: SizeEstimate) -> tuple[dict[str, Any], str]:
    traversal = size.traversals["external"].log10
    is_short = traversal <= math.log10(_EXTERNAL_MAX_NODES)
    reason = f"on the lazy tree a traversal of external sampling visits {as_text(traversal)} histories"
    return {"estimator": "external" if is_short else "outcome"}, reason


def _for_rules(size: SizeEstimate, rules: RulesGame) -> tuple[dict[str, Any], str]:
    traversal = size.traversals["external"].log10
    reason = f"by the rules, a traversal of external sampling visits {as_text(traversal)} histories"
    chosen: dict[str, Any] = {"estimator": "outcome"}
    if traversal <= math.log10(_EXTERNAL_MAX_NODES_BY_RULES):
        chosen = {"estimator": "external", "averaging": _AVERAGE_BY_RULES}
    if len(rules.sizes.symmetries) > 1:
        chosen["symmetry"] = True
        reason += f"; {len(rules.sizes.symmetries)} symmetries of the board are used"
    return chosen, reason


def _full_by_rules(
    estimate: SizeEstimate, game: pyspiel.Game, rules: RulesGame, max_bytes: int
) -> tuple[dict[str, Any], str] | None:
    """Returns full iterations if their payoff matrix takes half of the memory at most and is found within minutes."""
    if game.num_players() != 2:
        return None
    symmetries = max(len(rules.sizes.symmetries), 1)
    visited = visited_histories(game, rules, symmetries > 1)
    leaves = visited * number_of(estimate.terminal_nodes.log10 - estimate.histories.log10)
    seconds = seconds_to_list_leaves(visited, symmetries > 1)
    if leaves * BYTES_PER_ENTRY > max_bytes / 2 or seconds > _LONG_BEGIN:
        return None
    chosen: dict[str, Any] = {"estimator": "full", **({"symmetry": True} if symmetries > 1 else {})}
    reason = (
        f"by the rules, a payoff matrix of about {leaves:,.0f} leaves takes at least {seconds:.0f} s and "
        f"{leaves * BYTES_PER_ENTRY / 1e9:.1f} GB; soon after, full iterations are ahead of sampling"
    )
    return chosen, reason


def require_short_traversals(solver: Solver) -> None:
    """Raises ConfigError if not even one traversal of external sampling on a lazy tree would end."""
    if not isinstance(solver.estimator, ExternalSampling):
        return
    traversal = probe_size(solver.game).traversals["external"].low
    if traversal > math.log10(_ENDLESS_NODES):
        raise ConfigError(
            f"one traversal of external sampling on {solver.game} would visit at least {as_text(traversal)} histories, "
            "and the tree does not fit into memory: use --estimator=outcome, which samples single histories."
        )


class Recommendation(NamedTuple):
    """How to solve a game of a given size, and why."""

    tree: str  # "compiled", "rules" or "lazy"
    estimator: str
    minimizer: str
    symmetry: bool
    reason: str


def recommend(estimate: SizeEstimate, max_nodes: int | None, max_bytes: int) -> Recommendation:
    """Returns how to solve a game of this size, in a run of minutes or hours.

    Args:
        max_nodes: The largest number of histories of a compiled tree; None: the default for the game.
        max_bytes: Its largest memory, in bytes.
    """
    game = load_game(estimate.game)
    if max_nodes is None:
        max_nodes = DEFAULT_MAX_NODES_OF_RULES if isinstance(game, PyspielGame) else DEFAULT_MAX_NODES
    num_nodes = number_of(estimate.histories.log10)
    if estimate.fits(max_nodes, max_bytes):
        tree, why = "compiled", f"keeps within {max_nodes:,} nodes and the memory limit"
        chosen, reason = _for_compiled(estimate.perfect_recall, num_nodes, _FULL_MAX_NODES_OF_LONG_RUNS)
    else:
        is_larger = number_of(estimate.histories.low) > max_nodes
        tree, why = "lazy", f"is larger than {max_nodes:,} nodes" if is_larger else "may not keep within the limits"
        rules = compiled_rules(game)
        if rules is not None and can_be_implicit(rules):
            full = _full_by_rules(estimate, game, rules, max_bytes)
            tree, (chosen, reason) = "rules", full or _for_rules(estimate, rules)
        else:
            chosen, reason = _for_lazy(estimate)
    estimator, symmetry = chosen["estimator"], chosen.get("symmetry", False)
    minimizer = default_minimizer(estimator_of(estimator))
    return Recommendation(tree, estimator, minimizer, symmetry, f"the tree {why}; {reason}")
