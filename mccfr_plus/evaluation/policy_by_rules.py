"""The exact evaluation of a policy in a game that is not stored.

A policy that was not solved by rules is tabulated first: a history of each infoset is found, and the policy gives its
probabilities there. A network does so for many histories at once, which compiled rules play; others at pyspiel's
states. Histories are visited in the order of their actions, so that a state takes one or two moves from the one before.
"""

import os
from collections.abc import Callable, Iterator

import numpy as np
import pyspiel
from tqdm.auto import tqdm

from mccfr_plus.errors import PolicyError
from mccfr_plus.evaluation.by_rules import NUMBER, NUMBERS, InfosetHistories, RulesEvaluator
from mccfr_plus.evaluation.exact import Evaluation
from mccfr_plus.evaluation.strategies import (
    AnyPolicy,
    JointPolicy,
    answers_of,
    are_distributions,
    distribution,
    one_per_player,
    row_of,
)
from mccfr_plus.games.game import RulesGame
from mccfr_plus.parameters import check_whole
from mccfr_plus.policies.keyed_policy import KeyedPolicy
from mccfr_plus.trees.batches import states_after
from mccfr_plus.trees.by_rules.frames import element_of, stabilizer_of
from mccfr_plus.trees.by_rules.implicit_tree import ImplicitTree
from mccfr_plus.trees.by_rules.requirements import rules_to_traverse, tree_bytes
from mccfr_plus.trees.loading import load_game
from mccfr_plus.trees.memory import MemoryPlan, plan_memory

_BATCH = 4096  # states
_CELLS = 2**22  # of a batch's table
_BYTES_OF_ORDER = 8  # of an infoset's place in the order of histories
_SAME = 1e-9  # difference of probabilities of a symmetric policy

