"""Which tree a solver gets: compiled as a whole if that fits, otherwise a lazily expanded one."""

import logging
from typing import NamedTuple

import pyspiel

from mccfr_plus.errors import BudgetError, ConfigError
from mccfr_plus.games import PyspielGame
from mccfr_plus.games.openspiel import compiled_rules
from mccfr_plus.solver.config import SolverConfig
from mccfr_plus.solver.costs import costs_by_rules, costs_of
from mccfr_plus.trees.by_rules.implicit_tree import ImplicitTree
from mccfr_plus.trees.by_rules.requirements import can_be_implicit, rules_to_traverse, tree_bytes
from mccfr_plus.trees.game_tree import DEFAULT_MAX_BYTES, DEFAULT_MAX_NODES_OF_RULES, GameTree, compile_game
from mccfr_plus.trees.lazy_tree import LazyTree
from mccfr_plus.trees.loading import load_game
from mccfr_plus.trees.memory import KERNELS, available_bytes, bytes_of, plan_memory, release_unused, resident_bytes
from mccfr_plus.trees.needs import HISTORIES, INFOSETS, NODES
from mccfr_plus.trees.tree import Tree

logger = logging.getLogger("mccfr_plus")

# With "auto", through pyspiel: a minute or two of compiling. Larger games are expanded lazily, which is slower.
_MAX_NODES_TO_COMPILE = 10_000_000
_COMPILED_SHARE = 0.5  # of the memory limit, or of what is free: the solver's tables come on top
_ESTIMATE_MARGIN = 2.0  # an estimate this many times over the budget is believed


class TreeLimits(NamedTuple):
    """Limits of a compiled tree."""

    max_nodes: int | None = None  # None: what takes a minute or two, or any number by compiled rules
    max_bytes: int | None = None  # None: a share of the memory
    progress: bool | None = None  # see `compile_game`


def tree_for(game: pyspiel.Game | str | GameTree, config: SolverConfig, limits: TreeLimits) -> Tree:
    """Returns the tree of a game for a solver.

    Raises:
        ConfigError: If the components do not go with such a tree, or the memory is too little.
        GameError: If the game cannot be solved; BudgetError if it must be compiled and does not fit.
    """
    if isinstance(game, GameTree):
        if config.symmetry or config.tree in ("lazy", "rules"):
            given = "symmetry=True" if config.symmetry else f"tree={config.tree!r}"
            raise ConfigError(f"{given} with a tree that is compiled already: give the game itself.")
        return game
    loaded = load_game(game)
    kind = "rules" if config.symmetry else config.tree
    reason = config.who_needs(HISTORIES, NODES if kind == "rules" else INFOSETS)
    if kind in ("lazy", "rules") and reason:
        if kind == "rules":
            raise ConfigError(
                f"tree='rules' with {reason}: that needs the whole tree, and no history is stored there. Use outcome "
                "or external sampling with another average and without baselines, or tree='compiled'."
            )
        raise ConfigError(f"tree={kind!r} with {reason}, which needs the whole tree: use tree='compiled'.")
    if kind == "rules":
        return _implicit_tree(loaded, config)
    try:
        tree = compiled_if_it_fits(loaded, "compiled" if reason else config.tree, config.memory, limits)
    except BudgetError as error:
        if not suits_rules(loaded, config):
            raise BudgetError(f"{reason} needs the whole tree: {error}" if reason else str(error)) from None
        tree = None
    if tree is not None:
        return tree
    if suits_rules(loaded, config):
        return _implicit_tree(loaded, config)
    return _lazy_tree(loaded, config)


def suits_rules(game: pyspiel.Game, config: SolverConfig) -> bool:
    """Returns whether a game that is not compiled is traversed by its rules, where that is left open."""
    if config.tree != "auto" or config.who_needs(HISTORIES, NODES):
        return False
    rules = compiled_rules(game)
    return rules is not None and can_be_implicit(rules)


def compiled_if_it_fits(
    game: pyspiel.Game, kind: str, memory: str | int | float | None, limits: TreeLimits
) -> GameTree | None:
    """Returns the compiled tree of a game, or None if it is to be expanded lazily.

    Args:
        game: What `load_game` returns.
        kind: ``"auto"``, ``"compiled"`` or ``"lazy"``.
        memory: Of the whole process; see `Solver`.

    Raises:
        GameError: If the game cannot be solved; BudgetError if it must be compiled and does not fit.
    """
    if kind == "lazy":
        return None
    max_nodes, max_bytes, progress = limits
    if kind == "compiled":
        if max_bytes is None:
            max_bytes = DEFAULT_MAX_BYTES if memory is None else _room(memory)
        return compile_game(game, max_nodes=max_nodes, max_bytes=max_bytes, progress=progress)
    if max_nodes is None:
        max_nodes = DEFAULT_MAX_NODES_OF_RULES if isinstance(game, PyspielGame) else _MAX_NODES_TO_COMPILE
    max_bytes = _room(memory) if max_bytes is None else max_bytes
    try:
        return compile_game(
            game,
            max_nodes=max_nodes,
            max_bytes=max_bytes,
            progress=progress,
            estimate_margin=_ESTIMATE_MARGIN,
        )
    except BudgetError as error:
        logger.info("the tree is not compiled: %s", str(error).split(" Choose smaller", 1)[0])
        return None


def _room(memory: str | int | float | None) -> int:
    """Returns how many bytes a compiled tree may take."""
    if memory is None:
        free = available_bytes()
    else:
        release_unused()
        free = bytes_of(memory) - resident_bytes()
    return max(int(_COMPILED_SHARE * free), 1)


def _lazy_tree(game: pyspiel.Game, config: SolverConfig) -> LazyTree:
    costs = costs_of(config, game.num_players(), True)
    plan = plan_memory(
        config.memory,
        node_cost=costs.node,
        infoset_cost=costs.infoset,
        slot_cost=costs.slot,
        reserved=KERNELS,
    )
    return LazyTree(game, plan, config.threads)


def tree_to_evaluate(game: pyspiel.Game, max_nodes: int | None = None) -> GameTree:
    """Returns the compiled tree of a game, for the exploitability of a solver that has none.

    Raises:
        BudgetError: If it is too large.
    """
    try:
        return compile_game(game, max_nodes=max_nodes, estimate_margin=1.0)
    except BudgetError as error:
        raise BudgetError(
            f"an exact exploitability needs the whole tree: {error} Without it, give a number of iterations or seconds "
            "as limit, and see mccfr_plus.evaluation for bounds."
        ) from None


def _implicit_tree(game: pyspiel.Game, config: SolverConfig) -> ImplicitTree:
    rules = rules_to_traverse(game, config.symmetry)
    costs = costs_by_rules(rules, config)
    plan = plan_memory(
        config.memory,
        node_cost=costs.node,
        infoset_cost=costs.infoset,
        slot_cost=costs.slot,
        reserved=KERNELS + tree_bytes(rules).fixed,
    )
    return ImplicitTree(game, rules, plan, config.threads, config.symmetry)
