"""Estimates how many infosets a game with compiled rules has, without bias, by probes down each player's own tree.

A probe keeps all states that are consistent with what the player knows. It plays a random action of the player in all
of them, plays on in every way to the player's next decision, and goes on with a random one of the infosets found there.
An infoset counts with the inverse of the probability of coming there (Knuth 1975, on the tree of infosets). Actions are
drawn by what earlier probes found below them (Chen 1992): below the first bids of liar's dice lie thousands
of times as many infosets as below the last ones.

References: Knuth 1975, "Estimating the efficiency of backtrack programs"; Chen 1992, "Heuristic sampling: a method for
predicting the performance of tree searching programs".
"""

import math
import time
from typing import NamedTuple

import numpy as np

from mccfr_plus.games.game import RulesGame
from mccfr_plus.games.rules import CHANCE, MOVER, TERMINAL
from mccfr_plus.kernels.compile import kernel
from mccfr_plus.kernels.random_numbers import new_state, next_double
from mccfr_plus.kernels.slots import bind
from mccfr_plus.trees.by_rules.new_infosets import RULE_OBSERVE
from mccfr_plus.trees.by_rules.rules_traversal import RULE_APPLY, RULE_LEGAL, RULE_OUTCOMES, kernels_of

_MOST_BYTES = 1 << 26  # of the states of an infoset; beyond it there is no estimate
_BATCH = 16  # probes between looks at the clock
_PILOTS = 64  # probes that only teach what lies below actions
_MIN_PROBES = 512  # fewer may all miss what is rare
_UNIFORM = 0.2  # of an action's probability is not learned
_ENOUGH = 0.03  # relative standard error
_SECONDS = 3.0  # limit on the CPU time for each player; less is used if the estimate is good enough

# Columns of a probe's path: what was drawn, how many infosets were counted before, and the weight after the draw.
CODE, BEFORE, WEIGHT_OF_CODE, ACTION, AFTER, WEIGHT = range(6)


class InfosetEstimate(NamedTuple):
    """Estimated numbers of a game, of all players together."""

    infosets: float
    slots: float
    relative_error: float  # standard error of the slots by their number

    def times(self, share: float) -> "InfosetEstimate":
        """Returns the estimate of a part of the infosets, such as one for all that symmetries turn into each other."""
        return self._replace(infosets=share * self.infosets, slots=share * self.slots)


class _Room(NamedTuple):
    """What a probe writes, and what the probes of a player have learned."""

    known: np.ndarray  # [capacity, state_size] int64: the states of the infoset
    found: np.ndarray  # the same, at the player's next decision
    codes: np.ndarray  # [capacity] int64: the infoset of each, below the infoset and action before
    seen: np.ndarray  # [num_codes] bool, all False between levels
    states: np.ndarray  # [max_depth + 1, state_size] int64: the path of a depth-first traversal,
    actions: np.ndarray  # [max_depth + 1, most actions] int64: its choices,
    counts: np.ndarray  # [max_depth + 1, 2] int64: how many there are, and how many were taken
    probabilities: np.ndarray  # [most outcomes] float64
    totals: np.ndarray  # [2] float64: infosets and slots
    path: np.ndarray  # [max_depth + 1, WEIGHT + 1] float64
    below_codes: np.ndarray  # [num_codes, 2] float64: infosets found below each code, and how often it was drawn
    below_actions: np.ndarray  # [most actions, 2] float64, the same


def estimate_infosets(game: RulesGame) -> InfosetEstimate | None:
    """Returns estimated numbers of infosets and slots; None without `observe`, or if an infoset has too many states."""
    rules, sizes = game.rules, game.sizes
    if rules.observe is None:
        return None
    probe = bind(_probe, {**kernels_of(rules), RULE_OBSERVE: rules.observe}, partial=True)
    depth, capacity = sizes.max_game_length + sizes.max_chance_nodes + 1, _MOST_BYTES // (8 * sizes.state_size)
    num_codes = max(sizes.max_observations, sizes.max_first_observations)
    room = _Room(
        known=np.zeros((capacity, sizes.state_size), np.int64),
        found=np.zeros((capacity, sizes.state_size), np.int64),
        codes=np.zeros(capacity, np.int64),
        seen=np.zeros(num_codes, np.bool_),
        states=np.zeros((depth, sizes.state_size), np.int64),
        actions=np.zeros((depth, max(game.most_actions, 1)), np.int64),
        counts=np.zeros((depth, 2), np.int64),
        probabilities=np.zeros(max(sizes.max_chance_outcomes, 1)),
        totals=np.zeros(2),
        path=np.zeros((depth, WEIGHT + 1)),
        below_codes=np.zeros((num_codes, 2)),
        below_actions=np.zeros((max(game.most_actions, 1), 2)),
    )
    rng = new_state(0)
    totals, variance = np.zeros(2), 0.0
    for player in range(sizes.num_players):
        samples: list[np.ndarray] = []
        room.below_codes[:] = room.below_actions[:] = 1.0
        for _ in range(_PILOTS):
            if not probe(game.parameters, game.table, game.first_state, player, room, rng):
                return None
        begin, error = time.thread_time(), math.inf  # kernels are compiled now
        while len(samples) < _MIN_PROBES or (error > _ENOUGH and time.thread_time() < begin + _SECONDS):
            for _ in range(_BATCH):
                if not probe(game.parameters, game.table, game.first_state, player, room, rng):
                    return None
                samples.append(room.totals.copy())
            mean, spread = np.mean(samples, axis=0), np.std(samples, axis=0)[1] / math.sqrt(len(samples))
            error = spread / mean[1] if mean[1] else 0.0
        totals += mean
        variance += spread**2
    return InfosetEstimate(totals[0], totals[1], math.sqrt(variance) / max(totals[1], 1.0))