_Answer = Callable[[int, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]


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
    if isinstance(policy, KeyedPolicy) and str(policy.game) != str(loaded):
        raise PolicyError(f"a policy of {policy.game} does not fit {loaded}: evaluate it on its own game.")
    if threads is not None:
        check_whole("threads", threads)
    count = threads or os.cpu_count() or 1
    if symmetry is None:
        symmetry = is_symmetric(policy)
    rules, with_histories = rules_to_traverse(loaded, symmetry), is_tabulated(policy, symmetry)
    tree = ImplicitTree(loaded, rules, _memory_plan(rules, memory, with_histories, count), count, symmetry)
    strategy = tree.attach(None, check_depth=False, single_trajectory=False)
    evaluator = RulesEvaluator(tree, count, progress)
    if isinstance(policy, KeyedPolicy) and not with_histories:
        players, keys, first, _, probabilities = policy.table
        bounds = np.searchsorted(players, np.arange(tree.num_players + 1))
        tree.set_prior(bounds, keys, first, probabilities)
    elif policy is not None:
        _tabulate(tree, policy, evaluator.find_histories(), strategy, uniform_elsewhere, progress)
    return evaluator.evaluate(strategy)


def is_symmetric(policy: JointPolicy | None) -> bool:
    """Returns whether a policy was solved with ``symmetry=True``."""
    return isinstance(policy, KeyedPolicy) and policy.keys.symmetry


def is_tabulated(policy: JointPolicy | None, symmetry: bool) -> bool:
    """Returns whether an exact evaluation tabulates a policy first; see `evaluate_by_rules`."""
    is_by_rules = isinstance(policy, KeyedPolicy) and not policy.keys.of_texts
    return policy is not None and not (is_by_rules and is_symmetric(policy) == symmetry)


def _memory_plan(rules: RulesGame, memory: str | int | float | None, with_histories: bool, threads: int) -> MemoryPlan:
    tree, histories = tree_bytes(rules), 0
    if with_histories:
        one = InfosetHistories.room_for(1, rules.sizes.max_game_length + rules.sizes.max_chance_nodes, rules)
        histories = sum(array.nbytes for array in one) + _BYTES_OF_ORDER
    return plan_memory(
        memory,
        node_cost=0,
        infoset_cost=tree.infoset + histories,
        slot_cost=tree.slot + NUMBER * (threads + NUMBERS),
    )


def _tabulate(
    tree: ImplicitTree,
    policy: JointPolicy,
    histories: InfosetHistories,
    strategy: np.ndarray,
    uniform_elsewhere: bool,
    progress: bool | None,
) -> None:
    """Writes the probabilities of a policy at all infosets of a tree to the uniform `strategy`, ``[slot_capacity]``."""
    group = tree.symmetries
    if group is None:
        for infosets, masks, table in _tables(tree, policy, histories, uniform_elsewhere, progress):
            first = tree.found_infosets["first_slot"][infosets]
            strategy[(first[:, None] + masks.cumsum(1) - 1)[masks]] = table[masks]
        return
    for element, permutation in enumerate(group.permutations):
        turned = histories._replace(actions=permutation.astype(histories.actions.dtype)[histories.actions])
        for infosets, masks, table in _tables(tree, policy, turned, uniform_elsewhere, progress):
            for number, (infoset, mask, row) in enumerate(zip(infosets.tolist(), masks, table, strict=True)):
                frame, slots, legal = int(histories.frames[infoset]), tree.slots(infoset), np.flatnonzero(mask)
                own = group.products[element_of(frame), group.inverses[element]]
                action = group.representatives(stabilizer_of(frame))[group.permutations[own, legal]]
                members = action == tree.found_actions[slots, None]  # of each slot's orbit
                if not element:
                    strategy[slots] = members @ row[legal]
                even = members.T @ (strategy[slots] / members.sum(1))
                if np.abs(even - row[legal]).max() > _SAME:
                    given, needed = (np.round(each, 6).tolist() for each in (row[legal], even))
                    where = _where(_state_at(tree.game, turned, infosets[[number]]))
                    raise PolicyError(
                        f"symmetry=True with a policy that is not symmetric: {where} its probabilities are {given}, "
                        f"and by a state that symmetries turn into this one they are {needed}. Evaluate it without "
                        "symmetry."
                    )


def _tables(
    tree: ImplicitTree, policy: JointPolicy, histories: InfosetHistories, uniform_elsewhere: bool, progress: bool | None
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yields infosets, ``[n]``, their legal actions and probabilities, both ``[n, num_actions]``."""
    policies = one_per_player(policy, tree.num_players)
    answers = [_answer_after(tree.game, one) for one in policies]
    may_lack = [uniform_elsewhere or isinstance(one, KeyedPolicy) for one in policies]
    order, owner = _in_order(histories.actions), tree.found_infosets["player"]
    num_actions = tree.game.num_distinct_actions()
    missing, example = 0, ""
    disable = None if progress is None else not progress
    batch_size = max(1, min(_BATCH, _CELLS // num_actions))
    what, unit = "tabulating the policy", " infosets"
    with tqdm(total=len(order), desc=what, unit=unit, delay=1.0, disable=disable, leave=False) as bar:
        for start in range(0, len(order), batch_size):
            batch = order[start : start + batch_size]
            masks, table = np.zeros((len(batch), num_actions), bool), np.zeros((len(batch), num_actions))
            for player, answer in enumerate(answers):
                own = np.flatnonzero(owner[batch] == player)
                masks[own], given, known = answer(player, *_after(histories, batch[own]))
                table[own] = np.where(known[:, None], given, masks[own] / masks[own].sum(1, keepdims=True))
                if not known.all() and not may_lack[player]:
                    missing += int((~known).sum())
                    example = example or _where(_state_at(tree.game, histories, batch[own][~known]))
                wrong = ~are_distributions(table[own], masks[own])
                if wrong.any():
                    state, row = _state_at(tree.game, histories, batch[own][wrong]), table[own][wrong][0]
                    distribution(dict(enumerate(row.tolist())), state.legal_actions(), _where(state))  # raises
            yield batch, masks, table
            bar.update(len(batch))
    if missing:
        raise PolicyError(
            f"the policy has no probabilities at {missing:,} of the {len(order):,} information sets of {tree.game}, "
            f"such as {example}: give a complete policy, or uniform_elsewhere=True to play uniformly there."
        )


def _answer_after(game: pyspiel.Game, policy: AnyPolicy) -> _Answer:
    """Returns a function from a player and histories to the legal actions, their probabilities, and which are known.

    A policy with a method ``probabilities_after``, as networks have, gets the histories at once.
    """
    at_once = getattr(policy, "probabilities_after", None)
    if at_once is not None:
        return lambda _, actions, lengths: (*at_once(actions, lengths), np.ones(len(lengths), bool))
    answer = answers_of(policy)

    def after(player: int, actions: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        table = np.zeros((len(lengths), game.num_distinct_actions()))
        masks, known = np.zeros(table.shape, bool), np.zeros(len(lengths), bool)
        for row, state in enumerate(states_after(game, actions, lengths)):
            legal, found = state.legal_actions(), answer(state, player)
            masks[row, legal] = True
            try:
                row_found = row_of(found, legal)
            except (TypeError, ValueError):
                row_found = distribution(found, legal, _where(state))  # raises PolicyError
            if row_found is not None:
                table[row, legal], known[row] = row_found, True
        return masks, table, known

    return after


def _in_order(actions: np.ndarray) -> np.ndarray:
    """Returns the infosets in the order of their histories' actions."""
    if not actions.shape[1]:
        return np.arange(len(actions))
    rows = actions.view(np.dtype((np.void, actions.shape[1] * actions.itemsize)))
    return np.argsort(rows.ravel(), kind="stable")


def _after(histories: InfosetHistories, infosets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the histories of infosets: actions, ``[n, max_depth]``, and their numbers, ``[n]``."""
    return histories.actions[infosets], histories.lengths[infosets].astype(np.int64) - 1


def _state_at(game: pyspiel.Game, histories: InfosetHistories, infosets: np.ndarray) -> pyspiel.State:
    """Returns the state at the first of some infosets."""
    return next(states_after(game, *_after(histories, infosets[:1])))


def _where(state: pyspiel.State) -> str:
    return f"at information state {state.information_state_string()!r} of player {state.current_player()}"
