"""Information-state tensors of many histories at once, by pyspiel's states or by compiled rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyspiel
from open_spiel.python.observation import make_observation

from mccfr_plus.errors import BudgetError, GameError
from mccfr_plus.games.openspiel import compiled_rules
from mccfr_plus.games.rules import CHANCE, TERMINAL
from mccfr_plus.trees.batches import BatchRules, Positions, PyspielPositions, states_after
from mccfr_plus.trees.game_tree import GameTree

_MAX_BYTES = 2 << 30  # of the tensors of histories


def check_has_tensors(game: pyspiel.Game, what: str) -> None:
    """Raises GameError if a game has no information-state tensors; `what` names their reader in the message."""
    if not game.get_type().provides_information_state_tensor:
        raise GameError(
            f"{game.get_type().short_name} provides no information_state_tensor, which is what {what} sees of a state. "
            "Use the tabular mccfr_plus.Solver, or a game that has one."
        )


class Observer:
    """Writes tensors of information sets, of ``size`` entries, and of histories, of ``history_size``.

    A history's tensor has all players' tensors, the player to move, and the last actions of players, one fewer than
    there are players, which games with hidden simultaneous moves need.
    With ``by_rules`` many histories are played on by compiled rules, if the game has some that give the tensors.
    """

    def __init__(self, game: pyspiel.Game, what: str, *, by_rules: bool = True):
        check_has_tensors(game, what)
        self.game, self.num_players, self.num_actions = game, game.num_players(), game.num_distinct_actions()
        self.size = int(np.prod(game.information_state_tensor_shape()))
        self.history_size = self.num_players * (self.size + 1) + (self.num_players - 1) * self.num_actions
        try:
            observation = make_observation(game, pyspiel.IIGObservationType(perfect_recall=True))
        except (RuntimeError, ValueError, NotImplementedError):  # no observer, as in most games in Python
            observation = None
        self._observation = observation if observation is not None and observation.tensor.size == self.size else None
        rules = compiled_rules(game) if by_rules else None
        has_tensors = rules is not None and rules.tensor_cells(0, -1, 0) is not None
        self._rules = BatchRules(rules, self.size) if rules is not None and has_tensors else None

    def write(self, state: pyspiel.State, player: int, out: np.ndarray) -> None:
        """Writes a player's information-state tensor, ``[size]``."""
        if self._observation is None:
            out[:] = state.information_state_tensor(player)
        else:
            self._observation.set_from(state, player)
            out[:] = self._observation.tensor

    def start(self, count: int) -> Positions:
        """Returns so many histories at the game's beginning."""
        if self._rules is not None:
            return self._rules.start(count)
        return self.positions_of([self.game.new_initial_state() for _ in range(count)])

    def after(self, actions: np.ndarray, lengths: np.ndarray) -> Positions:
        """Returns the histories of actions of players and chance, ``[n, any number]``, ``lengths`` of each."""
        if self._rules is None:
            return self.positions_of(list(states_after(self.game, actions, lengths)))
        positions = self._rules.start(len(lengths))
        positions.play_on(actions, lengths)
        return positions

    def positions_of(self, states: Sequence[pyspiel.State]) -> PyspielPositions:
        """Returns the histories of states, which it modifies as it goes on."""
        return PyspielPositions(list(states), self)

    def observe(self, positions: Any, last_actions: Any = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Returns tensors of information sets and of histories in which a player is to move, and legal actions.

        ``last_actions`` are those of players, the last one last, ``[n, num_players - 1]``; -1: none. Without them,
        tensors of information sets take the place of those of histories.
        """
        count, players, movers = len(positions.movers), self.num_players, np.ascontiguousarray(positions.movers)
        size = self.size if last_actions is None else self.history_size
        result, masks = np.zeros((count, size), np.float32), np.zeros((count, self.num_actions), bool)
        if last_actions is None:
            positions.observe(movers[:, None], result, masks)
            return result, result, masks
        positions.observe(np.tile(np.arange(players), (count, 1)), result, masks)
        base, all_rows = players * self.size, np.arange(count)
        infosets = result[:, :base].reshape(count, players, self.size)[all_rows, movers]
        result[all_rows, base + movers] = 1.0
        rows, places = np.nonzero(last_actions >= 0)
        result[rows, base + players + places * self.num_actions + last_actions[rows, places]] = 1.0
        return infosets, result, masks


def histories_of(tree: GameTree, what: str) -> np.ndarray:
    """Returns the tensors of all non-terminal histories, in the order of the nodes, ``[num_rows, width]`` float32.

    A row is that of `Observer`, but for chance, which is one more player to move.
    """
    kinds, players, num_actions = tree.arrays.nodes["kind"], tree.num_players, tree.game.num_distinct_actions()
    is_kept = kinds != TERMINAL
    rows, num_rows = np.cumsum(is_kept) - 1, int(is_kept.sum())
    movers = players * int(np.prod(tree.game.information_state_tensor_shape()))  # columns before those of the mover
    width = movers + players + 1 + (players - 1) * num_actions
    if 4 * num_rows * width > _MAX_BYTES:
        raise BudgetError(
            f"{what} would keep tensors of {num_rows:,} histories of {tree.game}, more than 2 GiB: give "
            "representation='batched', or use the tabular mccfr_plus.Solver."
        )
    tensors = np.zeros((num_rows, width), np.float32)
    units, none = np.eye(num_actions, dtype=np.float32), np.zeros((players - 1) * num_actions, np.float32)
    pending = [(0, tree.game.new_initial_state(), none)]  # with the last actions
    while pending:
        node, state, last = pending.pop()
        kind, count, first, payload = tree.arrays.nodes[node].tolist()
        row = tensors[rows[node]]
        row[:movers] = np.concatenate([state.information_state_tensor(player) for player in range(players)])
        row[movers + (players if kind == CHANCE else kind)] = 1.0
        row[movers + players + 1 :] = last
        actions = tree.outcome_action if kind == CHANCE else tree.slot_action
        for index in np.flatnonzero(is_kept[first : first + count]).tolist():
            action = int(actions[payload + index])
            after = last if kind == CHANCE else np.append(last, units[action])[num_actions:]
            pending.append((first + index, state.child(action), after))
    return tensors
