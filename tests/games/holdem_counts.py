"""Sizes of two-round no-limit hold'em with buckets, also where its tree is too large: only the betting is traversed."""

import functools

import numpy as np
import pyspiel

from mccfr_plus.games import CHANCE, MOVER, TERMINAL
from mccfr_plus.kernels.compile import allocating_kernel


@allocating_kernel  # it copies rows
def _count(start, legal, apply, parameters, table, states, actions, positions, counts):
    """Counts public histories by round: decisions and ends of round 1 and of round 2, and the longest one's moves."""
    start(parameters, table, states[0])
    apply(parameters, table, states[0], 0)  # chance; what is dealt makes no difference to what follows
    depth, flops = 0, 0  # flops: at which depth round 2 began on the current path
    positions[0] = -1
    while depth >= 0:
        state = states[depth]
        if positions[depth] < 0:  # new
            positions[depth] = 0
            after = int(flops > 0)
            if state[MOVER] == CHANCE:
                counts[4] += 1
                flops = depth + 1
                apply(parameters, table, state, 0)
                after = 1
            counts[5] = max(counts[5], depth)
            if state[MOVER] == TERMINAL:
                counts[2 + after] += 1
                actions[depth, 0] = 0
            else:
                counts[after] += 1
                actions[depth, 0] = legal(parameters, table, state, actions[depth, 1:])
        if positions[depth] < actions[depth, 0]:
            positions[depth] += 1
            states[depth + 1, :] = state
            apply(parameters, table, states[depth + 1], actions[depth, positions[depth]])
            depth += 1
            positions[depth] = -1
        else:
            if flops == depth + 1:
                flops = 0
            depth -= 1


@functools.cache
def public_counts(stack):
    """Returns the game and what `_count` writes."""
    game = pyspiel.load_game(f"nl_holdem_buckets(stack={stack})").rules_game
    rules, counts, depth = game.rules, np.zeros(6, np.int64), game.sizes.max_game_length + 2
    states, actions = np.zeros((depth, game.sizes.state_size), np.int64), np.zeros((depth, stack + 2), np.int64)
    positions = np.zeros(depth, np.int64)
    _count(rules.start, rules.legal, rules.apply, game.parameters, game.table, states, actions, positions, counts)
    return game, counts.tolist()


def tree_counts(stack):
    """Returns infosets and histories: every bet is seen with 5 or 25 buckets of one's own, 25 or 625 of both."""
    _, (first, second, ends, showdowns, flops, _) = public_counts(stack)
    return 5 * first + 25 * second, 1 + 25 * (first + ends + flops) + 625 * (second + showdowns)
