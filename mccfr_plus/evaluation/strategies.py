"""Probabilities of any kind of policy, and of chance: state by state, and as a strategy array of a tree."""

import itertools
import random
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from types import BuiltinFunctionType
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy

from mccfr_plus.errors import ConfigError, PolicyError
from mccfr_plus.estimators import Estimator
from mccfr_plus.policies.keyed_policy import KeyedPolicy
from mccfr_plus.policies.table import TreePolicy, is_strategy
from mccfr_plus.trees.abstraction import is_abstraction
from mccfr_plus.trees.game_tree import GameTree
from mccfr_plus.trees.loading import checked_outcomes, game_error, quiet_openspiel
from mccfr_plus.trees.order import representative_states
from mccfr_plus.trees.public.public_tree import PublicTree, given_public_tree

Probabilities: TypeAlias = Mapping[int, float] | Sequence[tuple[int, float]]
AnyPolicy: TypeAlias = (
    openspiel_policy.Policy | pyspiel.Policy | Mapping[str, Probabilities] | Callable[[pyspiel.State], Probabilities]
)
JointPolicy: TypeAlias = AnyPolicy | Sequence[AnyPolicy]

_TOLERANCE = 1e-4  # a policy computed in single precision misses 1 by less
_MAX_ROWS = 100_000  # of a player that `Behavior` keeps, some 50 MB


def strategy_of(tree: GameTree | PublicTree, policy: JointPolicy) -> np.ndarray:
    """Returns a policy's probabilities, ``[num_slots]`` float64. PolicyError if an infoset has no distribution."""
    if not isinstance(policy, list | tuple):
        return _strategy_of(tree, policy, range(tree.num_players))
    policies, ranges = one_per_player(policy, tree.num_players), tree.arrays.slot_range
    return np.concatenate([_strategy_of(tree, p, [i])[ranges[i] : ranges[i + 1]] for i, p in enumerate(policies)])


def sampling_strategy_of(tree: GameTree, estimator: Estimator) -> np.ndarray:
    """Returns the strategy that an estimator samples by, ``[num_slots]`` float64. ConfigError if it is none."""
    given = estimator.sampling_strategy(tree)
    strategy = np.array(given, np.float64) if isinstance(given, np.ndarray) else strategy_of(tree, given)
    if strategy.shape != (tree.num_slots,):
        raise ConfigError(
            f"a sampling strategy of shape {strategy.shape}: give one number per slot, {tree.num_slots} in all."
        )
    if not (strategy > 0).all() or not is_strategy(strategy, tree.arrays.infosets["first_slot"]):
        raise ConfigError(f"the sampling strategy {strategy} must be positive and sum to 1 at each information state.")
    return strategy


def one_per_player(policy: Any, num_players: int) -> list:
    """Returns a list of policies, one per player; a joint policy is repeated. PolicyError for another number."""
    if not isinstance(policy, list | tuple):
        return [policy] * num_players
    if len(policy) != num_players:
        raise PolicyError(f"{len(policy)} policies for {num_players} players: give one per player or a joint policy.")
    return list(policy)


def require_player(game: pyspiel.Game, player: int) -> None:
    """Raises ConfigError unless the game has this player."""
    if isinstance(player, bool) or not isinstance(player, int | np.integer) or not 0 <= player < game.num_players():
        raise ConfigError(f"player={player!r}: {game} has players 0 to {game.num_players() - 1}.")


def answers_by_text(policy: Any) -> Callable[[str, int], Probabilities | None] | None:
    """Returns a function from (information state string, player) to {action: probability}; None if it needs states."""
    if isinstance(policy, TreePolicy):  # players may share texts
        return None
    if isinstance(policy, openspiel_policy.TabularPolicy):
        rows, lookup = policy.action_probability_array, policy.state_lookup

        def find(text: str) -> Probabilities | None:
            return dict(enumerate(rows[lookup[text]].tolist())) if text in lookup else None

    elif isinstance(policy, Mapping | pyspiel.TabularPolicy):
        table: Any = policy if isinstance(policy, Mapping) else policy.policy_table()
        find = table.get
    else:
        return None

    def answer(text: str, player: int) -> Probabilities | None:
        found = find(text)
        # OpenSpiel's conversion to turn-based puts this line before the original's string.
        return find(text.removeprefix(f"Current player: {player}\n")) if found is None else found

    return answer


