"""Any OpenSpiel policy, asked state by state, without a tree."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import pyspiel
from open_spiel.python import policy as openspiel_policy

from mccfr_plus.errors import PolicyError
from mccfr_plus.evaluation.strategies import AnyPolicy
from mccfr_plus.tree.game import quiet_openspiel

PlayerPolicy: TypeAlias = AnyPolicy | Callable[[pyspiel.State], Mapping[int, float]]
JointPolicy: TypeAlias = PlayerPolicy | Sequence[PlayerPolicy]
Answer: TypeAlias = Callable[[pyspiel.State, str, int], Any]

_TOLERANCE = 1e-4  # a policy computed in single precision misses 1 by less
_MAX_ROWS = 100_000  # some 50 MB


class Row(NamedTuple):
    """A known distribution over actions: a policy's at an information state, or chance's."""

    info_state: str | None  # None for chance
    actions: tuple[int, ...]  # those of positive probability
    probabilities: tuple[float, ...]  # sum to 1
    cumulative: tuple[float, ...]  # the last one is 1, so that bisecting by a number below 1 stays inside


class Behavior:
    """What all players do under a policy.

    A policy is asked once per information state, as long as there is room: it has to answer alike at all states that
    share one.

    Args:
        game: A turn-based game, whose states will be asked for.
        policy: A joint policy of OpenSpiel, from Python or C++, a mapping from information states to actions and
            probabilities, which stands for uniform play at those that it does not hold, a function from states to
            {action: probability}, or a list of one of these per player.
        max_rows: How many information states are remembered.

    Raises:
        PolicyError: If the policy is none, or, when asked, answers with something else than a distribution over legal
            actions.
    """

    def __init__(self, game: pyspiel.Game, policy: JointPolicy, max_rows: int = _MAX_ROWS):
        players = game.num_players()
        if isinstance(policy, list | tuple):
            if len(policy) != players:
                raise PolicyError(f"{len(policy)} policies for {players} players: give one per player, or one.")
            self._answers = [_answer(part) for part in policy]
        else:
            self._answers = [_answer(policy)] * players
        self._rows: list[dict[str, Row]] = [{} for _ in range(players)]
        self._max_rows = max_rows

    def row(self, state: pyspiel.State) -> Row:
        """Returns what the policy does at a decision node."""
        player = state.current_player()
        info_state = state.information_state_string(player)
        rows = self._rows[player]
        row = rows.get(info_state)
        if row is None:
            if len(rows) >= self._max_rows:
                rows.clear()
            row = rows[info_state] = _row(state, info_state, player, self._answers[player](state, info_state, player))
        return row


def uniform_row(state: pyspiel.State) -> Row:
    """Returns uniform play at a decision node."""
    actions = tuple(state.legal_actions())
    return new_row(state.information_state_string(), actions, (1.0,) * len(actions))


def chance_row(state: pyspiel.State) -> Row:
    """Returns the distribution of a chance node."""
    actions, weights = zip(*((a, p) for a, p in state.chance_outcomes() if p > 0), strict=True)
    return new_row(None, actions, weights)


def new_row(info_state: str | None, actions: tuple[int, ...], weights: tuple[float, ...]) -> Row:
    """Returns a row of positive weights, made to sum to 1."""
    total = sum(weights)
    probabilities = tuple(w / total for w in weights)
    return Row(info_state, actions, probabilities, (*itertools.accumulate(probabilities[:-1]), 1.0))


def _answer(policy: PlayerPolicy) -> Answer:
    if isinstance(policy, pyspiel.TabularPolicy):
        policy = policy.policy_table()
    # A TreePolicy is a mapping too, but knows which information states are of another game.
    if isinstance(policy, openspiel_policy.Policy):
        return lambda state, _, player: policy.action_probabilities(state, player)
    if isinstance(policy, Mapping):

        def from_mapping(state: pyspiel.State, info_state: str, player: int) -> Any:
            given = policy.get(info_state)
            if given is None:  # OpenSpiel's conversion to turn-based puts this line before the original's string
                given = policy.get(info_state.removeprefix(f"Current player: {player}\n"))
            actions = state.legal_actions()
            return dict.fromkeys(actions, 1 / len(actions)) if given is None else given

        return from_mapping
    if isinstance(policy, pyspiel.Policy):

        def from_cpp(state: pyspiel.State, _info_state: str, _player: int) -> Any:
            try:
                with quiet_openspiel():
                    return policy.get_state_policy(state)
            except (RuntimeError, pyspiel.SpielError):  # it has no such state
                return None

        return from_cpp
    if callable(policy):
        return lambda state, _info_state, _player: policy(state)
    raise PolicyError(
        f"policy={policy!r} is a {type(policy).__name__}: give an OpenSpiel policy (Python or C++), a mapping from "
        "information states to {action: probability}, a function from states to that, or a list of one per player."
    )


def _row(state: pyspiel.State, info_state: str, player: int, answer: Any) -> Row:
    where = f"at information state {info_state!r} of player {player}"
    if not answer:
        raise PolicyError(
            f"the policy has no answer {where}: is it a policy of another game, or a partial one? A mapping from "
            "information states is taken to play uniformly at those that it does not hold."
        )
    given = dict(answer)
    legal = state.legal_actions()
    weights = [float(given.get(action, 0.0)) for action in legal]
    total = sum(weights)
    if not all(w >= 0 for w in weights) or not abs(total - 1.0) <= _TOLERANCE:
        raise PolicyError(f"the policy's probabilities {where} are {weights}, summing to {total:.6g}, not to 1.")
    actions, positive = zip(*((a, w) for a, w in zip(legal, weights, strict=True) if w > 0), strict=True)
    return new_row(info_state, actions, positive)
