"""`mccfr-plus play`: games against a policy, in the terminal or in the browser."""

import argparse
import random
import sys
from typing import Any

from mccfr_plus.cli import output, play_page
from mccfr_plus.cli.arguments import (
    POLICY_HELP,
    UsageError,
    add_game,
    add_quiet,
    add_seed,
    positive,
    refuse,
    seed_of,
    whole,
)
from mccfr_plus.cli.play_session import PlaySession
from mccfr_plus.cli.policy_source import read_policy, require_policy
from mccfr_plus.solver.choice import choose
from mccfr_plus.solver.solver import Solver
from mccfr_plus.trees.loading import load_game

SUMMARY = "Play against a policy, in the terminal or in the browser."

_SECONDS = 5.0
_QUIT = ("q", "quit", "exit")
_NOTES = """
You see what your seat knows: the state's own text, and cards, dice and boards where they can be read from it. All
actions are shown when a game has ended. In the terminal, type
  an action     its number or its name
  ?             to see the policy's probabilities at your information state
  q             to end; Ctrl-D and Ctrl-C do the same
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _NOTES
    add_game(parser)
    add = parser.add_argument
    add("policy", metavar="POLICY", nargs="?", help=f"{POLICY_HELP} Default: solve the game first.")
    add("--seat", type=whole(0), help="Your seat, from 0. Default: each in turn.")
    add("--games", type=whole(), help="Number of games in the terminal. Default: until you end it.")
    add_seed(parser, "Repeats chance and the policy's actions.")
    meaning = f"How long to solve the game without a POLICY. Default: {_SECONDS:g}."
    add("--seconds", type=positive, help=meaning)
    meaning = "Play on a page that is served to this machine only (pip install 'mccfr_plus[browser]')."
    add("--browser", action="store_true", help=meaning)
    add("--port", type=whole(0, 65535), help="Port of that page. Default: any free one.")
    add_quiet(parser)


def run(arguments: argparse.Namespace) -> None:
    name, source = arguments.game, arguments.policy
    if arguments.browser:
        refuse(arguments, ("games",), "is for the terminal: leave out --browser")
        play_page.require_flask()
    else:
        refuse(arguments, ("port",), "needs --browser")
    if source is not None:
        refuse(arguments, ("seconds",), "is for solving the game: leave out POLICY")
        require_policy(source)
    game, seed = load_game(name), seed_of(arguments)
    if arguments.seat is not None and arguments.seat >= game.num_players():
        raise UsageError(f"--seat={arguments.seat}: {game} has seats 0 to {game.num_players() - 1}.")
    policy = _solved(arguments, seed) if source is None else read_policy(source, game)
    session = PlaySession(game, policy, arguments.seat, random.Random(seed))
    output.show_notes()
    if arguments.browser:
        play_page.serve(play_page.app_of(session, name, source or "solved just now"), arguments.port or 0)
    else:
        _play(session, arguments.games)


def _solved(arguments: argparse.Namespace, seed: int) -> Any:
    """Returns the average policy of a short run."""
    quiet, seconds = arguments.quiet, arguments.seconds or _SECONDS
    config, tree, _ = choose(arguments.game, {}, progress=False if quiet else None)
    solver = Solver.from_config(tree or arguments.game, config, seed=seed)
    if not quiet:
        print(
            f"solving {arguments.game} for {seconds:g} s: a POLICY of a longer run is a better opponent",
            file=sys.stderr,
        )
    return solver.run(seconds=seconds, progress=not quiet and sys.stderr.isatty()).average_policy()


def _play(session: PlaySession, games: int | None) -> None:
    """Plays games until the person ends it, or so many."""
    try:
        while True:
            print(f"\n--- game {session.number}: you are player {session.seat} of {session.game.num_players()} ---")
            while session.payoff is None:
                scene = session.scene
                print(f"\n{scene.text}")
                for label, shown in scene.items:
                    print(f"  {label}: {' '.join(shown)}")
                _ask(session)
            print(f"\n{session.scene.text}\n\nAll actions: {'; '.join(session.story)}")
            print(f"You get {session.payoff:+g}. Score: {session.total}.")
            if session.ended == games:
                return
            session.begin()
    except (EOFError, KeyboardInterrupt):
        print(f"\nScore: {session.total}.")


def _ask(session: PlaySession) -> None:
    """Reads lines until one is a legal action, which is played."""
    moves = session.moves()
    print("actions: " + "   ".join(f"{move.action} {move.name}" for move in moves))
    while True:
        if sys.stdin is None:  # closed
            raise EOFError
        given = input("your action (? what the policy would play, q to end): ").strip()
        if given.lower() in _QUIT:
            raise EOFError
        if given == "?":
            output.print_table([[f"  {move.name}", f"{move.probability:.3f}"] for move in moves])
            continue
        try:
            session.play(given)
            return
        except UsageError as error:
            print(error)