def answers_of(policy: Any) -> Callable[[pyspiel.State, int], Probabilities | None]:
    """Returns a function from (state, player) to {action: probability}; it returns None where the policy has none."""
    if by_text := answers_by_text(policy):
        return lambda state, player: by_text(state.information_state_string(player), player)
    if isinstance(policy, openspiel_policy.Policy):
        return policy.action_probabilities
    if isinstance(policy, pyspiel.Policy):

        def from_cpp(state: pyspiel.State, _: int) -> Probabilities | None:
            try:
                with quiet_openspiel():
                    # Not the method of pyspiel's subclasses, some of which have none that takes states alone.
                    return pyspiel.Policy.get_state_policy(policy, state)
            except (RuntimeError, pyspiel.SpielError):  # it has no such state
                return None

        return from_cpp
    if callable(policy) and not isinstance(policy, type | BuiltinFunctionType):  # classes and factories make policies
        return lambda state, _: policy(state)
    raise PolicyError(
        f"policy={policy!r} has type {type(policy).__name__}: give an OpenSpiel policy (Python or C++), a mapping from "
        "information states to {action: probability}, a function from states to such a mapping, or a list of these."
    )


def row_of(answer: Probabilities | None, legal: list[int]) -> list[float] | None:
    """Returns the probabilities of the legal actions, None for no answer. TypeError or ValueError for another kind."""
    given = {} if answer is None else dict(answer)
    return [float(given.get(action, 0.0)) for action in legal] if given else None


def distribution(answer: Probabilities | None, legal: list[int], where: str) -> list[float]:
    """Returns the probabilities of the legal actions, as they are. PolicyError if they are not a distribution."""
    try:
        row = row_of(answer, legal)
    except (TypeError, ValueError):
        raise PolicyError(f"the policy returned {answer!r} {where}: return {{action: probability}}.") from None
    if row is None:
        raise PolicyError(f"the policy has no probabilities {where}: give a complete policy for this game.")
    total = sum(row)
    if not all(p >= 0 for p in row) or not abs(total - 1.0) <= _TOLERANCE:
        raise PolicyError(f"the policy's probabilities {where} are not a distribution: {row}, with sum {total:.6g}.")
    return row


def are_distributions(table: np.ndarray, masks: np.ndarray) -> np.ndarray:
    """Returns which rows have a distribution over the legal actions, ``[n]`` bool, of arrays ``[n, num_actions]``."""
    legal = np.where(masks, table, 0.0)
    return (legal >= 0).all(1) & (np.abs(legal.sum(1) - 1.0) <= _TOLERANCE)


def _strategy_of(tree: Any, policy: AnyPolicy, players: Sequence[int]) -> np.ndarray:
    if (public := given_public_tree(tree)) is not None:
        if isinstance(policy, TreePolicy) and policy.tree.fingerprint == public.fingerprint:
            return policy.strategy()
        if public.whole is not public:
            strategy = np.empty(public.num_slots)
            strategy[public.slots_of_whole] = _strategy_of(public.whole, policy, players)
            return strategy
        return _strategy_of(public.stored, policy, players)[public.stored_slots]
    is_lifted = is_abstraction(getattr(policy, "game", None), tree.game)
    if isinstance(policy, TreePolicy) and not is_lifted:
        if policy.tree is tree or policy.tree.fingerprint == tree.fingerprint:
            return policy.strategy()
        public = given_public_tree(policy.tree)
        if public is not None and public.stored.fingerprint == tree.fingerprint:
            return public.on_stored(policy.strategy())
        raise PolicyError(f"a policy for {policy.game} does not fit {tree.game}: evaluate it on its own game.")
    keyed = policy if isinstance(policy, KeyedPolicy) else None
    by_text: Any = keyed.find if keyed is not None and keyed.keys.of_texts else answers_by_text(policy)
    by_text = None if is_lifted else by_text
    answer, nodes = (by_text, tree.info_states) if by_text else (answers_of(policy), representative_states(tree))
    strategy, ranges = tree.uniform_strategy(), tree.arrays.infoset_range
    for player in players:
        for infoset in range(ranges[player], ranges[player + 1]):
            found = answer(nodes[infoset], player)
            if found is None and keyed is not None:
                continue  # it is uniform elsewhere
            where = f"at information state {tree.info_states[infoset]!r} of player {player} in {tree.game}"
            strategy[tree.slots(infoset)] = distribution(found, tree.legal_actions(infoset), where)
    return strategy


