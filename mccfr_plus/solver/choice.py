"""The tree and the algorithm for a game: `choose`, or `tree_for` a given algorithm.

The whole tree is compiled if it fits, unless a public tree is predicted to be faster; otherwise the game is traversed
by its rules if it has some, or expanded lazily.
"""

import logging
import math
import os
from dataclasses import replace
from typing import Any

import numpy as np
import pyspiel

from mccfr_plus.averages import Mechanism
from mccfr_plus.errors import BudgetError, ConfigError
from mccfr_plus.estimators import ChanceSampling, ExternalSampling, OpponentSampling, SamplingWeights
from mccfr_plus.games import PyspielGame, RulesGame, compiled_rules
from mccfr_plus.minimizers import RegretMatching
from mccfr_plus.parameters import bytes_of
from mccfr_plus.solver.config import SolverConfig
from mccfr_plus.trees.arrays import INFOSET
from mccfr_plus.trees.by_rules.histories import openings_of
from mccfr_plus.trees.by_rules.implicit_tree import ImplicitTree, is_keyed, rules_to_traverse, tree_bytes
from mccfr_plus.trees.by_rules.payoff_matrix import BYTES_PER_ENTRY
from mccfr_plus.trees.game_tree import DEFAULT_MAX_NODES_OF_RULES, GameTree, compile_game, given_tree
from mccfr_plus.trees.info_states import key_places
from mccfr_plus.trees.lazy_tree import INFOSET_COST, NODE_COST, SLOT_ACTION_COST, LazyTree
from mccfr_plus.trees.loading import is_converted, load_game
from mccfr_plus.trees.memory import MemoryPlan, available_bytes, plan_memory, release_unused, resident_bytes
from mccfr_plus.trees.needs import HISTORIES, INFOSETS, NODES, PUBLIC
from mccfr_plus.trees.public.dealt import Prediction, predicted_sizes
from mccfr_plus.trees.public.public_tree import PublicTree, predict
from mccfr_plus.trees.scratch import DRAWN, TOUCHED, new_scratch
from mccfr_plus.trees.size_estimate import SizeEstimate, as_text, number_of, probe_size
from mccfr_plus.trees.tree import Tree

logger = logging.getLogger("mccfr_plus")

# With "auto", through pyspiel: a minute or two of compiling. Larger games are expanded lazily, which is slower.
_MAX_NODES_TO_COMPILE = 10_000_000
_COMPILED_SHARE = 0.5  # of the memory limit: the solver's tables come on top
_MAX_BYTES = 8 << 30  # of a tree, or of half a payoff matrix, that is chosen by itself

# A full iteration takes about 10 ns per history: some hundred in ten seconds on a tree of this size. Full traversals
# then were 4 to 10 times closer to an equilibrium than external sampling, and 100 to 1e6 times on smaller trees.
_FULL_MAX_NODES = 10_000_000
_FULL_MAX_NODES_OF_LONG_RUNS = 100_000_000  # several hundred iterations of a second, in minutes or hours

# On a lazy tree pyspiel expands 1e5 new histories per second and core, and outcome sampling learns from thousands.
_EXTERNAL_MAX_NODES = 1e5
_EXTERNAL_MAX_NODES_BY_RULES = 1e7  # a second with compiled rules
_ENDLESS_NODES = 1e9  # hours of a traversal on a lazy tree
# Exact exploitability of phantom_ttt after 30 CPU s of external sampling, November 2026: 0.0682 with this average,
# 0.0876 with the linear one, which counts uniform play where no traversal had been; 0.0172 with symmetry.
_AVERAGE_BY_RULES = "stochastic(gamma=1.0)"
# Exploitability after so many CPU seconds, November 2026: phantom_ttt, with symmetry, external 0.0079 after 120 and
# 0.0053 after 300, full 0.0050 after 150 and 0.0013 after 291; liars_dice(numdice=2,dice_sides=5) external 0.0377 after
# 240, full 0.0244 after 116.
_LONG_BEGIN = 900.0  # seconds of finding a payoff matrix, in a run of minutes or hours

# Seconds per history of traversals of all histories by rules, on one core, in phantom tic-tac-toe.
_TO_EVALUATE = 1.5e-8
_TO_NUMBER_INFOSETS = 1.2e-8
_TO_LIST_LEAVES = 2 * 1.6e-8  # they are counted first
_SYMMETRY_FACTOR = 1.5  # times as long for a history

