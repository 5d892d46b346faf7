"""A player's payoff from a history on under known strategies: exact where little is left, else sampled."""

from __future__ import annotations

import random
from collections.abc import Callable

import pyspiel

from mccfr_plus.evaluation.behavior import Row, random_move, row_at

_MAX_DEPTH = 400  # of an exact expectation, far below Python's limit of recursion
_MAX_KEPT = 300_000


class _TooLarge(Exception):
    """An exact expectation would take more histories than allowed."""


class Rollouts:
    """Payoffs of one player under known strategies of all.

    Args:
        row_of: The distribution at a decision node.
        player: Whose payoffs.
    """

    def __init__(self, row_of: Callable[[pyspiel.State], Row], player: int):
        self._row_of = row_of
        self._player = player
        self._values: dict[tuple[int, ...], tuple[float, int]] = {}  # with the number of histories below
        self._left = 0

    def exact(
        self, belief: list[tuple[pyspiel.State, float]], actions: list[int], max_nodes: int
    ) -> list[float] | None:
        """Returns the expected payoff after each action; None if that takes more than `max_nodes` histories.

        Histories count also if their values are kept: the result does not depend on earlier calls.
        """
        if len(self._values) > _MAX_KEPT:
            self._values.clear()
        self._left = max_nodes
        try:
            return [sum(w * self._expected(state.child(a), 0) for state, w in belief) for a in actions]
        except _TooLarge:
            return None

    def sampled(self, states: list[pyspiel.State], actions: list[int], rng: random.Random) -> list[float]:
        """Returns the average payoff after each action, playing once from each state."""
        return [sum(self._play(state.child(a), rng) for state in states) / len(states) for a in actions]

    def _expected(self, state: pyspiel.State, depth: int) -> float:
        if state.is_terminal():
            return state.player_return(self._player)
        key = tuple(state.history())
        known = self._values.get(key)
        if known is not None:
            self._spend(known[1])
            return known[0]
        if depth > _MAX_DEPTH:
            raise _TooLarge
        left = self._left
        self._spend(1)
        row = row_at(state, self._row_of)
        value = 0.0
        for action, probability in zip(row.actions, row.probabilities, strict=True):
            value += probability * self._expected(state.child(action), depth + 1)
        self._values[key] = value, left - self._left
        return value

    def _spend(self, nodes: int) -> None:
        self._left -= nodes
        if self._left < 0:
            raise _TooLarge

    def _play(self, state: pyspiel.State, rng: random.Random) -> float:
        """Returns the payoff of one play. `state` is modified in place."""
        while not state.is_terminal():
            random_move(state, self._row_of, rng)
        return state.player_return(self._player)