class Distribution(NamedTuple):
    """A distribution over actions: of a policy at an information state, or of chance."""

    info_state: str | None  # None for chance
    actions: tuple[int, ...]  # those of positive probability
    probabilities: tuple[float, ...]  # sum to 1
    cumulative: tuple[float, ...]  # the last one is 1, so that bisecting by a number below 1 stays inside


RowOf: TypeAlias = Callable[[pyspiel.State], Distribution]  # at decision nodes


class Behavior:
    """The actions of all players under a policy, in a turn-based game; see `head_to_head` for kinds of policies.

    The policy is called once per information state, as long as a player has no more than 100,000.
    """

    def __init__(self, game: pyspiel.Game, policy: JointPolicy):
        self._policies = one_per_player(policy, game.num_players())
        self._answers = [answers_of(one) for one in self._policies]
        self._rows: list[dict[str, Distribution]] = [{} for _ in self._answers]

    def row(self, state: pyspiel.State) -> Distribution:
        """Returns the distribution at a decision node."""
        player, info_state = state.current_player(), state.information_state_string()
        rows = self._rows[player]
        row = rows.get(info_state)
        if row is None:
            if len(rows) >= _MAX_ROWS:
                rows.clear()
            legal, found = state.legal_actions(), self._answers[player](state, player)
            policy = self._policies[player]
            is_table = isinstance(policy, Mapping | pyspiel.TabularPolicy)
            if found is None and is_table and not isinstance(policy, openspiel_policy.Policy):
                found = dict.fromkeys(legal, 1 / len(legal))
            weights = distribution(found, legal, f"at information state {info_state!r} of player {player}")
            row = rows[info_state] = new_row(info_state, legal, weights)
        return row


def joined(player: int, own: RowOf, others: RowOf) -> RowOf:
    """Returns the distributions at decision nodes where one player follows `own` and all others follow `others`."""
    return lambda state: own(state) if state.current_player() == player else others(state)


def random_move(state: pyspiel.State, decide: RowOf, rng: random.Random) -> None:
    """Draws an action of chance or of the player to move. `state` is modified in place."""
    row = row_at(state, decide)
    state.apply_action(row.actions[bisect_right(row.cumulative, rng.random())])


def row_at(state: pyspiel.State, decide: RowOf) -> Distribution:
    """Returns the distribution at a chance or decision node."""
    return chance_row(state) if state.is_chance_node() else decide(state)


def chance_row(state: pyspiel.State) -> Distribution:
    """Returns the distribution of a chance node. GameError if its probabilities are not a distribution."""
    try:
        outcomes = checked_outcomes(state.chance_outcomes())
    except Exception as error:
        raise game_error(state.get_game(), state.history(), error) from error.__cause__
    return new_row(None, *zip(*outcomes, strict=True))


def new_row(info_state: str | None, actions: Sequence[int], weights: Sequence[float]) -> Distribution:
    """Returns the distribution over the actions of positive weight, in proportion to the weights."""
    actions, weights = zip(*((a, w) for a, w in zip(actions, weights, strict=True) if w > 0), strict=True)
    total = sum(weights)
    probabilities = tuple(w / total for w in weights)
    return Distribution(info_state, actions, probabilities, (*itertools.accumulate(probabilities[:-1]), 1.0))