# A public tree takes the place of a stored one of at least so many histories, as its kernel takes seconds to compile,
# if an iteration has at most half as many products: a stored tree has two per terminal node.
_LEAST_HISTORIES_OF_PUBLIC = 1_000_000
# leduc_ranks(ranks=13) and liars_dice(numdice=2,dice_sides=5) with rm+, November 2026.
_SECONDS_PER_PRODUCT, _SECONDS_PER_PUBLIC_SLOT = 3e-10, 8e-9
_MOST_PUBLIC_SLOTS = np.iinfo(np.int32).max - 2

_NUMBER = np.dtype(np.float64).itemsize
_NUMBERS_OF_POLICY = 3  # per slot, while an average policy is made: its strategy, and the policy's two arrays
_NUMBERS_BY_RULES = 6  # per slot, while a strategy is evaluated with compiled rules
_POLICY_COST = 48  # bytes per infoset


def choose(
    game: pyspiel.Game | str, given: dict, *, estimate: SizeEstimate | None = None, progress: bool | None = None
) -> tuple[SolverConfig, GameTree | None, str]:
    """Returns the config for a game, with the kind of its tree; the tree if it is compiled; and the reason.

    `given` are arguments of `SolverConfig.from_specs`, of which missing ones are chosen. With an estimate of the game's
    size, compiles nothing and chooses for a run of minutes or hours; else of seconds.
    """
    game, given = load_game(game), {"minimizer": None, **given}
    if given.get("tree") == "public":
        given = {"estimator": "full", **given}
    config, tree, why = SolverConfig.from_specs(**given), None, ""
    on_public = config if "estimator" in given else SolverConfig.from_specs(**{**given, "estimator": "full"})
    if estimate is not None:
        kind, why = _estimated_kind(game, config, on_public, estimate)
    else:
        kind, tree, why = _kind_and_tree(game, config, on_public, progress)
    if "estimator" in given:
        if kind == "lazy":
            _require_short_traversals(game, config)
        return replace(config, tree=kind), tree, ""
    is_public: tuple[dict[str, Any], str] = {"estimator": "full"}, ""
    chosen, reason = is_public if kind == "public" else _components_for(kind, game, tree, estimate)
    if kind == "compiled" and config.threads > 1 and game.num_players() != 2:
        chosen, reason = {"estimator": "external"}, "only with two players do threads share full gradients"
    return SolverConfig.from_specs(**{**chosen, **given, "tree": kind}), tree, why + reason


def _estimated_kind(
    game: pyspiel.Game, config: SolverConfig, on_public: SolverConfig, estimate: SizeEstimate
) -> tuple[str, str]:
    """Returns the kind of tree for a game of this size, and the reason. A public tree is for `on_public`."""
    if _may_be_public(game, on_public) and (why := _why_public(game, on_public, estimate)):
        return "public", why
    max_nodes = _max_nodes(game)
    if estimate.fits(max_nodes, _MAX_BYTES):
        return "compiled", f"the tree keeps within {max_nodes:,} nodes and the memory limit; "
    is_larger = number_of(estimate.histories.low) > max_nodes
    why = f"is larger than {max_nodes:,} nodes" if is_larger else "may not keep within the limits"
    return _kind_without_tree(game, config), f"the tree {why}; "


def _max_nodes(game: pyspiel.Game) -> int:
    return DEFAULT_MAX_NODES_OF_RULES if isinstance(game, PyspielGame) else _MAX_NODES_TO_COMPILE


def _components_for(
    kind: str, game: pyspiel.Game, tree: GameTree | None, estimate: SizeEstimate | None
) -> tuple[dict[str, Any], str]:
    """Returns arguments of `SolverConfig.from_specs`, and the reason."""
    if kind == "compiled":
        if tree is not None:
            num_nodes, most = tree.num_nodes, _FULL_MAX_NODES
        else:
            assert estimate is not None
            num_nodes = round(number_of(estimate.histories.log10))
            most = _FULL_MAX_NODES_OF_LONG_RUNS
        if num_nodes <= most:
            return {"estimator": "full"}, f"full traversals are fast with {num_nodes:,} histories"
        return {"estimator": "external"}, f"sampling converges sooner with {num_nodes:,} histories"
    if kind == "rules" and estimate is not None and (full := _full_by_rules(game, estimate)) is not None:
        return full
    traversal = (estimate or probe_size(game)).traversals["external"].log10
    visits = f"a traversal of external sampling visits {as_text(traversal)} histories"
    is_short = traversal <= math.log10(_EXTERNAL_MAX_NODES if kind == "lazy" else _EXTERNAL_MAX_NODES_BY_RULES)
    chosen: dict[str, Any] = {"estimator": "external" if is_short else "outcome"}
    if kind == "lazy":
        return chosen, f"on the lazy tree {visits}"
    rules = rules_to_traverse(game)
    reason, symmetries = f"by the rules, {visits}", len(rules.sizes.symmetries)
    if is_short:
        chosen["averaging"] = _AVERAGE_BY_RULES
    if symmetries > 1 and not is_keyed(rules):
        chosen["symmetry"] = True
        reason += f"; {symmetries} symmetries of the board are used"
    return chosen, reason


