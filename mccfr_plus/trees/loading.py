"""Loads games by OpenSpiel's game strings."""

import contextlib
import difflib
import functools
import importlib
import logging
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator

import pyspiel

import mccfr_plus.games  # noqa: F401 - registers this package's games
from mccfr_plus.errors import GameError
from mccfr_plus.trees.tree import Tree

logger = logging.getLogger("mccfr_plus")

_EXPLICIT = (pyspiel.GameType.ChanceMode.DETERMINISTIC, pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC)
_MAX_LENGTH = 100_000  # of a game, in moves of players and chance: the longest of OpenSpiel by default has 72,922

_USUAL = re.compile(r"[a-z_]*|[1-8]", re.IGNORECASE)  # values of parameters
_TRIAL_SECONDS, _TRIAL_BYTES = 5, 4 << 30  # CPU time and memory of the process that tries others

# Plays one game. What it prints last is what OpenSpiel says.
_TRIAL = """
import contextlib, random, sys, pyspiel
with contextlib.suppress(ImportError, ValueError, OSError):
    import resource  # not on Windows
    for kind, limit in (("CPU", int(sys.argv[2])), ("AS", int(sys.argv[3])), ("CORE", 0)):
        resource.setrlimit(getattr(resource, "RLIMIT_" + kind), (limit, limit + (kind == "CPU")))
try:
    game = pyspiel.load_game_as_turn_based(sys.argv[1])
except Exception as error:  # the caller will learn it, or it is written in Python
    sys.exit("it needs too much memory" if isinstance(error, MemoryError) else 0)
state, rng = game.new_initial_state(), random.Random(0)
while not state.is_terminal():
    if not state.is_chance_node() and game.get_type().provides_information_state_string:
        state.information_state_string()
    state.apply_action(rng.choice(state.legal_actions()))
"""


def load_game(game: pyspiel.Game | str | Tree) -> pyspiel.Game:
    """Returns the turn-based game of a game or a game string.

    Simultaneous games are turned into turn-based ones by OpenSpiel's own conversion, with a logged line.

    Args:
        game: A `pyspiel.Game`, or a string such as ``"leduc_poker"`` or ``"kuhn_poker(players=3)"``; or a tree.

    Raises:
        GameError: If the game is unknown (with the nearest names), its parameters are not accepted, or it is of a
            kind that cannot be solved here: mean field, sampled chance, no information states, no end in sight.

    Examples:
        >>> import mccfr_plus
        >>> mccfr_plus.load_game("kuhn_poker(players=3)").num_players()
        3
    """
    if isinstance(game, Tree):
        return game.game
    if isinstance(game, str):
        game = game_of_name(game)
    if not isinstance(game, pyspiel.Game):
        raise GameError(f"game={game!r} is a {type(game).__name__}: give a pyspiel.Game or a game string.")
    kind = game.get_type()
    name = kind.short_name
    if kind.dynamics == pyspiel.GameType.Dynamics.MEAN_FIELD:
        raise GameError(
            f"{name} is a mean-field game: its states depend on a population, which CFR does not model. "
            "See open_spiel.python.mfg for algorithms that do."
        )
    if kind.chance_mode not in _EXPLICIT:
        raise GameError(
            f"{name} samples its chance events inside the game (sampled stochasticity), so that their outcomes and "
            "probabilities cannot be listed. Choose a game, or parameters of it, with explicit chance."
        )
    if not kind.provides_information_state_string:
        raise GameError(
            f"{name} provides no information_state_string, which is what tells a player's information sets apart. "
            "Observations alone do not: their recall is imperfect. Choose a game with information states."
        )
    length = game.max_game_length() + max(game.max_chance_nodes_in_history(), 0)
    if length > _MAX_LENGTH:
        raise GameError(
            f"one game of {game} can have {length:,} moves, more than {_MAX_LENGTH:,}: choose smaller parameters."
        )
    if kind.dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
        with quiet_openspiel():
            game = pyspiel.convert_to_turn_based(game)
        logger.info("%s has simultaneous moves: in turns, as turn_based_simultaneous_game(game=%s(...))", name, name)
    return game


def game_of_name(text: str) -> pyspiel.Game:
    """Returns the game of a game string as it is, simultaneous moves included.

    Raises:
        GameError: If the game is unknown (with the nearest names), or its parameters are not accepted or too much.
    """
    name = text.split("(", 1)[0].strip()
    names = pyspiel.registered_names()
    if name not in names:
        # Games written in Python are there only once this module is imported (0.2 s).
        importlib.import_module("open_spiel.python.games")
        names = pyspiel.registered_names()
    if name not in names:
        near = difflib.get_close_matches(name, names, n=3, cutoff=0.5) or [n for n in names if name and name in n][:3]
        hint = f"did you mean {', '.join(near)}?" if near else "pyspiel.registered_names() lists them all."
        hint += " A user-defined game must be imported first (--import=MODULE on the command line)."
        raise GameError(f"{name!r} is no game of OpenSpiel: {hint}")
    try:
        with quiet_openspiel():
            if "(" in text:
                try_out(text)
            return pyspiel.load_game(text)
    except GameError:
        raise
    except Exception as error:  # pyspiel raises RuntimeError, SpielError and ValueError here
        raise GameError(f"OpenSpiel does not accept the game string {text!r}: {without_places(str(error))}") from None


@functools.cache
def try_out(text: str) -> None:
    """Plays one game of a string with an unusual parameter in another process, as OpenSpiel may end it, or never end.

    If it fails, or needs more than five seconds or 4 GiB, that is a GameError.
    """
    if all(_USUAL.fullmatch(value.strip()) for value in re.findall(r"=([^=,()]*)", text)):
        return
    # -P: no module is taken from the working directory
    command = [sys.executable, "-P", "-c", _TRIAL, text, str(_TRIAL_SECONDS), str(_TRIAL_BYTES)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        how = f" ({signal.Signals(-done.returncode).name})" if done.returncode < 0 else ""
        said = without_places(done.stderr.strip().rpartition("\n")[2])
        said = said or f"one game does not end in {_TRIAL_SECONDS} seconds"
        raise GameError(f"OpenSpiel fails on {text!r}{how}: {said}: choose other parameters.")


def without_places(message: str) -> str:
    """Returns an error message of OpenSpiel's in one line, without the places in its source code."""
    return re.sub(r"\S+\.(cc|h):\d+ ", "", " ".join(message.split()))


def action_name(game: pyspiel.Game, player: int, action: int) -> str:
    """Returns what OpenSpiel calls an action, or its number where that depends on the state."""
    try:
        name = game.action_to_string(player, action)
    except (RuntimeError, AttributeError):
        return str(action)
    return str(action) if name.startswith("Action(id=") else name  # that is what a game says that has no names


@contextlib.contextmanager
def quiet_openspiel() -> Iterator[None]:
    """Keeps OpenSpiel's C++, which does not know of `sys.stderr`, from printing its own copy of an exception."""
    try:
        saved = os.dup(2)
    except OSError:  # no standard error at all, as in some GUI processes
        yield
        return
    try:
        with open(os.devnull, "w") as sink:
            os.dup2(sink.fileno(), 2)
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
