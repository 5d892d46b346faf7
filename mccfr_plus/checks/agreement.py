"""Whether compiled rules agree, state by state, with the game that OpenSpiel plays."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyspiel

from mccfr_plus.checks.report import Subject
from mccfr_plus.games import CHANCE, MOVER, TERMINAL, RulesGame
from mccfr_plus.games.rules import NOW

_TELLS = {
    "view": "`look` and the texts of information states",
    "code": "`observe`: the last information state, the action there and the code must determine the next one",
}


class Agreement:
    """Compares the rules of a game with pyspiel's states. The methods raise CheckError where the two differ.

    Codes of `observe` are compared with the information states met so far, by all calls.

    Attributes:
        num_states: Number of states compared.
    """

    def __init__(self, game: pyspiel.Game, rules_game: RulesGame):
        sizes = rules_game.sizes
        self.num_states = 0
        self._game, self._rules_game, self._subject = game, rules_game, Subject(game)
        for name in ("num_players", "num_distinct_actions", "max_chance_outcomes", "utility_sum"):
            found, expected = getattr(sizes, name), getattr(game, name)()
            self._subject.require(found == expected, f"{name} differs", "`layout`", expected=expected, found=found)
        self._kept = np.repeat([each.when != NOW for each in sizes.fields], [each.count for each in sizes.fields])
        self._known: dict[tuple, Any] = {}  # what belongs to an information state, and the other way round

    def play(self, rng: np.random.Generator) -> None:
        """Compares all states of one random play."""
        state, words, last = self._start()
        while choices := self._compare(state, words, last):
            self._advance(state, words, last, choices[rng.integers(len(choices))])

    def traverse(self) -> None:
        """Compares all states of the game."""
        pending = [self._start()]
        while pending:
            state, words, last = pending.pop()
            for action in self._compare(state, words, last):
                child = state.clone(), words.copy(), list(last)
                self._advance(*child, action)
                pending.append(child)

    def _start(self) -> tuple[pyspiel.State, np.ndarray, list]:
        """Returns the initial state, its words, and each player's last information state and action."""
        return self._game.new_initial_state(), self._rules_game.first_state.copy(), [None] * self._game.num_players()

    def _run(self, name: str, words: np.ndarray, *arguments: Any) -> Any:
        own = self._rules_game
        return getattr(own.rules, name)(own.parameters, own.table, words, *arguments)

    def _advance(self, state: pyspiel.State, words: np.ndarray, last: list, action: int) -> None:
        player = state.current_player()
        if player >= 0:
            last[player] = state.information_state_string(player), action
        state.apply_action(action)
        self._run("apply", words, action)

    def _compare(self, state: pyspiel.State, words: np.ndarray, last: Sequence) -> list[int]:
        """Compares a state; returns the actions or outcomes there."""
        self.num_states += 1
        mover = state.current_player()
        self._same(state, "the player to move", "`apply`, which sets state[MOVER]", int(words[MOVER]), int(mover))
        if mover == TERMINAL:
            self._same(state, "payoffs", "`returns`", self._rules_game.returns(words), state.returns())
            return []
        choices, probabilities = self._rules_game.choices(words)
        if mover == CHANCE:
            listed = list(zip(choices, probabilities, strict=True))
            self._same(state, "outcomes of chance", "`outcomes`", listed, state.chance_outcomes())
            return choices
        self._same(state, "legal actions", "`legal`", choices, state.legal_actions())
        text, view = state.information_state_string(mover), np.zeros(len(self._kept), np.int64)
        self._run("look", words, mover, view)
        for values in (view, np.where(self._kept, view, 0)):  # fields that are only observed must not be in it
            found = self._rules_game.view_text(mover, values.tolist())
            self._same(state, "the information state", _TELLS["view"], found, text)
        self._pair(state, "view", text, tuple(view[self._kept].tolist()))
        self._check_codes(state, words, text, last[mover])
        return choices

    def _check_codes(self, state: pyspiel.State, words: np.ndarray, text: str, last: tuple[str, int] | None) -> None:
        sizes, before = self._rules_game.sizes, words.tolist()
        if self._rules_game.rules.observe is None:
            return
        limit = sizes.max_observations if last else sizes.max_first_observations
        code = self._run("observe", words, state.current_player(), last[1] if last else -1)
        if not 0 <= code < limit:
            what = f"`observe` is out of range, after the history {state.history()}"
            self._subject.fail(what, "the sizes in `layout`", expected=f"0 .. {limit - 1}", found=int(code))
        self._pair(state, "code", text, (last, code))
        self._same(state, "the state itself", "`observe`, which must not change it", words.tolist(), before)

    def _pair(self, state: pyspiel.State, what: str, text: str, other: Any) -> None:
        """Requires that an information state and something else determine each other."""
        player = state.current_player()
        known = self._known.setdefault((what, player, other), text)
        self._same(state, f"the information state by its {what}", _TELLS[what], known, text)
        if what != "code" or self._rules_game.sizes.perfect_recall:
            known = self._known.setdefault((player, text, what), other)
            self._same(state, f"the {what} of an information state met before", _TELLS[what], other, known)

    def _same(self, state: pyspiel.State, what: str, look_at: str, found: Any, expected: Any) -> None:
        if found != expected:
            what = f"the rules differ from pyspiel in {what}, after the history {state.history()}"
            self._subject.fail(what, look_at, expected=expected, found=found)