def _may_be_public(game: pyspiel.Game, config: SolverConfig) -> bool:
    """Whether a public tree serves the config, and the game has rules that may give one."""
    is_plain = config.tree == "auto" and config.batch == 1 and not config.symmetry
    serves = PUBLIC in config.estimator.provides and config.who_needs(HISTORIES, NODES) is None
    serves = serves and (config.threads == 1 or config.is_team)
    return is_plain and serves and game.num_players() == 2 and compiled_rules(game) is not None


def _why_public(game: pyspiel.Game, config: SolverConfig, estimate: SizeEstimate | None = None) -> str | None:
    """Returns why the public tree is chosen; None if there is none, or a stored tree is about as fast.

    Without an estimate only poker has a reason: the sizes of its tree follow from hands, boards and betting sequences.
    """
    rules = compiled_rules(game)
    if rules is None or not rules.sizes.perfect_recall or (estimate is None and rules.deal is None):
        return None
    if estimate is not None and number_of(estimate.histories.log10) < _LEAST_HISTORIES_OF_PUBLIC:
        return None
    if (found := predict(rules, 0.0 if estimate is None else number_of(estimate.terminal_nodes.log10))) is None:
        return None
    products, leaves, num_bytes = found.products, found.leaves, public_bytes(config, rules, found)
    if estimate is None and leaves < _LEAST_HISTORIES_OF_PUBLIC:
        return None
    is_faster = products <= leaves or (estimate and not estimate.fits(DEFAULT_MAX_NODES_OF_RULES, _MAX_BYTES))
    seconds = products * _SECONDS_PER_PRODUCT + found.slots * _SECONDS_PER_PUBLIC_SLOT
    room = _MAX_BYTES if config.memory is None else min(_MAX_BYTES, bytes_of(config.memory))
    if not is_faster or num_bytes > room:
        return None
    return (
        f"only hands are private: on the public tree a full iteration has about {products:,.0f} products, on a stored "
        f"one {2 * leaves:,.0f}; it takes about {seconds:.2g} s, and a solver {num_bytes / 1e9:.2g} GB"
    )


def _full_by_rules(game: pyspiel.Game, estimate: SizeEstimate) -> tuple[dict[str, Any], str] | None:
    """Returns full iterations if their payoff matrix takes half of the memory at most and is found within minutes."""
    rules = rules_to_traverse(game)
    if game.num_players() != 2 or not rules.sizes.perfect_recall:
        return None
    is_symmetric = len(rules.sizes.symmetries) > 1 and not is_keyed(rules)
    visited = visited_histories(game, rules, is_symmetric)
    leaves = visited * number_of(estimate.terminal_nodes.log10 - estimate.histories.log10)
    seconds = visited * _TO_LIST_LEAVES * (_SYMMETRY_FACTOR if is_symmetric else 1.0)
    if leaves * BYTES_PER_ENTRY > _MAX_BYTES / 2 or seconds > _LONG_BEGIN:
        return None
    reason = (
        f"by the rules, a payoff matrix of about {leaves:,.0f} leaves takes at least {seconds:.0f} s and "
        f"{leaves * BYTES_PER_ENTRY / 1e9:.1f} GB; soon after, full iterations are ahead of sampling"
    )
    return {"estimator": "full", **({"symmetry": True} if is_symmetric else {})}, reason


def _require_short_traversals(game: pyspiel.Game, config: SolverConfig) -> None:
    """Raises ConfigError if a traversal on a lazy tree would not end."""
    name = config.estimator.short_name
    if not isinstance(config.estimator, ExternalSampling | ChanceSampling | OpponentSampling):
        return
    traversals = probe_size(game).traversals
    least = traversals.get(name, traversals["external"]).low  # sampling opponents alone visits more than external
    if least > math.log10(_ENDLESS_NODES):
        raise ConfigError(
            f"a traversal with {name} sampling on {game}, whose tree does not fit into memory, would visit at least "
            f"{as_text(least)} histories: use estimator='outcome'."
        )


# --- the tree ---


