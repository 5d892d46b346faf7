"""`mccfr-plus play`: games against a policy, in the terminal, or on a page that Flask serves to this machine only."""

from __future__ import annotations

import argparse
import logging
import random
import secrets
import socket
import sys
import threading
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pyspiel

from mccfr_plus.cli import command
from mccfr_plus.cli.command import UsageError
from mccfr_plus.cli.play_session import PlaySession, Scene
from mccfr_plus.errors import ConfigError
from mccfr_plus.search.blueprint import AFTER_CHANCE
from mccfr_plus.search.policy import SearchPolicy
from mccfr_plus.solver.choice import choose
from mccfr_plus.solver.solver import Solver
from mccfr_plus.trees.loading import load_game

if TYPE_CHECKING:
    from flask import Flask

SUMMARY = "Play against a policy, in the terminal or in the browser."

_LOCALHOST = "127.0.0.1"
_SECONDS = 5.0
_QUIT = ("q", "quit", "exit")
NOTES = """
You see only what the player in your seat may see: the information state or (in some games) the cards, dice, bets and
board. At the end of a game, all actions are shown. In the terminal, type
  an action     by its number or its name
  ?             to see the policy's probabilities at your information state
  q             to end the session (Ctrl-D and Ctrl-C do the same)
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    command.add_game(parser)
    add = parser.add_argument
    add(
        "policy",
        metavar="POLICY",
        nargs="?",
        help=f"{command.POLICY_HELP} If no POLICY is given, the game is solved first.",
    )
    add("--seat", type=command.whole(0), help="Your seat, counted from 0. By default, you take each seat in turn.")
    add("--games", type=command.whole(), help="Number of games to play in the terminal. Default: no limit.")
    command.add_seed(parser, "Seed for chance and for the policy's actions.")
    meaning = f"Time in seconds for solving the game if no POLICY is given. Default: {_SECONDS:g}."
    add("--seconds", type=command.positive, help=meaning)
    meaning = (
        "Seconds per move for re-solving the current subgame with maxmargin. With search, the policy's game may have "
        "fewer actions than GAME. Default: no search."
    )
    add("--search", metavar="SECONDS", type=command.positive, help=meaning)
    meaning = "Number of actions before search begins. By default, it begins after the first public chance outcome."
    add("--search_start", metavar="N", type=command.whole(), help=meaning)
    meaning = "Play on a local web page. This option needs Flask: pip install 'mccfr_plus[browser]'."
    add("--browser", action="store_true", help=meaning)
    add("--port", type=command.whole(0, 65535), help="Port for the page. Default: any free port.")
    command.add_quiet(parser)


def run(arguments: argparse.Namespace) -> None:
    name, source = arguments.game, arguments.policy
    if arguments.browser:
        command.refuse(arguments, ("games",), "works in the terminal only: leave out --browser")
        if not find_spec("flask"):
            raise ConfigError("--browser needs Flask: pip install 'mccfr_plus[browser]'.")
    else:
        command.refuse(arguments, ("port",), "needs --browser")
    if source is not None:
        command.refuse(arguments, ("seconds",), "limits solving, and a POLICY is given: leave out one of them")
        command.require_policy(source)
    game, seed = load_game(name), command.seed_of(arguments)
    if arguments.seat is not None and arguments.seat >= game.num_players():
        raise UsageError(f"--seat={arguments.seat}: {game} has seats 0 to {game.num_players() - 1}.")
    searched = None if arguments.search else game  # a blueprint's own game may have fewer actions
    policy = _solved(arguments, seed) if source is None else command.read_policy(source, searched)
    if arguments.search is None:
        command.refuse(arguments, ("search_start",), "needs --search")
    else:
        start = arguments.search_start or AFTER_CHANCE
        policy = SearchPolicy(policy or pyspiel.UniformPolicy(), game, start, seconds=arguments.search)
    session = PlaySession(game, policy, arguments.seat, random.Random(seed))
    command.show_notes()
    if arguments.browser:
        _serve(app_of(session, name, source or "solved just now"), arguments.port or 0)
    else:
        _play(session, arguments.games)
    if arguments.search is not None and policy.out_of_time:
        print(f"{policy.out_of_time} subgames were played without search, for lack of time: give a larger --search.")


def _solved(arguments: argparse.Namespace, seed: int) -> Any:
    seconds = arguments.seconds or _SECONDS
    config, tree, _ = choose(arguments.game, {}, progress=command.progress_of(arguments))
    solver = Solver.from_config(tree or arguments.game, config, seed=seed)
    better = "a POLICY from a longer run plays better"
    command.note(arguments, f"solving {arguments.game} for {seconds:g} s: {better}")
    return solver.run(seconds=seconds, progress=not arguments.quiet and sys.stderr.isatty()).average_policy()


def _play(session: PlaySession, games: int | None) -> None:
    try:
        while True:
            print(f"\n--- game {session.number}: you are player {session.seat} of {session.game.num_players()} ---")
            while session.payoff is None:
                print()
                _print_scene(session.scene)
                _ask(session)
            print()
            _print_scene(session.scene, session.hands())
            print(f"\nAll actions: {'; '.join(session.story)}")
            print(f"You get {session.payoff:+g}. Score: {session.total}.")
            if session.ended == games:
                return
            session.begin()
    except (EOFError, KeyboardInterrupt):
        print(f"\nScore: {session.total}.")


def _print_scene(scene: Scene, hands: Sequence[tuple[str, list[str]]] = ()) -> None:
    for label, shown in (*scene.items, *hands):
        print(f"  {label}: {' '.join(shown)}")
    if not scene.items:
        print(scene.text)


def _ask(session: PlaySession) -> None:
    """Reads lines until one is a legal action, which is played."""
    moves = session.moves()
    print("actions: " + "   ".join(f"{move.action} {move.name}" for move in moves))
    while True:
        if sys.stdin is None:  # closed
            raise EOFError
        given = input("your action (? shows the policy's probabilities, q ends): ").strip()
        if given.lower() in _QUIT:
            raise EOFError
        if given == "?":
            command.print_table([[f"  {move.name}", f"{session.probability(move):.3f}"] for move in moves])
            continue
        try:
            session.play(given)
            return
        except UsageError as error:
            print(error)


# --- in the browser ---


def app_of(session: PlaySession, name: str, opponent: str) -> Flask:
    """Returns the web application that plays a session.

    It answers requests to this machine by its own names only, so that other sites cannot reach it under theirs. An
    action needs the token of the last page, which other sites cannot read and which refuses outdated pages.
    """
    from flask import Flask, redirect, render_template, request

    app, lock = Flask(__name__, template_folder="pages"), threading.Lock()
    app.config.update(TRUSTED_HOSTS=[_LOCALHOST, "localhost"], MAX_CONTENT_LENGTH=1 << 16)
    token = secrets.token_urlsafe()

    def page(error: str = "") -> str:
        moves = session.moves()
        cells = {move.cell: move for move in moves if move.cell is not None}
        shown = {"session": session, "scene": session.scene, "moves": moves, "cells": cells}
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
                    raise UsageError("This page was out of date: choose an action again.")
                session.begin() if action == "next" and session.payoff is not None else session.play(action)
            except UsageError as error:
                return page(str(error)), 409
            token = secrets.token_urlsafe()
        return redirect("/", 303)

    @app.after_request
    def secure(response: Any) -> Any:
        response.headers["Cache-Control"] = "no-store"
        policy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'self'"
        response.headers["Content-Security-Policy"] = policy
        return response

    return app


def _serve(app: Flask, port: int) -> None:
    """Serves a page to this machine until Ctrl-C, prints its address and opens it."""
    from werkzeug.serving import make_server

    try:
        listening = socket.create_server((_LOCALHOST, port))
    except OSError as error:
        raise ConfigError(f"cannot serve on port {port}: {error.strerror}. Choose another --port.") from None
    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # no line per request
    with listening:
        port = listening.getsockname()[1]
        server = make_server(_LOCALHOST, port, app, threaded=True, fd=listening.fileno())
        print(f"http://{_LOCALHOST}:{port}/  (Ctrl-C ends it)", flush=True)
        command.open_in_browser(f"http://{_LOCALHOST}:{port}/")
        server.serve_forever()  # returns at KeyboardInterrupt