@kernel
def _probe(parameters, table, first_state, player, room, rng):
    """Makes a probe for a player, which writes ``room.totals``. Returns False if there were too many states."""
    known, found, codes, seen = room.known, room.found, room.codes, room.seen
    states, actions, counts, path = room.states, room.actions, room.counts, room.path
    size = len(first_state)
    for word in range(size):
        known[0, word] = first_state[word]
    room.totals[0] = room.totals[1] = 0.0
    num_known, last, weight, length = 1, np.int64(-1), 1.0, 0
    while True:
        num_found = 0
        for index in range(num_known):
            for word in range(size):
                states[0, word] = known[index, word]
            depth, is_new = 0, True
            while depth >= 0:
                state = states[depth]
                if is_new:
                    is_new = False
                    mover = state[MOVER]
                    if mover == player:
                        if num_found == len(found):
                            return False
                        for word in range(size):
                            found[num_found, word] = state[word]
                        codes[num_found] = RULE_OBSERVE(parameters, table, state, player, last)
                        num_found += 1
                        depth -= 1
                        continue
                    if mover == TERMINAL:
                        depth -= 1
                        continue
                    counts[depth, 1] = 0
                    if mover == CHANCE:
                        counts[depth, 0] = RULE_OUTCOMES(parameters, table, state, actions[depth], room.probabilities)
                    else:
                        counts[depth, 0] = RULE_LEGAL(parameters, table, state, actions[depth])
                taken = counts[depth, 1]
                if taken == counts[depth, 0]:
                    depth -= 1
                    continue
                counts[depth, 1] = taken + 1
                for word in range(size):
                    states[depth + 1, word] = state[word]
                RULE_APPLY(parameters, table, states[depth + 1], actions[depth, taken])
                depth, is_new = depth + 1, True
        if num_found == 0:
            break
        num_codes, total, chosen, share = 0, 0.0, np.int64(-1), 0.0
        is_uniform = next_double(rng) < _UNIFORM
        for index in range(num_found):
            code = codes[index]
            if not seen[code]:
                seen[code] = True
                size_below = _size(room.below_codes, code)
                num_codes, total = num_codes + 1, total + size_below
                if next_double(rng) * (num_codes if is_uniform else total) < (1.0 if is_uniform else size_below):
                    chosen, share = code, size_below
        weight /= _UNIFORM / num_codes + (1.0 - _UNIFORM) * share / total
        num_known = 0
        for index in range(num_found):
            seen[codes[index]] = False
            if codes[index] == chosen:
                for word in range(size):
                    known[num_known, word] = found[index, word]
                num_known += 1
        num_actions = RULE_LEGAL(parameters, table, known[0], actions[0])
        path[length, CODE], path[length, BEFORE], path[length, WEIGHT_OF_CODE] = chosen, room.totals[0], weight
        room.totals[0] += weight
        room.totals[1] += weight * num_actions
        total, left = 0.0, next_double(rng)
        for index in range(num_actions):
            total += _size(room.below_actions, actions[0, index])
        for index in range(num_actions):
            last = actions[0, index]
            share = _UNIFORM / num_actions + (1.0 - _UNIFORM) * _size(room.below_actions, last) / total
            left -= share
            if left < 0.0:
                break
        weight /= share
        path[length, ACTION], path[length, AFTER], path[length, WEIGHT] = last, room.totals[0], weight
        length += 1
        for index in range(num_known):
            RULE_APPLY(parameters, table, known[index], last)
    for step in range(length):
        _learn(room.below_codes, path[step, CODE], room.totals[0] - path[step, BEFORE], path[step, WEIGHT_OF_CODE])
        _learn(room.below_actions, path[step, ACTION], room.totals[0] - path[step, AFTER], path[step, WEIGHT])
    return True


@kernel
def _size(below, choice):
    """Returns what a choice is drawn in proportion to: sizes below vary too much to take them as they are."""
    return math.sqrt(below[choice, 0] / below[choice, 1])


@kernel
def _learn(below, choice, infosets, weight):
    below[np.int64(choice), 0] += infosets / weight
    below[np.int64(choice), 1] += 1.0