def tree_for(game: pyspiel.Game | str | GameTree, config: SolverConfig) -> Tree:
    """Returns the tree of a game for a solver; see `Solver` for errors."""
    public = game if isinstance(game, Tree) and PUBLIC in game.provides else None
    if public is not None or config.who_needs(PUBLIC):
        if (config.symmetry and public is not None) or config.tree not in ("auto", "public"):
            raise ConfigError(
                f"tree={config.tree!r} and symmetry={config.symmetry} do not fit the given public tree: leave out both."
            )
        if reason := config.who_needs(HISTORIES, NODES):
            raise ConfigError(
                f"tree='public' does not work with {reason}, which needs all histories: use tree='compiled'."
            )
        if public is None:
            _require_memory(compiled_rules(load_game(game)), config)
        tree: Any = public or PublicTree(game, config.symmetry)
        return tree.for_threads(config.threads)
    if (tree := given_tree(game)) is not None:
        if config.symmetry or config.tree in ("lazy", "rules"):
            option = "symmetry=True" if config.symmetry else f"tree={config.tree!r}"
            raise ConfigError(f"{option} does not work with a compiled tree: pass the game instead of its tree.")
        return tree
    given, game = game, load_game(game)
    kind, tree, _ = _kind_and_tree(game, config, config)
    if kind == "public":
        return PublicTree(game).for_threads(config.threads)
    if tree is not None:
        tree.is_converted = is_converted(given, game)
        return tree
    if kind == "rules":
        rules = rules_to_traverse(game, config.symmetry)
        plan = _memory_plan(config, rules.sizes.num_players, rules)
        return ImplicitTree(game, rules, plan, config.threads, config.symmetry)
    if config.tree == "auto":
        _require_short_traversals(game, config)
    return LazyTree(game, _memory_plan(config, game.num_players()), config.threads)


def _kind_and_tree(
    game: pyspiel.Game, config: SolverConfig, on_public: SolverConfig, progress: bool | None = None
) -> tuple[str, GameTree | None, str]:
    """Returns the kind of a game's tree, the tree if it is compiled, and why it is public, for `on_public`."""
    if config.tree in ("auto", "public") and config.who_needs(PUBLIC):
        return "public", None, ""
    kind = "rules" if config.symmetry else config.tree
    reason = config.who_needs(HISTORIES, NODES if kind == "rules" else INFOSETS)
    if kind == "rules" and reason:
        raise ConfigError(
            f"tree='rules' does not work with {reason}, which needs stored histories: use tree='compiled'."
        )
    if kind == "lazy" and reason:
        raise ConfigError(f"tree='lazy' does not work with {reason}, which needs the whole tree: use tree='compiled'.")
    if kind in ("lazy", "rules"):
        return kind, None, ""
    tree = None
    if _may_be_public(game, on_public):
        why = _why_public(game, on_public)  # of poker, whose size follows from its rules
        tree = None if why else compiled_if_it_fits(game, kind, config.memory, progress, _LEAST_HISTORIES_OF_PUBLIC)
        if tree is None and (why := why or _why_public(game, on_public, probe_size(game))):
            return "public", None, why
    try:
        tree = tree or compiled_if_it_fits(game, "compiled" if reason else kind, config.memory, progress)
    except BudgetError as error:
        if _kind_without_tree(game, config) == "lazy":
            raise BudgetError(f"{reason} needs the whole tree: {error}" if reason else str(error)) from None
        tree = None
    return _kind_without_tree(game, config) if tree is None else "compiled", tree, ""


def _kind_without_tree(game: pyspiel.Game, config: SolverConfig) -> str:
    if config.tree != "auto" or config.who_needs(HISTORIES, NODES):
        return "lazy"
    return "lazy" if compiled_rules(game) is None else "rules"


def compiled_if_it_fits(
    game: pyspiel.Game,
    kind: str = "auto",
    memory: str | int | float | None = None,
    progress: bool | None = None,
    max_nodes: int | None = None,
) -> GameTree | None:
    """Returns the compiled tree of a loaded game, or None if it does not fit; BudgetError with kind="compiled"."""
    max_bytes = None
    if memory is not None:
        release_unused()
        max_bytes = max(int(_COMPILED_SHARE * (bytes_of(memory) - resident_bytes())), 1)
    if kind == "compiled":
        return compile_game(game, max_bytes=max_bytes, progress=progress)
    if max_nodes is None:
        max_nodes = _max_nodes(game)
    try:
        return compile_game(game, max_nodes=max_nodes, max_bytes=max_bytes, progress=progress)
    except BudgetError as error:
        logger.info("the tree is not compiled: %s", str(error).split(" Choose", 1)[0])
        return None


# --- memory and time ---


