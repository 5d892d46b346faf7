"""The endgames that Libratus' authors published: https://github.com/Sandholm-Lab/LibratusEndgames.

A file has lines of a key and values: ``-round`` (3: turn, 4: river), ``-board``, ``-pot``, and ``-reach``, the weights
of all 1,326 hands of the player who acts first and then of the other's. Stacks were 20,000 at the start of the hand.
"""

from pathlib import Path

import pyspiel

from mccfr_plus.errors import GameError, shortened

_STACK = 20_000
_KEYS = ("-round", "-board", "-pot", "-reach")
_CARDS = {"3": 4, "4": 5}  # on the board, by the round


def load_libratus_endgame(path: str | Path, bets: str = "0.5 1;0.5 1;1") -> pyspiel.Game:
    """Returns a published endgame of Libratus as a `holdem_subgame`; player 0 acts first.

    Args:
        path: The file.
        bets: The allowed bets as fractions of the pot, as in `holdem_subgame`; all-in is always allowed.

    Raises:
        GameError: If the file cannot be read, lacks a line, or has an invalid line.
    """
    try:
        lines = [line.split(maxsplit=1) for line in Path(path).read_text(encoding="utf-8").splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise GameError(f"{path} cannot be read as an endgame: {error}.") from None
    found = {line[0]: line[1].strip() for line in lines if len(line) == 2}
    lacking = [key for key in _KEYS if key not in found]
    if lacking:
        raise GameError(f"{path} is not a Libratus endgame: it has no value for {', '.join(lacking)}.")
    board, pot, which = found["-board"], found["-pot"], found["-round"]
    if _CARDS.get(which) != len(board) / 2:
        allowed = "3 has four cards, 4 has five"
        raise GameError(f"{path}: -round {shortened(which)} with -board {shortened(board)}: {allowed}.")
    if not pot.isdecimal() or not 2 <= int(pot) < 2 * _STACK:
        raise GameError(f"{path}: -pot {shortened(pot)}: give a number of chips from 2 to {2 * _STACK - 2:,}.")
    given = {"board": board, "pot": int(pot), "stack": _STACK - int(pot) // 2, "ranges": found["-reach"], "bets": bets}
    try:
        return pyspiel.load_game("holdem_subgame", given)
    except ValueError as error:
        raise GameError(f"{path}: {error}") from None
