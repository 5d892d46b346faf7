"""The exact evaluation of a policy in a game that is not stored."""

import os

import numpy as np
import pyspiel

from mccfr_plus.errors import PolicyError
from mccfr_plus.estimators.base import check_whole
from mccfr_plus.evaluation.behavior import JointPolicy
from mccfr_plus.evaluation.by_rules import NUMBER, NUMBERS, RulesEvaluator
from mccfr_plus.evaluation.exact import Evaluation
from mccfr_plus.evaluation.tabulation import InfosetHistories, tabulate
from mccfr_plus.games.game import RulesGame
from mccfr_plus.policies.keyed_policy import KeyedPolicy
from mccfr_plus.trees.by_rules.costs import fixed_cost, infoset_cost, slot_cost
from mccfr_plus.trees.by_rules.implicit_tree import ImplicitTree
from mccfr_plus.trees.by_rules.requirements import rules_to_traverse
from mccfr_plus.trees.by_rules.symmetric_tree import SymmetricTree, require_symmetries
from mccfr_plus.trees.loading import load_game
from mccfr_plus.trees.memory import KERNELS, MemoryPlan, plan_memory


def evaluate_by_rules(
    game: pyspiel.Game | str,
    policy: JointPolicy | None,
    *,
    memory: str | int | float | None = None,
    threads: int | None = None,
    progress: bool | None = None,
    uniform_elsewhere: bool = False,
    symmetry: bool | None = None,
) -> Evaluation:
    """Returns the exact values of a policy in a game that is not stored, by one traversal of all its histories.

    A policy that was not solved with ``tree="rules"`` and the same `symmetry` is tabulated first: another traversal
    finds a history of each infoset, where the policy gives its probabilities.

    Args:
        game: A game with compiled rules, or its string.
        policy: See `head_to_head`; None: uniform play.
        memory: Memory limit of the whole process; see `Solver`.
        threads: Number of threads; None: one per core.
        progress: Whether to show a progress bar on work over a second; None: if standard error is a terminal.
        uniform_elsewhere: Whether play is uniform at infosets that the policy lacks; otherwise they are an error.
            A `KeyedPolicy` is always uniform where its solver has not been.
        symmetry: Whether to visit one history per symmetry class. The policy must be symmetric, which is checked.
            None: if the policy was solved so.

    Raises:
        ConfigError: If the game has no such rules or symmetries, or the memory is too little to begin.
        PolicyError: If the policy is of another game, lacks infosets, has no distribution over the legal actions, or is
            not symmetric.
        BudgetError: If the infosets do not fit the memory.

    Examples:
        >>> import mccfr_plus
        >>> policy = mccfr_plus.Solver("kuhn_poker", tree="rules", seed=1).run(1000).average_policy()
        >>> found = mccfr_plus.evaluate_by_rules("kuhn_poker", policy)
        >>> abs(found.nash_conv - mccfr_plus.nash_conv("kuhn_poker", policy)) < 1e-12
        True
    """
    loaded = load_game(game)
    rules = rules_to_traverse(loaded)
    if isinstance(policy, KeyedPolicy) and str(policy.game) != str(loaded):
        raise PolicyError(f"a policy of {policy.game} does not fit {loaded}: evaluate it on its own game.")
    if threads is not None:
        check_whole("threads", threads)
    count = threads or os.cpu_count() or 1
    if symmetry is None:
        symmetry = is_symmetric(policy)
    if symmetry:
        require_symmetries(loaded, rules)
    plan = memory_plan(rules, memory, is_tabulated(policy, symmetry), count)
    tree = (SymmetricTree if symmetry else ImplicitTree)(loaded, rules, plan, count)
    strategy = tree.attach(None, check_depth=False, single_trajectory=False)
    evaluator = RulesEvaluator(tree, count, progress)
    if isinstance(policy, KeyedPolicy) and not is_tabulated(policy, symmetry):
        players, keys, first, _, probabilities = policy.table
        bounds = np.searchsorted(players, np.arange(tree.num_players + 1))
        tree.set_prior(bounds, keys, first, probabilities)
    elif policy is not None:
        tabulate(tree, policy, evaluator.find_histories(), strategy, uniform_elsewhere, progress)
    return evaluator.evaluate(strategy)


def memory_plan(
    rules: RulesGame, memory: str | int | float | None, with_histories: bool, threads: int | None = None
) -> MemoryPlan:
    """Returns how an exact evaluation divides the memory; `with_histories`: for a policy that `is_tabulated`."""
    return plan_memory(
        memory,
        node_cost=0,
        infoset_cost=infoset_cost() + (InfosetHistories.bytes_each(rules) if with_histories else 0),
        slot_cost=slot_cost(rules) + NUMBER * ((threads or os.cpu_count() or 1) + NUMBERS),
        reserved=KERNELS + fixed_cost(rules),
    )


def is_symmetric(policy: JointPolicy | None) -> bool:
    """Returns whether a policy was solved with ``symmetry=True``."""
    return isinstance(policy, KeyedPolicy) and policy.keys.kind == "symmetric"


def is_tabulated(policy: JointPolicy | None, symmetry: bool) -> bool:
    """Returns whether an exact evaluation tabulates a policy first; see `evaluate_by_rules`."""
    is_by_rules = isinstance(policy, KeyedPolicy) and policy.keys.kind in ("rules", "symmetric")
    return policy is not None and not (is_by_rules and is_symmetric(policy) == symmetry)