def _memory_plan(config: SolverConfig, num_players: int, rules: RulesGame | None = None) -> MemoryPlan:
    """Returns how a tree that grows, the solver's tables and the making of a policy share the memory."""
    method = config.average_method(num_players, True, by_rules=rules is not None)
    private = _NUMBER + np.dtype(np.uint16).itemsize  # the gradient and the stamp of a slot
    private += DRAWN.itemsize if config.estimator.sample_per_infoset else 0
    uses_reach = method.mechanism in (Mechanism.TOUCHED, Mechanism.OPTIMISTIC) or config.estimator.needs_leaves
    private += _NUMBER if uses_reach else 0
    shared = 3 + config.minimizer.num_tables  # strategy, average, what was seen of it, tables
    shared += _NUMBERS_OF_POLICY if rules is None else _NUMBERS_BY_RULES
    shared += config.estimator.sampling_weights == SamplingWeights.SAMPLING
    slot = shared * _NUMBER + config.threads * private
    infoset = _POLICY_COST + (config.threads - 1) * TOUCHED.itemsize  # the first thread's list is the tree's
    if rules is None:
        values = _NUMBER * num_players if config.baseline is not None else 0
        node, infoset, slot = NODE_COST + values, INFOSET_COST + infoset, SLOT_ACTION_COST + slot
    else:
        infoset_bytes, slot_bytes = tree_bytes(rules)
        node, infoset, slot = 0, infoset_bytes + TOUCHED.itemsize + infoset, slot_bytes + slot
    return plan_memory(config.memory, node_cost=node, infoset_cost=infoset, slot_cost=slot)


def public_bytes(config: SolverConfig, rules: RulesGame, found: Prediction) -> float:
    """Returns the bytes of a public tree without merged suits, and of a solver while it evaluates its strategy."""
    others = 2 * (config.threads - 1) / config.threads  # gradient and reach of other threads, in their parts
    slot = _NUMBER * (3 + others) + np.dtype(config.dtype).itemsize * (2 + config.minimizer.num_tables)
    if not config.estimator.needs_leaves:  # then stamps and what was seen of the average are in use
        slot += _NUMBER + np.dtype(np.uint16).itemsize
    infoset = INFOSET.itemsize + TOUCHED.itemsize + _NUMBER * key_places(rules.sizes)[1] + np.dtype(np.int32).itemsize
    return found.slots * slot + found.infosets * infoset


def _require_memory(rules: RulesGame | None, config: SolverConfig) -> None:
    """Raises BudgetError if the public tree of a poker game and its solver do not fit into memory."""
    if rules is None or rules.deal is None:
        return
    free = available_bytes() if config.memory is None else bytes_of(config.memory) - resident_bytes()
    found = predicted_sizes(rules.deal)
    if (num_bytes := public_bytes(config, rules, found)) > free or found.slots > _MOST_PUBLIC_SLOTS:
        size = f"about {found.slots:,.0f} pairs of an information set and an action (at most {_MOST_PUBLIC_SLOTS:,})"
        memory = f"{num_bytes / 1e9:,.3g} GB, and {free / 1e9:,.3g} GB are free"
        why = f"has {size}, which take {memory}: give fewer bets, a later round, or fewer hands"
        raise BudgetError(f"tree='public': {rules.short_name} {why}.")


def bytes_on_top(tree: GameTree) -> int:
    """Returns the bytes of ``Solver(tree, "external", "rm")`` without the tree."""
    numbers = (2 + RegretMatching.num_tables) * tree.num_slots + tree.num_players  # strategy, average and tables
    scratch = new_scratch(tree.arrays, tree.shape, np.zeros(0, np.uint64))  # of zeros, which take no memory
    return numbers * _NUMBER + sum(array.nbytes for array in scratch)


def visited_histories(game: pyspiel.Game, rules: RulesGame, is_symmetric: bool) -> float:
    """Returns about how many histories a traversal of the whole game with compiled rules visits."""
    histories = number_of(probe_size(game).histories.log10)
    if is_symmetric:
        histories /= len(rules.sizes.symmetries)
    openings = openings_of(rules)
    return histories if openings is None else histories * len(openings.counts) / float(openings.counts.sum())


def evaluation_seconds(histories: float, *, numbers_infosets: bool = False, is_symmetric: bool = False) -> float:
    """Returns about how long an exact evaluation by rules takes at least; several times that with many infosets."""
    seconds = _TO_EVALUATE + (_TO_NUMBER_INFOSETS if numbers_infosets else 0.0)
    return histories * seconds * (_SYMMETRY_FACTOR if is_symmetric else 1.0) / (os.cpu_count() or 1)
