"""Whether players have perfect recall, where no tree is stored: what a game says, or what random games show."""

import contextlib
import random
import time

import pyspiel

from mccfr_plus.errors import GameError
from mccfr_plus.games.openspiel import compiled_rules
from mccfr_plus.trees.loading import read_node

_MOVES = 20_000  # of the sample: not a time, so that the answer is always the same, if the game is not very slow
_CPU_SECONDS = 5.0


def has_perfect_recall(game: pyspiel.Game, seconds: float = _CPU_SECONDS) -> bool:
    """Returns whether a game's `recall` or its rules promise it, or else a sample shows nothing else."""
    said, rules = getattr(game, "recall", None), compiled_rules(game)
    if said is not None:
        return said == "perfect"
    return (rules is not None and rules.sizes.perfect_recall) or sample_recall(game, seconds)


def sample_recall(game: pyspiel.Game, seconds: float = _CPU_SECONDS) -> bool:
    """Returns whether no information state has two own pasts in some random games; GameError for absent-mindedness."""
    rng, moves, is_perfect, problem = random.Random(0), 0, True, None
    end = time.process_time() + seconds
    met: dict[tuple[int, str], int] = {}  # the past, as a hash, of information states
    with contextlib.suppress(Exception):  # traversals report what the game raises
        while moves < _MOVES and time.process_time() < end and problem is None:
            state, pasts, own = game.new_initial_state(), [0] * game.num_players(), set[tuple[int, str]]()
            while problem is None and (node := read_node(game, state))[1]:
                player, actions, _ = node
                action, moves = rng.choice(actions), moves + 1
                if player >= 0:
                    key, past = (player, state.information_state_string()), pasts[player]
                    if key in own:
                        problem = absent_minded(game, state.history(), *key)
                    own.add(key)
                    is_perfect &= met.setdefault(key, past) == past
                    pasts[player] = hash((past, key, action))
                state.apply_action(action)
    if problem is not None:
        raise problem
    return is_perfect


def absent_minded(game: pyspiel.Game, history: list[int], player: int, info_state: str) -> GameError:
    """Returns the error for a history that enters an information set again."""
    state, first = game.new_initial_state(), 0
    while state.current_player() != player or state.information_state_string() != info_state:
        state.apply_action(history[first])
        first += 1
    return GameError(
        f"{game}: the histories {history[:first]} and {history} have the same information state {info_state!r}: its "
        "player does not know that it has moved (absent-mindedness), for which CFR is not defined."
    )
