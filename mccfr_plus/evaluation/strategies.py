"""From any OpenSpiel policy to a strategy array."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy

from mccfr_plus.errors import PolicyError
from mccfr_plus.policies.keyed_policy import KeyedPolicy
from mccfr_plus.policies.tree_policy import TreePolicy
from mccfr_plus.tree.game import quiet_openspiel
from mccfr_plus.tree.game_tree import GameTree
from mccfr_plus.tree.order import representative_states

Probabilities: TypeAlias = Mapping[int, float] | Sequence[tuple[int, float]]
AnyPolicy: TypeAlias = openspiel_policy.Policy | pyspiel.Policy | Mapping[str, Probabilities]

_TOLERANCE = 1e-4  # a policy computed in single precision misses 1 by less


def strategy_of(tree: GameTree, policy: AnyPolicy | Sequence[AnyPolicy]) -> np.ndarray:
    """Returns the probabilities of a policy, ``[num_slots]`` float64, as they are, not normalized.

    Args:
        tree: The game.
        policy: A joint policy of OpenSpiel, from Python or C++, a mapping from information states to actions and
            probabilities, or a list of one of these per player.

    Raises:
        PolicyError: If the policy does not answer for an infoset of the game, or not with a distribution over its
            legal actions.
    """
    if isinstance(policy, list | tuple):
        if len(policy) != tree.num_players:
            raise PolicyError(f"{len(policy)} policies for {tree.num_players} players: give one per player, or one.")
        ranges = tree.arrays.slot_range
        parts = [_strategy_of(tree, p, [i])[ranges[i] : ranges[i + 1]] for i, p in enumerate(policy)]
        return np.concatenate(parts)
    return _strategy_of(tree, policy, list(range(tree.num_players)))


def _strategy_of(tree: GameTree, policy: AnyPolicy, players: list[int]) -> np.ndarray:
    if isinstance(policy, TreePolicy):
        if policy.tree is tree or policy.tree.fingerprint == tree.fingerprint:
            return policy.strategy()
        raise PolicyError(f"a policy of {policy.game} does not fit {tree.game}: evaluate it on its own game.")
    if isinstance(policy, KeyedPolicy):
        return _strategy_of_keys(tree, policy)
    answer = _answers(tree, policy)
    strategy = np.zeros(tree.num_slots)
    ranges = tree.arrays.infoset_range
    for player in players:
        for infoset in range(ranges[player], ranges[player + 1]):
            slots = tree.slots(infoset)
            strategy[slots] = _row(tree, infoset, player, answer(infoset))
    return strategy


def _strategy_of_keys(tree: GameTree, policy: KeyedPolicy) -> np.ndarray:
    strategy = tree.uniform_strategy()  # which it plays where it has nothing
    for infoset, player in enumerate(tree.arrays.infosets["player"].tolist()):
        found = policy.find(tree.info_states[infoset], player)
        if found is not None:
            strategy[tree.slots(infoset)] = _row(tree, infoset, player, found)
    return strategy


def _answers(tree: GameTree, policy: AnyPolicy) -> Callable[[int], Any]:
    """Returns a function from infosets to {action: probability}, or None where the policy has no answer."""
    if isinstance(policy, openspiel_policy.TabularPolicy):
        rows, lookup = policy.action_probability_array, policy.state_lookup

        def from_rows(infoset: int) -> Probabilities | None:
            row = lookup.get(tree.info_states[infoset])
            return None if row is None else dict(enumerate(rows[row].tolist()))

        return from_rows
    table: Any = policy.policy_table() if isinstance(policy, pyspiel.TabularPolicy) else policy
    if isinstance(table, Mapping):
        return lambda infoset: table.get(tree.info_states[infoset])
    states = representative_states(tree)
    if isinstance(policy, pyspiel.Policy):

        def from_cpp(infoset: int) -> Probabilities | None:
            try:
                with quiet_openspiel():
                    return policy.get_state_policy(states[infoset])
            except (RuntimeError, pyspiel.SpielError):  # it has no such state
                return None

        return from_cpp
    if isinstance(policy, openspiel_policy.Policy):
        return lambda infoset: policy.action_probabilities(states[infoset], states[infoset].current_player())
    raise PolicyError(
        f"policy={policy!r} is a {type(policy).__name__}: give an OpenSpiel policy (Python or C++), a mapping from "
        "information states to [(action, probability), ...], or a list of one per player."
    )


def _row(tree: GameTree, infoset: int, player: int, answer: Probabilities | None) -> list[float]:
    where = f"at information state {tree.info_states[infoset]!r} of player {player} in {tree.game}"
    if not answer:
        raise PolicyError(f"the policy has no answer {where}: is it a policy of another game, or a partial one?")
    given = dict(answer)
    legal = tree.legal_actions(infoset)
    row = [float(given.get(action, 0.0)) for action in legal]
    total = sum(row)
    if not all(p >= 0 for p in row) or not abs(total - 1.0) <= _TOLERANCE:
        raise PolicyError(f"the policy's probabilities {where} are {row}, summing to {total:.6g}, not a distribution.")
    return row
