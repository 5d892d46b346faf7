"""The page of `mccfr-plus play --browser`, served by Flask to this machine only."""

from __future__ import annotations

import logging
import secrets
import socket
import threading
from typing import TYPE_CHECKING, Any

from mccfr_plus.cli.arguments import UsageError
from mccfr_plus.cli.output import open_in_browser
from mccfr_plus.cli.play_session import PlaySession
from mccfr_plus.errors import ConfigError

if TYPE_CHECKING:
    from flask import Flask

LOCALHOST = "127.0.0.1"


def require_flask() -> None:
    """Raises ConfigError if Flask is not installed."""
    try:
        import flask  # noqa: F401
    except ImportError:
        raise ConfigError("--browser needs Flask: pip install 'mccfr_plus[browser]'.") from None


def app_of(session: PlaySession, name: str, opponent: str) -> Flask:
    """Returns the web application that plays a session.

    It answers requests to this machine by its own names only, so that other sites cannot reach it under theirs. An
    action needs the token of the last page, which other sites cannot read and which refuses outdated pages.
    """
    from flask import Flask, redirect, render_template, request

    app, lock = Flask(__name__, template_folder="pages"), threading.Lock()
    kinds = {"card": "card", "dice": "dice"}
    app.config.update(TRUSTED_HOSTS=[LOCALHOST, "localhost"], MAX_CONTENT_LENGTH=1 << 16)
    token = secrets.token_urlsafe()

    def page(error: str = "") -> str:
        moves = session.moves()
        cells = {move.cell: move for move in moves if move.cell is not None}
        shown = {"session": session, "scene": session.scene, "moves": moves, "cells": cells, "kinds": kinds}
        return render_template("play.html", **shown, name=name, opponent=opponent, token=token, error=error)

    @app.get("/")
    def show() -> str:
        with lock:
            return page()

    @app.post("/")
    def act() -> Any:
        nonlocal token
        with lock:
            action = request.form.get("action", "")
            try:
                if not secrets.compare_digest(request.form.get("token", "").encode(), token.encode()):
                    raise UsageError("This page was out of date.")
                session.begin() if action == "next" and session.payoff is not None else session.play(action)
            except UsageError as error:
                return page(str(error)), 409
            token = secrets.token_urlsafe()
        return redirect("/", 303)

    @app.after_request
    def secure(response: Any) -> Any:
        response.headers["Cache-Control"] = "no-store"
        response.headers["Content-Security-Policy"] = (
            "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'self'"
        )
        return response

    return app


def serve(app: Flask, port: int) -> None:
    """Serves a page to this machine until Ctrl-C, prints its address and opens it."""
    from werkzeug.serving import make_server

    try:
        listening = socket.create_server((LOCALHOST, port))
    except OSError as error:
        raise ConfigError(f"cannot serve on port {port}: {error.strerror}. Give another --port.") from None
    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # no line per request
    with listening:
        port = listening.getsockname()[1]
        server = make_server(LOCALHOST, port, app, threaded=True, fd=listening.fileno())
        print(f"http://{LOCALHOST}:{port}/  (Ctrl-C ends it)", flush=True)
        open_in_browser(f"http://{LOCALHOST}:{port}/")
        server.serve_forever()  # returns at KeyboardInterrupt
