"""Digests that tell games apart whose names and parameters are equal, as rules may come from a file or Python code."""

import hashlib
import random
import weakref
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyspiel

from mccfr_plus.trees.loading import game_error, read_node
from mccfr_plus.trees.needs import HISTORIES

_HISTORIES = 32  # of a game that is not stored
_MOVES = 2_000  # in all of them, about: a second or two in slow games

_digests: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()  # by tree


def digest_of(tree: Any) -> str:
    """Returns the digest of a tree: of its arrays, with payoffs and chance, if it is stored; otherwise of the game."""
    if tree not in _digests and HISTORIES in tree.provides:
        _digests[tree] = digest_of_arrays([*tree.arrays, tree.slot_action, tree.outcome_action])
    elif tree not in _digests:
        _digests[tree] = digest_of_histories(tree.game)
    return _digests[tree]


def digest_of_histories(game: pyspiel.Game) -> str:
    """Returns a digest of what some random histories show of a turn-based game; they are the same in each process."""
    digest, rng, moves = hashlib.blake2b(digest_size=16), random.Random(0), 0
    for _ in range(_HISTORIES):
        state = game.new_initial_state()
        try:
            while (node := read_node(game, state))[1]:
                player, actions, chances = node
                seen: tuple = tuple(zip(actions, chances, strict=True))
                if player >= 0:
                    seen = player, state.information_state_string(), actions
                digest.update(repr(seen).encode())
                state.apply_action(rng.choice(actions))
                moves += 1
            digest.update(repr(list(map(float, state.returns()))).encode())
        except Exception as error:
            raise game_error(game, state.history(), error) from error.__cause__
        if moves >= _MOVES:
            break
    return digest.hexdigest()


def digest_of_arrays(arrays: Iterable[np.ndarray]) -> str:
    """Returns a digest of arrays: their types, shapes and numbers."""
    digest = hashlib.blake2b(digest_size=16)
    for array in arrays:
        digest.update(f"{array.dtype.descr}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()
