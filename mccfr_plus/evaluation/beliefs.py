"""Beliefs: the histories that are consistent with an information state, with weights."""

from __future__ import annotations

import random
from bisect import bisect_right
from itertools import accumulate
from typing import TypeAlias

import pyspiel

from mccfr_plus.evaluation.behavior import Behavior, random_move, row_at

Belief: TypeAlias = list[tuple[pyspiel.State, float]]  # states are not modified; weights do not sum to 1

_MAX_PASSES = 8  # of sampling, in search of consistent histories
_MAX_KEPT = 100_000  # states, of some kilobytes each


class Beliefs:
    """The histories of a player's information states, weighted by chance's and the opponents' probabilities.

    They follow from those of the player's last decision. If there are more than `max_histories`, as many are sampled.
    Random numbers depend on the seed and the information state alone: with perfect recall, a belief is a function of
    what the player knows.

    Args:
        game: A turn-based game.
        behavior: How the opponents play.
        player: The player.
        max_histories: The largest number of histories of an information state.
        seed: Any integer.
    """

    def __init__(self, game: pyspiel.Game, behavior: Behavior, player: int, max_histories: int, seed: int):
        self._game = game
        self._behavior = behavior
        self._player = player
        self._max_histories = max_histories
        self._seed = seed
        self._groups: dict[tuple[str, int] | None, dict[str, Belief]] = {}
        self._sampled: set[tuple[str, int] | None] = set()  # keys of groups that are samples
        self._num_kept = 0

    def at(self, state: pyspiel.State) -> Belief:
        """Returns the histories that share a decision node's information state.

        There are none where the opponents never let it happen, or where sampling did not find any.
        """
        previous = self._previous_decision(state)
        if previous is None:
            return self._after(None, [(self._game.new_initial_state(), 1.0)], state)
        before, action = previous
        key = before.information_state_string(self._player), action
        return self._after(key, [(history.child(action), w) for history, w in self.at(before)], state)

    def _previous_decision(self, state: pyspiel.State) -> tuple[pyspiel.State, int] | None:
        last = None
        replay = self._game.new_initial_state()
        for action in state.history():
            if replay.current_player() == self._player:
                last = replay.clone(), action
            replay.apply_action(action)
        return last

    def _after(self, key: tuple[str, int] | None, start: Belief, state: pyspiel.State) -> Belief:
        info_state = state.information_state_string(self._player)
        groups = self._groups.get(key)
        if groups is None:
            if self._num_kept > _MAX_KEPT:
                self._groups.clear()
                self._sampled.clear()
                self._num_kept = 0
            found = self._all_next_decisions(start)
            if found is None:
                found = self._sample_next_decisions(start, random.Random(f"{self._seed} {key}"), None)
                self._sampled.add(key)
            groups = self._groups[key] = found
            self._num_kept += sum(map(len, groups.values()))
        if key in self._sampled and info_state not in groups:
            rng = random.Random(f"{self._seed} {key} {info_state}")
            belief: Belief = []
            for _ in range(_MAX_PASSES):
                belief = self._sample_next_decisions(start, rng, info_state).get(info_state, [])
                if belief:
                    break
            groups[info_state] = belief
            self._num_kept += len(belief)
        return groups.get(info_state, [])

    def _all_next_decisions(self, start: Belief) -> dict[str, Belief] | None:
        """Returns all histories at the player's next decisions, by information state; None if they are too many."""
        groups: dict[str, Belief] = {}
        pending = list(start)
        found = 0
        while pending:
            state, weight = pending.pop()
            if state.is_terminal():
                continue
            if state.current_player() == self._player:
                groups.setdefault(state.information_state_string(), []).append((state, weight))
                found += 1
                continue
            row = row_at(state, self._behavior.row)
            if found + len(pending) + len(row.actions) > self._max_histories:
                return None
            pending.extend((state.child(a), weight * p) for a, p in zip(row.actions, row.probabilities, strict=True))
        return groups

    def _sample_next_decisions(self, start: Belief, rng: random.Random, wanted: str | None) -> dict[str, Belief]:
        """Returns sampled histories at the player's next decisions, or only at the information state `wanted`."""
        groups: dict[str, Belief] = {}
        for begin in sample_states(start, self._max_histories, rng):
            state = begin.clone()
            while not state.is_terminal() and state.current_player() != self._player:
                random_move(state, self._behavior.row, rng)
            if not state.is_terminal():
                info_state = state.information_state_string()
                if wanted is None or info_state == wanted:
                    groups.setdefault(info_state, []).append((state, 1.0))
        return groups


def sample_states(belief: Belief, count: int, rng: random.Random) -> list[pyspiel.State]:
    """Returns states drawn by weight with evenly spaced quantiles; none if the belief is empty."""
    if not belief:
        return []
    sums = list(accumulate(w for _, w in belief))
    offset = rng.random()
    quantiles = (sums[-1] * (i + offset) / count for i in range(count))
    return [belief[min(bisect_right(sums, q), len(belief) - 1)][0] for q in quantiles]
