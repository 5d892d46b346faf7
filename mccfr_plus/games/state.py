"""The `pyspiel.State` around compiled rules: a thin shell that the same kernels fill."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyspiel

from mccfr_plus.games.rules import CHANCE, MOVER, TERMINAL


class _Position:
    """The words of a state and what follows from them. One object, because OpenSpiel copies attributes one by one."""

    __slots__ = ("game", "legal", "mover", "outcomes", "words")

    def __init__(self, game: Any, words: np.ndarray):
        self.game = game  # games never change
        self.words = words
        self.refresh()

    def __deepcopy__(self, memo: dict) -> _Position:
        return _Position(self.game, self.words.copy())

    def refresh(self) -> None:
        """Brings what follows from the words up to date with them."""
        self.mover = self.words.item(MOVER)
        self.legal: list[int] | None = None  # of the player to move or of chance, once somebody has asked
        self.outcomes: list[tuple[int, float]] = []

    def find_legal(self) -> list[int]:
        """Returns what the player to move, or chance, may do."""
        if self.legal is None:
            game, mover = self.game, self.mover
            rules, actions = game.rules, np.empty(game.most_actions, np.int64)
            if mover >= 0:
                self.legal = actions[: rules.legal(game.parameters, game.table, self.words, actions)].tolist()
            elif mover == CHANCE:
                probabilities = np.empty(game.sizes.max_chance_outcomes)
                count = rules.outcomes(game.parameters, game.table, self.words, actions, probabilities)
                self.legal = actions[:count].tolist()
                self.outcomes = list(zip(self.legal, probabilities[:count].tolist(), strict=True))
            else:
                self.legal = []
        return self.legal


class RulesState(pyspiel.State):
    """A state of a `RulesGame`. Made by ``game.new_initial_state()`` only."""

    def __init__(self, game: Any):
        super().__init__(game)
        self._position = _Position(game, game.first_state.copy())

    @property
    def words(self) -> np.ndarray:
        """The state's vector, int64, read-only."""
        words = self._position.words.view()
        words.flags.writeable = False
        return words

    def current_player(self) -> int:
        """Returns who is to move: a player, chance or nobody (`pyspiel.PlayerId`)."""
        return self._position.mover

    def is_terminal(self) -> bool:
        """Returns whether the game is over."""
        return self._position.mover == TERMINAL

    def is_chance_node(self) -> bool:
        """Returns whether chance is to move."""
        return self._position.mover == CHANCE

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """Returns the outcomes of chance and their probabilities."""
        position = self._position
        if position.mover != CHANCE:
            raise ValueError("chance_outcomes: this is no chance node; see current_player().")
        position.find_legal()
        return list(position.outcomes)

    def returns(self) -> list[float]:
        """Returns everybody's payoff; zeros before the end of the game."""
        position = self._position
        payoffs = np.zeros(position.game.sizes.num_players)
        if position.mover == TERMINAL:
            game = position.game
            game.rules.returns(game.parameters, game.table, position.words, payoffs)
        return payoffs.tolist()

    def look(self, player: int) -> np.ndarray:
        """Returns what a player knows, an int64 entry per place of the game's fields.

        Raises:
            ValueError: If there is no such player.
        """
        game = self._position.game
        if not 0 <= player < game.sizes.num_players:
            raise ValueError(f"player={player}: players of this game are 0 .. {game.sizes.num_players - 1}.")
        view = np.zeros(game.sizes.view_size, np.int64)
        game.rules.look(game.parameters, game.table, self._position.words, player, view)
        return view

    def information_state_string(self, player: int | None = None) -> str:
        """Returns all that a player knows, as a text; None: the player to move."""
        player = self._position.mover if player is None else player
        return self._position.game.view_text(player, self.look(player).tolist())

    def _legal_actions(self, player: int) -> list[int]:
        position = self._position
        return list(position.find_legal()) if player == position.mover else []

    def _apply_action(self, action: int) -> None:
        position = self._position
        legal = position.find_legal()
        if action not in legal:
            mover = position.mover
            who = {CHANCE: "chance", TERMINAL: "nobody, as the game is over"}.get(mover, f"player {mover}")
            raise ValueError(
                f"action {action} is not legal in {position.game} for {who}: legal are {legal} after {self.history()}."
            )
        game = position.game
        game.rules.apply(game.parameters, game.table, position.words, action)
        position.refresh()

    def _action_to_string(self, player: int, action: int) -> str:
        game = self._position.game
        return game.outcome_text(action) if player == CHANCE else game.action_text(player, action)

    def __str__(self) -> str:
        position = self._position
        return position.game.state_text(position.words) or " ".join(map(str, self.history())) or "start"
