"""Many histories of a game at once: as pyspiel's states, as the words of compiled rules, or as nodes of a tree."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any, Self

import numpy as np
import pyspiel

from mccfr_plus.games.rules import CHANCE

_GOLDEN_RATIO = (5**0.5 - 1) / 2  # its multiples, modulo 1, are spread most evenly


class Positions(abc.ABC):
    """Histories that are played on together. Whichever class holds them, the same draws lead to the same histories.

    Attributes:
        movers: ``[n]`` int64, who is to move: a player, `CHANCE` or `TERMINAL`.
    """

    movers: np.ndarray

    @abc.abstractmethod
    def take(self, rows: np.ndarray) -> Self:
        """Returns some histories, perhaps several times; the object itself must not be used any more."""

    @abc.abstractmethod
    def play(self, actions: np.ndarray) -> None:
        """Plays an action, ``[n]`` int64, in each history; a player is to move in all."""

    @abc.abstractmethod
    def draw_outcomes(self, rows: np.ndarray, draws: np.ndarray) -> None:
        """Plays an outcome of chance in some histories, given numbers in [0, 1), one for each."""

    @abc.abstractmethod
    def returns(self, rows: np.ndarray) -> np.ndarray:
        """Returns the payoffs of some histories that are over, ``[len(rows), num_players]`` float64."""

    def numbers(self, rows: np.ndarray) -> np.ndarray:
        """Returns the nodes of a tree that some histories are, ``[len(rows)]`` int64; 0 where there is no tree."""
        return np.zeros(len(rows), np.int64)

    def draws(self, rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Returns uniform numbers in [0, 1), one for each of some histories, ``[len(rows)]``.

        They are a Kronecker sequence with a random shift (Cranley, Patterson 1976), through the rows in the order of
        their keys: spread evenly where histories are equal, with much less variance than independent ones. Each number
        is uniform given what was drawn in earlier calls, so that what is estimated stays unbiased.
        """
        sequence = (rng.random() + _GOLDEN_RATIO * np.arange(len(rows))) % 1.0
        result = np.empty_like(sequence)
        result[np.argsort(self.keys(rows), kind="stable")] = sequence
        return result

    @abc.abstractmethod
    def keys(self, rows: np.ndarray) -> np.ndarray:
        """Returns integers that are the same for equal histories, and others for nearly all others, ``[len(rows)]``."""

    def pass_chance(self, rng: np.random.Generator) -> int:
        """Draws outcomes until chance is to move in no history; returns the number of histories visited."""
        visited = len(self.movers)
        while len(rows := np.flatnonzero(self.movers == CHANCE)):
            self.draw_outcomes(rows, self.draws(rows, rng))
            visited += len(rows)
        return visited


class PyspielPositions(Positions):
    """pyspiel's states.

    Args:
        states: The states.
        size: Size of an information-state tensor.
        write: Writes that of a state and a player to an array.
    """

    def __init__(self, states: list[Any], size: int, write: Callable[[pyspiel.State, int, np.ndarray], None]):
        self._states, self._size, self._write = states, size, write
        self._find_movers()

    def _find_movers(self) -> None:
        self.movers = np.array([state.current_player() for state in self._states], np.int64)

    def take(self, rows: np.ndarray) -> Self:
        taken: set[int] = set()
        states = []
        for row in rows.tolist():
            states.append(self._states[row].clone() if row in taken else self._states[row])
            taken.add(row)
        return type(self)(states, self._size, self._write)

    def keys(self, rows: np.ndarray) -> np.ndarray:
        return np.array([hash(tuple(self._states[row].history())) for row in rows.tolist()], np.int64)

    def play(self, actions: np.ndarray) -> None:
        for state, action in zip(self._states, actions.tolist(), strict=True):
            state.apply_action(action)
        self._find_movers()

    def draw_outcomes(self, rows: np.ndarray, draws: np.ndarray) -> None:
        for row, number in zip(rows.tolist(), draws.tolist(), strict=True):
            outcomes, probabilities = zip(*self._states[row].chance_outcomes(), strict=True)
            ends = np.cumsum(probabilities)
            index = int(np.searchsorted(ends, number * ends[-1], "right"))
            self._states[row].apply_action(outcomes[min(index, len(outcomes) - 1)])
        self._find_movers()

    def observe(self, whose: np.ndarray, tensors: np.ndarray, masks: np.ndarray) -> None:
        """Writes what players know, where a player is to move.

        Args:
            whose: ``[n, k]`` int64, the players whose information-state tensors follow one another in a row.
            tensors: ``[n, at least k * size]`` float32, an output.
            masks: ``[n, num_actions]`` bool, zeros: an output, the legal actions of the player to move.
        """
        for state, players, tensor, mask in zip(self._states, whose.tolist(), tensors, masks, strict=True):
            for place, player in enumerate(players):
                self._write(state, player, tensor[place * self._size : (place + 1) * self._size])
            mask[state.legal_actions()] = True

    def returns(self, rows: np.ndarray) -> np.ndarray:
        return np.array([self._states[row].returns() for row in rows.tolist()])
