"""The page of `mccfr-plus play --browser`: what the person knows, a button per action, the score."""

import json
import threading
from dataclasses import asdict
from html import escape
from http import HTTPStatus
from typing import Any

from mccfr_plus.cli.command import UsageError
from mccfr_plus.cli.local_server import JSON, Answer
from mccfr_plus.cli.play_session import PlaySession
from mccfr_plus.errors import MccfrPlusError
from mccfr_plus.experiments.page import page_of, part


class PlayPages:
    """Answers the requests of the page."""

    def __init__(self, session: PlaySession, name: str, opponent: str):
        self._session, self._opponent = session, opponent
        self._turn = 0  # a number per view: an action that was chosen on an old one is refused
        self._lock = threading.Lock()
        body = part("play.html").replace("TITLE", escape(name))
        self._page = page_of(name, body, style=part("play.css"), script=part("play.js"))

    def respond(self, method: str, path: str, body: str) -> Answer | None:
        """Answers one request; see `mccfr_plus.cli.local_server`."""
        if (method, path) == ("GET", "/"):
            return Answer(self._page)
        with self._lock:
            if (method, path) == ("GET", "/state"):
                return _json(self._view())
            if method == "POST" and path in ("/play", "/next"):
                return self._act(path, body)
        return None

    def _act(self, path: str, body: str) -> Answer:
        try:
            given = json.loads(body)
            action, turn = str(given.get("action")), given.get("turn")
        except (ValueError, AttributeError, RecursionError):
            return _json({"error": "the body must be a JSON object"}, HTTPStatus.BAD_REQUEST)
        try:
            if turn != self._turn:
                raise UsageError("this page was out of date")
            if path == "/next" and self._session.payoff is None:
                raise UsageError("the game has not ended")
            self._session.begin() if path == "/next" else self._session.play(action)
        except MccfrPlusError as error:
            return _json({"error": str(error), **self._view()}, HTTPStatus.CONFLICT)
        self._turn += 1
        return _json(self._view())

    def _view(self) -> dict[str, Any]:
        session = self._session
        payoff, moves = session.payoff, session.moves()
        on_board = ": choose a cell" if all(move.cell is not None for move in moves) else ""
        return {
            "turn": self._turn,
            "about": f"game {session.number}, you are player {session.seat} of {session.game.num_players()}; "
            f"policy: {self._opponent}",
            "score": f"score {session.total}",
            "scene": asdict(session.scene),
            "moves": [move._asdict() for move in moves],
            "over": payoff is not None,
            "result": f"Your move{on_board}" if payoff is None else f"The game is over: you get {payoff:+g}",
            "story": session.story if payoff is not None else [],
        }


def _json(what: dict[str, Any], status: HTTPStatus = HTTPStatus.OK) -> Answer:
    return Answer(json.dumps(what), JSON, status)
