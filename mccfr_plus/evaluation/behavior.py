"""The behavior of players under any policy, state by state, without a tree."""

import itertools
import random
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import pyspiel
from open_spiel.python import policy as openspiel_policy

from mccfr_plus.evaluation.strategies import JointPolicy, answers_of, distribution, one_per_player
from mccfr_plus.trees.loading import checked_outcomes, game_error

_MAX_ROWS = 100_000  # of a player, some 50 MB


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
        policies = one_per_player(policy, game.num_players())
        self._answers = [answers_of(one) for one in policies]
        self._is_uniform_elsewhere = [
            isinstance(one, Mapping | pyspiel.TabularPolicy) and not isinstance(one, openspiel_policy.Policy)
            for one in policies
        ]
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
            if found is None and self._is_uniform_elsewhere[player]:
                found = dict.fromkeys(legal, 1 / len(legal))
            weights = distribution(found, legal, f"at information state {info_state!r} of player {player}")
            row = rows[info_state] = new_row(info_state, legal, weights)
        return row


def joined(player: int, own: RowOf, others: RowOf) -> RowOf:
    """Returns the distributions at decision nodes where one player follows `own` and all others follow `others`."""
    return lambda state: own(state) if state.current_player() == player else others(state)


def random_move(state: pyspiel.State, row_of: RowOf, rng: random.Random) -> None:
    """Draws an action of chance or of the player to move. `state` is modified in place."""
    row = row_at(state, row_of)
    state.apply_action(row.actions[bisect_right(row.cumulative, rng.random())])


def row_at(state: pyspiel.State, row_of: RowOf) -> Distribution:
    """Returns the distribution at a chance or decision node."""
    return chance_row(state) if state.is_chance_node() else row_of(state)


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


class Response(openspiel_policy.Policy):
    """The joint policy that was evaluated, with one player's strategy replaced by an approximate best response to it.

    Args:
        row_of: The response: the distribution at each of the player's nodes, a function of the information state.
        behavior: The policy that was evaluated.
    """

    def __init__(self, game: pyspiel.Game, player: int, row_of: RowOf, behavior: Behavior):
        super().__init__(game, list(range(game.num_players())))
        self.player = player
        self.row = joined(player, row_of, behavior.row)

    def action_probabilities(self, state: pyspiel.State, player_id: int | None = None) -> dict[int, float]:
        """Returns {action: probability} of the player to move; `player_id` is ignored."""
        row = self.row(state)
        return dict(zip(row.actions, row.probabilities, strict=True))
