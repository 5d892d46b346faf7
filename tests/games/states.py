"""States after given actions, for histories that are worked out by hand; the tables of bucketed hold'em."""

import functools
import json
from pathlib import Path

import numpy as np
import pyspiel

import mccfr_plus
from mccfr_plus.games.rules import TERMINAL


def after(game, *actions):
    state = (pyspiel.load_game(game) if isinstance(game, str) else game).new_initial_state()
    for action in actions:
        state.apply_action(action)
    return state


def ends_of(tree, player):
    """Returns what a player gets at the ends of all histories, in ascending order."""
    nodes = tree.arrays.nodes
    return sorted(tree.arrays.payoffs[nodes["payload"][nodes["kind"] == TERMINAL], player].tolist())


@functools.cache
def holdem_tables():
    path = Path(mccfr_plus.__file__).parent / "games" / "nl_holdem_buckets.json"
    return json.loads(path.read_text(encoding="utf-8"))


def holdem_table(name):
    return np.array(holdem_tables()[name])
