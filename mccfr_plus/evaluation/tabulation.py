"""The probabilities of any policy at all infosets of a game that is not stored.

A history of each infoset is known (`tree.by_rules.histories`). The policy gives its probabilities once per infoset: a
network for many histories at once, which compiled rules play; others at pyspiel's states. Histories are visited in the
order of their actions, so that a state takes one or two moves from the one before.
"""

import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import pyspiel
from tqdm.auto import tqdm

from mccfr_plus.errors import PolicyError
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
from mccfr_plus.policies.keyed_policy import KeyedPolicy
from mccfr_plus.trees.batches import states_after
from mccfr_plus.trees.by_rules.frames import element_of, stabilizer_of
from mccfr_plus.trees.by_rules.implicit_tree import ImplicitTree
from mccfr_plus.trees.by_rules.symmetric_tree import SymmetricTree

_BATCH = 4096  # states
_CELLS = 2**22  # of a batch's table
_WHAT = "tabulating the policy"
_BESIDE = 2 + 4 + 8  # bytes per infoset, beside its history: of its length, frame and place in the order
_SAME = 1e-9  # difference of probabilities of a symmetric policy

_Answer = Callable[[int, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]


class InfosetHistories(NamedTuple):
    """A history of each infoset: the actions of players and chance from the root on."""

    actions: np.ndarray  # [num_infosets, max_depth] uint8 or uint16
    lengths: np.ndarray  # [num_infosets] int16: one more than the number of actions; 0: there is none yet
    frames: np.ndarray  # [num_infosets] int32: the player's frame there (`by_rules.frames`), in games with symmetries

    @classmethod
    def none(cls) -> "InfosetHistories":
        """Returns no room."""
        return cls(np.zeros((0, 0), np.uint8), np.zeros(0, np.int16), np.zeros(0, np.int32))

    @classmethod
    def room_for(cls, tree: ImplicitTree) -> "InfosetHistories":
        """Returns room for the histories of all infosets that a tree has room for."""
        shape = tree.plan.max_infosets, tree.shape.max_depth
        actions = np.zeros(shape, _dtype(tree.rules_game))
        return cls(actions, np.zeros(shape[0], np.int16), np.zeros(shape[0], np.int32))

    @staticmethod
    def bytes_each(game: RulesGame) -> int:
        """Returns the bytes per history, including its place in the order."""
        depth = game.sizes.max_game_length + game.sizes.max_chance_nodes
        return depth * _dtype(game).itemsize + _BESIDE

    def in_order(self) -> np.ndarray:
        """Returns the infosets in the order of their histories' actions."""
        if not self.actions.shape[1]:
            return np.arange(len(self.actions))
        rows = self.actions.view(np.dtype((np.void, self.actions.shape[1] * self.actions.itemsize)))
        return np.argsort(rows.ravel(), kind="stable")

    def turned(self, permutation: np.ndarray) -> "InfosetHistories":
        """Returns the histories under a permutation of the actions."""
        return self._replace(actions=permutation.astype(self.actions.dtype)[self.actions])

    def after(self, infosets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns the histories of infosets: actions, ``[n, max_depth]``, and their numbers, ``[n]``."""
        return self.actions[infosets], self.lengths[infosets].astype(np.int64) - 1


def _dtype(game: RulesGame) -> np.dtype:
    return np.dtype(np.uint8 if game.most_actions <= 256 else np.uint16)


def tabulate(
    tree: ImplicitTree,
    policy: JointPolicy,
    histories: InfosetHistories,
    strategy: np.ndarray,
    uniform_elsewhere: bool = False,
    progress: bool | None = None,
) -> None:
    """Writes the probabilities of a policy at all infosets of a tree.

    Args:
        tree: The game, all of whose infosets are numbered.
        policy: See `evaluate_by_rules`, also for `uniform_elsewhere`, `progress` and errors.
        histories: A history of each infoset.
        strategy: ``[slot_capacity]`` float64, uniform. Modified in place.
    """
    group = tree.symmetries if isinstance(tree, SymmetricTree) else None
    if group is None:
        for infosets, masks, table in _tables(tree, policy, histories, uniform_elsewhere, progress):
            first = tree.found_infosets["first_slot"][infosets]
            strategy[(first[:, None] + masks.cumsum(1) - 1)[masks]] = table[masks]
        return
    for element, permutation in enumerate(group.permutations):
        turned = histories.turned(permutation)
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
    """Yields infosets, ``[n]``, their legal actions and probabilities, both ``[n, num_actions]``; see `tabulate`."""
    policies = one_per_player(policy, tree.num_players)
    answers = [_answer_after(tree.game, one) for one in policies]
    may_lack = [uniform_elsewhere or isinstance(one, KeyedPolicy) for one in policies]
    order, owner, num_actions = histories.in_order(), tree.found_infosets["player"], tree.game.num_distinct_actions()
    missing, example, begin = 0, "", time.monotonic()
    disable = None if progress is None else not progress
    bar = tqdm(total=len(order), desc=_WHAT, unit=" infosets", delay=1.0, disable=disable, leave=False)
    batch_size = max(1, min(_BATCH, _CELLS // num_actions))
    with bar:
        for start in range(0, len(order), batch_size):
            try:
                batch = order[start : start + batch_size]
                masks, table = np.zeros((len(batch), num_actions), bool), np.zeros((len(batch), num_actions))
                for player, answer in enumerate(answers):
                    own = np.flatnonzero(owner[batch] == player)
                    masks[own], given, known = answer(player, *histories.after(batch[own]))
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
            except KeyboardInterrupt:
                seconds = time.monotonic() - begin
                how_far = f"{_WHAT}: {start:,} of {len(order):,} information sets in {seconds:.0f} s"
                raise KeyboardInterrupt(how_far) from None
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


def _state_at(game: pyspiel.Game, histories: InfosetHistories, infosets: np.ndarray) -> pyspiel.State:
    """Returns the state at the first of some infosets."""
    return next(states_after(game, *histories.after(infosets[:1])))


def _where(state: pyspiel.State) -> str:
    return f"at information state {state.information_state_string()!r} of player {state.current_player()}"
