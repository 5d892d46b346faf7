"""Tries game strings with unusual numbers in another process: OpenSpiel may end the interpreter, or never end."""

import functools
import re
import signal
import subprocess
import sys

from mccfr_plus.errors import GameError

_SECONDS, _MOST_BYTES = 5, 4 << 30  # CPU time and memory of the process
_PATIENCE = 10  # the clock may go on for so many times the CPU time, on a loaded machine
_USUAL = re.compile(r"[a-z_]*|[1-8]", re.IGNORECASE)  # values of parameters

# Plays one game. What it prints last is what OpenSpiel says.
_PLAY = """
import random, sys
try:
    import resource  # not on Windows
    for kind, limit in (("CPU", int(sys.argv[2])), ("AS", int(sys.argv[3])), ("CORE", 0)):
        resource.setrlimit(getattr(resource, "RLIMIT_" + kind), (limit, limit + (kind == "CPU")))
except (ImportError, ValueError, OSError):
    pass
import pyspiel
try:
    game = pyspiel.load_game(sys.argv[1])
except MemoryError:
    sys.exit("it needs too much memory")
except Exception:
    sys.exit(0)  # the caller will learn it, or it is written in Python
try:
    if game.get_type().dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
        game = pyspiel.convert_to_turn_based(game)
    state, rng = game.new_initial_state(), random.Random(0)
    while not state.is_terminal():
        if not state.is_chance_node() and game.get_type().provides_information_state_string:
            state.information_state_string()
        state.apply_action(rng.choice(state.legal_actions()))
except Exception as error:
    sys.exit(" ".join(str(error).split()) or type(error).__name__)
"""


@functools.cache
def try_out(text: str) -> None:
    """Plays one game of a game string in a process of its own, if a parameter is no word and no small number.

    Raises:
        GameError: If OpenSpiel fails, ends the process, or needs more than five seconds or 4 GiB for one game.
    """
    if all(_USUAL.fullmatch(value.strip()) for value in re.findall(r"=([^=,()]*)", text)):
        return
    # -P: no module is taken from the working directory
    command = [sys.executable, "-P", "-c", _PLAY, text, str(_SECONDS), str(_MOST_BYTES)]
    how = said = ""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE * _SECONDS, check=False)
        if not done.returncode:
            return
        how = f" ({signal.Signals(-done.returncode).name})" if done.returncode < 0 else ""
        said = without_places(done.stderr.strip().rpartition("\n")[2])
    except subprocess.TimeoutExpired:
        pass
    said = said or f"one game does not end in {_SECONDS} seconds"
    raise GameError(f"OpenSpiel fails on {text!r}{how}: {said}: choose other parameters.")


def without_places(message: str) -> str:
    """Returns an error message of OpenSpiel's in one line, without the places in its source code."""
    return re.sub(r"\S+\.(cc|h):\d+ ", "", " ".join(message.split()))
