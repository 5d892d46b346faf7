"""The memory of a solver, its tree and the policies that are made of it."""

from typing import NamedTuple

import numpy as np

from mccfr_plus.averages import Mechanism
from mccfr_plus.estimators import SamplingWeights
from mccfr_plus.games.game import RulesGame
from mccfr_plus.minimizers import RegretMatching
from mccfr_plus.solver.config import SolverConfig
from mccfr_plus.trees.by_rules.requirements import tree_bytes
from mccfr_plus.trees.game_tree import GameTree
from mccfr_plus.trees.lazy_tree import INFOSET_COST, NODE_COST, SLOT_ACTION_COST
from mccfr_plus.trees.scratch import DRAWN, TOUCHED, scratch_bytes

_NUMBER = np.dtype(np.float64).itemsize
_NUMBERS_OF_POLICY = 3  # per slot, while an average policy is made: its strategy, and the policy's two arrays
_NUMBERS_BY_RULES = 6  # per slot, while a strategy is evaluated by rules
_POLICY_COST = 48  # bytes per infoset


class Costs(NamedTuple):
    """Memory of a solver on a lazy tree, in bytes."""

    node: int
    infoset: int
    slot: int


def costs_of(config: SolverConfig, num_players: int, perfect_recall: bool) -> Costs:
    """Returns what the tree, the solver's tables and the making of a policy take."""
    costs = costs_of_solver(config, num_players, perfect_recall)
    return Costs(node=NODE_COST + costs.node, infoset=INFOSET_COST + costs.infoset, slot=SLOT_ACTION_COST + costs.slot)


def costs_of_solver(config: SolverConfig, num_players: int, perfect_recall: bool, *, by_rules: bool = False) -> Costs:
    """Returns what the solver's tables and the making of a policy take, without the tree; see `costs_of`."""
    method = config.average_method(num_players, perfect_recall, by_rules=by_rules)
    private = _NUMBER + np.dtype(np.uint16).itemsize  # the gradient and the stamp of a slot
    private += DRAWN.itemsize if config.estimator.samples_per_infoset else 0
    uses_reach = method.mechanism in (Mechanism.TOUCHED, Mechanism.OPTIMISTIC) or config.estimator.needs_leaves
    private += _NUMBER if uses_reach else 0
    shared = 3 + config.minimizer.num_tables  # strategy, average, what was seen of it, tables
    shared += _NUMBERS_BY_RULES if by_rules else _NUMBERS_OF_POLICY
    shared += config.estimator.sampling_weights == SamplingWeights.SAMPLING
    lists = config.threads - 1  # lists of what was touched, beside the first thread's
    return Costs(
        node=_NUMBER * num_players if config.baseline is not None else 0,
        infoset=_POLICY_COST + lists * TOUCHED.itemsize,
        slot=shared * _NUMBER + config.threads * private,
    )


def costs_by_rules(rules: RulesGame, config: SolverConfig) -> Costs:
    """Returns the same for a game that is traversed by its rules, with the tree."""
    costs, tree = costs_of_solver(config, rules.sizes.num_players, True, by_rules=True), tree_bytes(rules)
    return Costs(node=0, infoset=tree.infoset + TOUCHED.itemsize + costs.infoset, slot=tree.slot + costs.slot)


def bytes_on_top(tree: GameTree) -> int:
    """Returns what ``Solver(tree, "external", "rm")`` needs on top of the tree, in bytes. Nothing is allocated."""
    numbers = (2 + RegretMatching.num_tables) * tree.num_slots + tree.num_players  # strategy, average and tables
    return numbers * _NUMBER + scratch_bytes(tree.arrays, tree.shape)
