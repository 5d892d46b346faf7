"""`mccfr-plus play`: games against a policy, in the terminal or in the browser."""

import random
import sys
import webbrowser
from typing import Any

from absl import flags

from mccfr_plus.cli import output, play_page
from mccfr_plus.cli.command import (
    Command,
    UsageError,
    define,
    define_limits,
    define_switch,
    positive,
    refuse,
    seed_of,
    whole,
)
from mccfr_plus.cli.local_server import serve_until_interrupted
from mccfr_plus.cli.play_session import PlaySession
from mccfr_plus.cli.policy_source import NOTE, read_policy, require_policy
from mccfr_plus.solver.defaults import solver_for
from mccfr_plus.solver.tree_choice import TreeLimits
from mccfr_plus.trees.game import load_game

_QUIT = ("q", "quit", "exit")


class PlayCommand(Command):
    """Lets a person play against a policy."""

    name = "play"
    summary = "Play against a policy, in the terminal or in the browser."
    positionals = ("GAME",)
    optional = ("POLICY",)
    notes = f"""
{NOTE}
Without it the game is solved first, for --seconds.

What is shown is what you know: the state's own text for you, and cards, dice and boards where they can be read from it.
All actions are shown when a game has ended. In the terminal, type
  an action     its number or its name
  ?             the probabilities that the policy has for you
  q             to end; Ctrl-D and Ctrl-C do the same
"""

    def define_flags(self, values: flags.FlagValues) -> None:
        define(values, "seat", whole(0), "Your seat, from 0. Default: each in turn.")
        define(values, "games", whole(), "How many games to play in the terminal. Default: until you end it.")
        define(values, "seed", whole(0), "Seed of chance and of the policy's actions. Default: random.")
        define(values, "seconds", positive("SECONDS"), "How long to solve the game if there is no POLICY.", 5.0)
        define_switch(values, "browser", "Play on a page in the browser, which is served to this machine alone.")
        define(values, "port", whole(0, 65535), "Port of that page; 0: any that is free.", 0)
        define_limits(values)
        output.define_quiet(values)

    def run(self, arguments: list[str], values: Any) -> None:
        name, source = arguments[0], arguments[1] if len(arguments) > 1 else None
        if values.browser:
            refuse(values, ["games"], "games in the terminal: leave it out, or leave out --browser")
        else:
            refuse(values, ["port"], "the page in the browser: give --browser, too")
        if source is not None:
            refuse(values, ["seconds", "max_nodes", "max_bytes"], "solving: leave it out, or leave out POLICY")
            require_policy(source)
        game, seed = load_game(name), seed_of(values)
        if values.seat is not None and values.seat >= game.num_players():
            raise UsageError(f"--seat={values.seat}: {game} has seats 0 to {game.num_players() - 1}.")
        policy = _solved(name, seed, values) if source is None else read_policy(source, game)
        session = PlaySession(game, policy, values.seat, random.Random(seed))
        output.show_notes()
        if values.browser:
            pages = play_page.PlayPages(session, name, source or "solved just now")
            serve_until_interrupted(pages.respond, values.port, _open)
        else:
            _play(session, values.games)


def _solved(name: str, seed: int, values: Any) -> Any:
    """Returns the average policy of a short run."""
    limits = TreeLimits(values.max_nodes, values.max_bytes, False if values.quiet else None)
    solver, _ = solver_for(name, {}, seed=seed, limits=limits)
    if not values.quiet:
        print(f"solving {name} for {values.seconds:g} s: for a better opponent give a POLICY", file=sys.stderr)
    return solver.run(seconds=values.seconds, progress=not values.quiet and sys.stderr.isatty()).average_policy()


def _open(url: str) -> None:
    """Shows a page in the browser, or says that there is none."""
    try:
        is_open = webbrowser.open(url)
    except (webbrowser.Error, OSError):
        is_open = False
    if not is_open:
        print("no browser was found: open that address in one on this machine", file=sys.stderr)


# --- in the terminal ---


def _play(session: PlaySession, games: int | None) -> None:
    """Plays games until the person ends it, or so many."""
    try:
        while True:
            print(f"\n--- game {session.number}: you are player {session.seat} of {session.game.num_players()} ---")
            while session.payoff is None:
                _show(session)
                _ask(session)
            print(f"\n{session.scene.text}\n\nAll actions: {'; '.join(session.story)}")
            print(f"You get {session.payoff:+g}. Score: {session.total}.")
            if session.ended == games:
                return
            session.begin()
    except (EOFError, KeyboardInterrupt):
        print(f"\nScore: {session.total}.")


def _show(session: PlaySession) -> None:
    scene = session.scene
    print(f"\n{scene.text}")
    for label, shown in scene.items:
        print(f"  {label}: {' '.join(shown)}")


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
