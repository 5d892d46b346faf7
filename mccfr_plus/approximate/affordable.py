"""What a local best response can look at in a given time, on games whose plays are long or wide."""

from __future__ import annotations

import random
import time
from typing import Any

import pyspiel

from mccfr_plus.approximate.behavior import Behavior, JointPolicy, chance_row
from mccfr_plus.tree.game import load_game

_GAMES = 20  # that are to be played in the time
_PROBES, _PROBE_SHARE = 20, 0.05  # plays that measure, and the share of the time that they may take
_ROLLOUTS, _HISTORIES, _NODES = 200, 2000, 5000  # what is enough: the defaults of `local_best_response`
_NODES_PER_ROLLOUT = _NODES // _ROLLOUTS


def affordable_look_ahead(game: pyspiel.Game | str, policy: JointPolicy, seconds: float) -> dict[str, Any] | None:
    """Returns arguments for `local_best_response` with which some games can be played in the time; None for too little.

    Args:
        game: The game.
        policy: The policy to be evaluated.
        seconds: Of wall-clock time, for one player.

    Example:
        >>> affordable_look_ahead("kuhn_poker", {}, 60.0)["num_rollouts"]
        200
    """
    game = load_game(game)
    behavior, rng = Behavior(game, policy), random.Random(0)
    begin, plays, nodes, decisions, actions = time.perf_counter(), 0, 0, 0, 0
    while plays < _PROBES and (not plays or time.perf_counter() - begin < _PROBE_SHARE * seconds):
        state = game.new_initial_state()
        while not state.is_terminal():
            row = chance_row(state) if state.is_chance_node() else behavior.row(state)
            nodes += 1
            if not state.is_chance_node():
                decisions += 1
                actions += len(row.actions)
            state.apply_action(rng.choices(row.actions, row.probabilities)[0])
        plays += 1
    per_node = (time.perf_counter() - begin) / max(nodes, 1)
    # A game has as many own decisions, each looks at every action, and plays to the end from there.
    looks = max(decisions, 1) / game.num_players() / plays * (actions / max(decisions, 1))
    per_rollout = looks * nodes / plays / 2 * per_node
    rollouts = int(seconds / _GAMES / max(per_rollout, 1e-9))
    if rollouts < 1:
        return None
    rollouts = min(rollouts, _ROLLOUTS)
    return {
        "num_rollouts": rollouts,
        "max_histories": min(_HISTORIES, 10 * rollouts),
        "max_nodes": min(_NODES, _NODES_PER_ROLLOUT * rollouts),
    }
