"""Games of a person against a policy: whose move it is, what may be played, the score."""

import random
from typing import NamedTuple

import pyspiel

from mccfr_plus.cli.arguments import UsageError
from mccfr_plus.cli.scene import Scene, cell_of, scene_of
from mccfr_plus.evaluation.strategies import Behavior, JointPolicy, random_move


class Move(NamedTuple):
    """A legal action."""

    action: int
    name: str
    probability: float  # of the policy
    cell: int | None  # of the board


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
        """What the person has got; None while the game goes on."""
        return self.state.player_return(self.seat) if self.state.is_terminal() else None

    @property
    def total(self) -> str:
        """The score in words."""
        return f"{self.score:+g} in {self.ended} game{'s' * (self.ended != 1)}"

    @property
    def scene(self) -> Scene:
        """What the person knows."""
        return scene_of(self.state, self.seat)

    def moves(self) -> list[Move]:
        """Returns the person's legal actions; none at the end."""
        if self.state.is_terminal():
            return []
        scene, row = self.scene, self._behavior.row(self.state)
        probabilities = dict(zip(row.actions, row.probabilities, strict=True))
        return [
            Move(a, self.state.action_to_string(self.seat, a), probabilities.get(a, 0.0), cell_of(scene, self.game, a))
            for a in self.state.legal_actions()
        ]

    def play(self, given: str) -> None:
        """Plays the person's action, given by number or name, and the other players' up to the person's next turn."""
        moves = self.moves()
        wanted = given.strip().lower()
        found = [move for move in moves if wanted == str(move.action)]
        found = found or [move for move in moves if wanted == move.name.lower()]
        if len(found) != 1:
            allowed = ", ".join(f"{move.action} ({move.name})" for move in moves)
            raise UsageError(f"{given!r} is not legal here: give one of {allowed or 'none, the game has ended'}.")
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
