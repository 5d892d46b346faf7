"""The probabilities of any policy at all infosets of a game that is not stored.

A history of each infoset is known (`tree.by_rules.histories`). In the order of their actions, histories share most of
their states with the one before, so that a state takes one or two moves of pyspiel. The policy gives its probabilities
once per infoset: batch by batch if it can, as networks do.
"""

import itertools
import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyspiel
from tqdm.auto import tqdm

from mccfr_plus.errors import PolicyError
from mccfr_plus.evaluation.behavior import JointPolicy, answers_at_batches
from mccfr_plus.evaluation.strategies import distribution, one_per_player
from mccfr_plus.games.game import RulesGame
from mccfr_plus.policies.keyed_policy import KeyedPolicy
from mccfr_plus.tree.by_rules.frames import element_of, stabilizer_of
from mccfr_plus.tree.by_rules.implicit_tree import ImplicitTree
from mccfr_plus.tree.by_rules.symmetric_tree import SymmetricTree

_BATCH = 4096  # states
_WHAT = "tabulating the policy"
_BESIDE = 2 + 4 + 8  # bytes per infoset, beside its history: of its length, frame and place in the order
_SAME = 1e-9  # difference of probabilities of a symmetric policy


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
        """Returns the bytes that a history takes, with what it is sorted by."""
        depth = game.sizes.max_game_length + game.sizes.max_chance_nodes
        return depth * _dtype(game).itemsize + _BESIDE

    def in_order(self) -> np.ndarray:
        """Returns the infosets in an order in which those come together whose histories begin alike."""
        if not self.actions.shape[1]:
            return np.arange(len(self.actions))
        rows = self.actions.view(np.dtype((np.void, self.actions.shape[1] * self.actions.itemsize)))
        return np.argsort(rows.ravel(), kind="stable")

    def turned(self, permutation: np.ndarray) -> "InfosetHistories":
        """Returns the histories that a permutation of the actions makes of these."""
        return self._replace(actions=permutation.astype(self.actions.dtype)[self.actions])

    def states(self, game: pyspiel.Game, order: np.ndarray) -> Iterator[pyspiel.State]:
        """Yields a state of each infoset, in the order given."""
        path: list[int] = []
        states = [game.new_initial_state()]
        for infoset in order.tolist():
            history = self.actions[infoset, : self.lengths[infoset] - 1].tolist()
            same = 0
            while same < len(path) and same < len(history) and path[same] == history[same]:
                same += 1
            del states[same + 1 :]
            for action in history[same:]:
                states.append(states[-1].child(action))
            path = history
            yield states[-1]


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
        policy: See `evaluate_by_rules`.
        histories: A history of each infoset.
        strategy: ``[slot_capacity]`` float64, uniform. Modified in place.
        uniform_elsewhere: Whether infosets that the policy lacks keep the uniform strategy.
        progress: Whether to show a progress bar on work over a second; None: if standard error is a terminal.

    Raises:
        PolicyError: If the policy lacks infosets, has no distribution over the legal actions, or, on a tree with
            symmetries, is not symmetric.
    """
    if not isinstance(tree, SymmetricTree):
        rows = _rows(tree, policy, histories, uniform_elsewhere, progress)
        for infoset, _, row, _ in rows:
            strategy[tree.slots(infoset)] = row
        return
    group = tree.symmetries
    for element, permutation in enumerate(group.permutations):
        for infoset, legal, row, where in _rows(
            tree, policy, histories.turned(permutation), uniform_elsewhere, progress
        ):
            frame, slots = int(histories.frames[infoset]), tree.slots(infoset)
            own = group.products[element_of(frame), group.inverses[element]]
            action = group.representatives(stabilizer_of(frame))[group.permutations[own, legal]]
            members = action == tree.found_actions[slots, None]  # of each slot's orbit
            row_of_slots = members @ row
            if not element:
                strategy[slots] = row_of_slots
            even = members.T @ (strategy[slots] / members.sum(1))
            if np.abs(even - row).max() > _SAME:
                given, needed = (np.round(each, 6).tolist() for each in (row, even))
                raise PolicyError(
                    f"symmetry=True with a policy that is not symmetric: {where} its probabilities are {given}, and by "
                    f"a state that symmetries turn into this one they are {needed}. Evaluate it without symmetry."
                )


def _rows(
    tree: ImplicitTree, policy: JointPolicy, histories: InfosetHistories, uniform_elsewhere: bool, progress: bool | None
) -> Iterator[tuple[int, list[int], np.ndarray, str]]:
    """Yields each infoset with the legal actions, their probabilities, and its name; see `tabulate`."""
    policies = one_per_player(policy, tree.num_players)
    answers = [answers_at_batches(one) for one in policies]
    may_lack = [uniform_elsewhere or isinstance(one, KeyedPolicy) for one in policies]
    order, owner = histories.in_order(), tree.found_infosets["player"]
    missing, example, begin = 0, "", time.monotonic()
    disable = None if progress is None else not progress
    bar = tqdm(total=len(order), desc=_WHAT, unit=" infosets", delay=1.0, disable=disable, leave=False)
    states = histories.states(tree.game, order)
    with bar:
        for start in range(0, len(order), _BATCH):
            try:
                batch = order[start : start + _BATCH]
                here = list(itertools.islice(states, len(batch)))
                for player, answer in enumerate(answers):
                    own = np.flatnonzero(owner[batch] == player).tolist()
                    for row, found in zip(own, answer([here[row] for row in own], player), strict=True):
                        legal = here[row].legal_actions()
                        where = f"at information state {here[row].information_state_string()!r} of player {player}"
                        if not found and not may_lack[player]:
                            missing, example = missing + 1, example or where
                        probabilities = distribution(found, legal, where) if found else [1 / len(legal)] * len(legal)
                        yield int(batch[row]), legal, np.array(probabilities), where
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
