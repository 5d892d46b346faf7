"""Games of a person against a policy: what the person knows, what may be played, the score."""

import random
import re
from typing import NamedTuple

import pyspiel

from mccfr_plus.cli.command import UsageError
from mccfr_plus.evaluation.readable import items_of
from mccfr_plus.evaluation.strategies import Behavior, JointPolicy, random_move


class Scene(NamedTuple):
    """What a player knows."""

    text: str  # the state's own
    items: list[tuple[str, list[str]]]  # labels and what to show with them: cards, dice, words
    board: list[str]  # rows of cells; empty where there is no board
    slanted: bool  # whether each row is half a cell further to the right, as in hex


def scene_of(state: pyspiel.State, player: int) -> Scene:
    """Returns what a player knows at a decision or at the end of a turn-based game. It shows no more than that."""
    game = state.get_game()
    name, text = game.get_type().short_name, state.information_state_string(player)
    seen = state.observation_string(player) if game.get_type().provides_observation_string else ""
    board = _board(seen)
    if "\n" in seen and seen.strip() not in text:
        text = f"{seen.rstrip()}\n{text}"
    return Scene(text.strip(), items_of(game, text), board, "hex" in name)


def _board(seen: str) -> list[str]:
    rows = seen.split()
    if "=" in seen:  # a field of a game with compiled rules, such as board=x.o......
        found = re.search(r"board=([.xo]+)", seen)
        side = round(len(found[1]) ** 0.5) if found else 0
        rows = [found[1][i : i + side] for i in range(0, side * side, side)] if found else []
    is_board = len(rows) > 1 and len({len(row) for row in rows}) == 1 and set("".join(rows)) <= set(".xo")
    return rows if is_board else []


class Move(NamedTuple):
    """A legal action."""

    action: int
    name: str
    cell: int | None  # of the board, row after row; None if it is not about one


class PlaySession:
    """Games of the person in a seat, None: each in turn, against a policy in all others. `rng` draws its actions."""

    def __init__(self, game: pyspiel.Game, policy: JointPolicy, seat: int | None, rng: random.Random):
        self.game, self._behavior, self._seat, self._rng = game, Behavior(game, policy), seat, rng
        self.number = 0  # of the game, from 1
        self.ended = 0  # games
        self.score = 0.0  # of the person, over all games that have ended
        self.begin()

    def begin(self) -> None:
        """Starts the next game; one that has not ended does not count."""
        self.number += 1
        self.seat = (self.number - 1) % self.game.num_players() if self._seat is None else self._seat
        self.state = self.game.new_initial_state()
        self.story: list[str] = []  # all actions so far
        self._advance()

    @property
    def payoff(self) -> float | None:
        """The person's, None while the game goes on."""
        return self.state.player_return(self.seat) if self.state.is_terminal() else None

    @property
    def total(self) -> str:
        return f"{self.score:+g} in {self.ended} game{'s' * (self.ended != 1)}"

    @property
    def scene(self) -> Scene:
        return scene_of(self.state, self.seat)

    def hands(self) -> list[tuple[str, list[str]]]:
        """Returns what only the other players knew, with labels, once the game has ended."""
        others = range(self.game.num_players()) if self.state.is_terminal() else ()
        return [
            (label.replace("your", f"player {player}'s"), shown)
            for player in others
            if player != self.seat
            for label, shown in scene_of(self.state, player).items
            if label.startswith("your")
        ]

    def moves(self) -> list[Move]:
        if self.state.is_terminal():
            return []
        is_on_board = self.game.num_distinct_actions() == sum(map(len, self.scene.board))
        return [
            Move(a, self.state.action_to_string(self.seat, a), a if is_on_board else None)
            for a in self.state.legal_actions()
        ]

    def probability(self, move: Move) -> float:
        """Returns how likely the policy would play a move of the person."""
        row = self._behavior.row(self.state)
        return dict(zip(row.actions, row.probabilities, strict=True)).get(move.action, 0.0)

    def play(self, given: str) -> None:
        """Plays the person's action, given by number or name, and the other players' up to the person's next turn."""
        moves = self.moves()
        wanted = given.strip().lower()
        found = [move for move in moves if wanted == str(move.action)]
        found = found or [move for move in moves if wanted == move.name.lower()]
        if len(found) != 1:
            allowed = ", ".join(f"{move.action} ({move.name})" for move in moves)
            raise UsageError(f"{given!r} is not legal here. Legal actions: {allowed or 'none, as the game has ended'}.")
        before = self.state.clone()
        self.state.apply_action(found[0].action)
        self._tell(before)
        self._advance()

    def _advance(self) -> None:
        while not self.state.is_terminal() and self.state.current_player() != self.seat:
            before = self.state.clone()
            random_move(self.state, self._behavior.row, self._rng)
            self._tell(before)
        if self.state.is_terminal():
            self.ended += 1
            self.score += self.state.player_return(self.seat)

    def _tell(self, before: pyspiel.State) -> None:
        """Adds the last action to the story, given the state before it."""
        player, action = before.current_player(), self.state.history()[-1]
        who = "chance" if before.is_chance_node() else "you" if player == self.seat else f"player {player}"
        self.story.append(f"{who}: {before.action_to_string(player, action)}")
