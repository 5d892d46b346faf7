"""Tries unusual game strings in a process of their own: with some, OpenSpiel ends the interpreter or never ends."""

import functools
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pyspiel

from mccfr_plus.errors import GameError

_SECONDS, _MOST_BYTES = 5, 4 << 30  # CPU time and memory of the process
_PATIENCE = 10  # the clock may go on for so many times the CPU time, on a loaded machine
_USUAL = 8  # whole numbers from 1 to this are usual, and those up to twice a parameter's default
_WORD = re.compile("[a-z_]+")

# Plays one game. What it prints last is what OpenSpiel says.
_PLAY = """
import random, sys
try:
    import resource  # not on Windows
    seconds, most_bytes = int(sys.argv[2]), int(sys.argv[3])
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_AS, (most_bytes, most_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
except (ImportError, ValueError, OSError):
    pass
import pyspiel
text = sys.argv[1]
if text.split("(")[0].strip() not in pyspiel.registered_names():
    sys.exit(0)  # written in Python
try:
    game = pyspiel.load_game(text)
except MemoryError:
    print("it needs too much memory")
    sys.exit(1)
except Exception:
    sys.exit(0)  # the caller will learn it
try:
    if game.get_type().dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
        game = pyspiel.convert_to_turn_based(game)
    state, rng = game.new_initial_state(), random.Random(0)
    while not state.is_terminal():
        if not state.is_chance_node() and game.get_type().provides_information_state_string:
            state.information_state_string()
        state.apply_action(rng.choice(state.legal_actions()))
except Exception as error:
    print(" ".join(str(error).split()) or type(error).__name__)
    sys.exit(1)
"""


@functools.cache
def try_out(text: str) -> None:
    """Plays one game of a game string in a process of its own, if its parameters are unusual.

    Raises:
        GameError: If OpenSpiel fails, ends the process, or needs more than five seconds or 4 GiB for one
            game.
    """
    try:
        parameters = pyspiel.game_parameters_from_string(text)
    except Exception:  # it is refused when it is loaded
        return
    if not _is_unusual(parameters) or not sys.executable:
        return
    try:
        done = subprocess.run(
            # -P: no module is taken from the working directory
            [sys.executable, "-P", "-c", _PLAY, text, str(_SECONDS), str(_MOST_BYTES)],
            capture_output=True,
            text=True,
            timeout=_PATIENCE * _SECONDS,
            check=False,
        )
        has_ended = done.returncode not in (-signal.SIGXCPU, -signal.SIGKILL)
    except subprocess.TimeoutExpired:
        has_ended = False
    if not has_ended:
        raise GameError(
            f"OpenSpiel does not come to the end of one game of {text!r} in {_SECONDS} seconds: choose smaller "
            "parameters."
        )
    if done.returncode < 0:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        said = f", saying {without_places(lines[-1])!r}" if lines else ""
        raise GameError(
            f"OpenSpiel crashes on {text!r} ({signal.Signals(-done.returncode).name}){said}: choose other parameters."
        )
    if done.returncode:
        raise GameError(f"OpenSpiel fails on {text!r}: {without_places(done.stdout.strip())}")


def without_places(message: str) -> str:
    """Returns an error message of OpenSpiel's without the places in its source code."""
    return re.sub(r"\S+\.(cc|h):\d+ ", "", " ".join(message.split()))


def _is_unusual(parameters: Mapping[str, Any]) -> bool:
    """Returns whether a parameter of a game, or of the game in it, is unknown or not a word or near the default."""
    defaults = _defaults(parameters["name"])
    for name, value in parameters.items():
        if isinstance(value, Mapping):
            if _is_unusual(value):
                return True
        elif name != "name" and name not in defaults:
            return True
        elif isinstance(value, int) and not isinstance(value, bool):
            default = defaults.get(name, 0)
            default = default if isinstance(default, int) else 0
            if value != default and not 1 <= value <= max(_USUAL, 2 * default):
                return True
        elif not isinstance(value, bool) and value != defaults.get(name) and not _WORD.fullmatch(str(value)):
            return True
    return False


@functools.cache
def _defaults(name: str) -> Mapping[str, Any]:
    return next((g.parameter_specification for g in pyspiel.registered_games() if g.short_name == name), {})
