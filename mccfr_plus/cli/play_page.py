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

_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ name }}</title><style>
body { margin: 0 auto; padding: 16px; max-width: 760px; font: 16px/1.5 system-ui, sans-serif; color: #1c2430 }
h1 { font-size: 22px; margin: 0; overflow-wrap: anywhere }
button, .card, .cell { background: #fff; border: 1px solid #0072B2; border-radius: 8px }
button { font: inherit; color: inherit; min-height: 44px; padding: 8px 18px; margin: 4px 4px 4px 0; cursor: pointer }
button:hover { background: #e4f1fa }
.label { color: #5b6675; font-size: 13px }
.item { display: inline-block; margin: 12px 32px 12px 0 }
.card { display: inline-block; padding: 12px 16px; font: bold 30px/1 Georgia }
.dice { font-size: 52px; line-height: 1 }
.word { display: inline-block; padding: 2px 10px; background: #e7ecf3; border-radius: 12px }
.cell { box-sizing: border-box; display: inline-block; width: 56px; height: 56px; padding: 0; margin: 2px;
  font: bold 28px/54px system-ui; text-align: center; vertical-align: top }
span.cell { background: #f2f4f7; border-color: #b9c3d1 }
.x { color: #0072B2 } .o { color: #D55E00 } .error { color: #b3261e }
.bar { display: block; height: 8px; background: #E69F00 }
details { margin: 8px 0 }
pre { white-space: pre-wrap; overflow-wrap: anywhere; font-size: 13px }
</style></head><body>
<h1>{{ name }}</h1>
<div class="label">game {{ session.number }}, you are player {{ session.seat }} of {{ session.game.num_players() }};
policy: {{ opponent }}; score <span id="score">{{ session.total }}</span></div>
{% for label, shown in scene.items %}<div class="item"><div class="label">{{ label }}</div>
{% for each in shown %}<span class="{{ kinds.get(label.split()[-1], 'word') }}">{{ each }}</span> {% endfor %}</div>
{% endfor %}
<form method="post"><input type="hidden" name="token" value="{{ token }}">
{% for row in scene.board %}{% set outer = loop.index0 %}<div style="margin-left: {{ 30 * outer * scene.slanted }}px">
{% for mark in row %}{% set move = cells.get(outer * row|length + loop.index0) %}
{% if move %}<button class="cell" name="action" value="{{ move.action }}" aria-label="{{ move.name }}"></button>
{% else %}<span class="cell {{ mark }}">{{ mark if mark != "." }}</span>{% endif %}{% endfor %}</div>{% endfor %}
<p id="result"><b>{% if session.payoff is none %}Your move{% else %}
The game is over: you get {{ "%+g"|format(session.payoff) }}{% endif %}</b></p>
{% for move in moves if move.cell is none %}
<button name="action" value="{{ move.action }}">{{ move.name }}</button>{% endfor %}
{% if session.payoff is not none %}<button name="action" value="next">Next game</button>{% endif %}
</form>
{% if error %}<p class="error" role="alert">{{ error }}</p>{% endif %}
{% if moves %}<details><summary>What the policy would play</summary>{% for move in moves %}
<div>{{ move.name }} {{ "%.1f"|format(100 * move.probability) }}%
<span class="bar" style="width: {{ 100 * move.probability }}%"></span></div>{% endfor %}</details>{% endif %}
{% if session.payoff is not none %}
<div class="label">All actions of this game</div><pre id="story">{{ session.story|join("\\n") }}</pre>{% endif %}
<div class="label">What you know, as the game writes it</div><pre>{{ scene.text }}</pre>
</body></html>"""


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
    from flask import Flask, redirect, render_template_string, request

    app, lock, kinds = Flask(__name__), threading.Lock(), {"card": "card", "dice": "dice"}
    app.config.update(TRUSTED_HOSTS=[LOCALHOST, "localhost"], MAX_CONTENT_LENGTH=1 << 16)
    token = secrets.token_urlsafe()

    def page(error: str = "") -> str:
        moves = session.moves()
        cells = {move.cell: move for move in moves if move.cell is not None}
        shown = {"session": session, "scene": session.scene, "moves": moves, "cells": cells, "kinds": kinds}
        return render_template_string(_PAGE, **shown, name=name, opponent=opponent, token=token, error=error)

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
