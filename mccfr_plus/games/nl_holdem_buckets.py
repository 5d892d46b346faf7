"""No-limit hold'em of two betting rounds with five buckets of hands per round (rules: docs/background/games.md).

Reference: Gibson, Burch, Lanctot and Szafron 2012, "Efficient Monte Carlo counterfactual regret minimization in games
with many player actions", section 5, which does not publish its buckets' probabilities; Zinkevich, Johanson, Bowling
and Piccione 2007 for the buckets.
"""

import importlib.resources
import json
from collections.abc import Sequence

import numpy as np

from mccfr_plus.games.game import RulesGame
from mccfr_plus.games.rules import CHANCE, MOVER, TERMINAL, Field, Layout, Parameters, Rules
from mccfr_plus.kernels.compile import inline_kernel, kernel

_FOLD, _CALL = 0, 1  # any other action is the number of chips to raise to
_SMALL_BLIND, _BIG_BLIND = 1, 2
_LEAST_RAISED_TO = 3

_NUM_BUCKETS = 5
_NUM_PAIRS = _NUM_BUCKETS**2
# The table: probabilities of pairs in round 1, then in round 2 given round 1, then margins.
_FIRST, _SECOND, _MARGIN = 0, _NUM_PAIRS, _NUM_PAIRS + _NUM_PAIRS**2

# Words of a state: of both rounds, 5 * player 0's bucket + player 1's, plus 1; chips of both players; how much the next
# raise must be at least; whether there was an action in the current round; bit r - 3: there was a raise to r; of both
# rounds, whether the first action was to call; chips of each player at the end of round 1, 0: not over yet.
_PAIRS, _PAID, _LAST_RAISE, _OPENED, _RAISES, _PASSED, _FLOP, _SIZE = 1, 3, 5, 6, 7, 8, 10, 11


@inline_kernel
def _bucket(state, which, player):
    """Returns a player's bucket in a round, 0 if it was not dealt."""
    pair = state[_PAIRS + which] - 1
    return 0 if pair < 0 else 1 + (pair % _NUM_BUCKETS if player else pair // _NUM_BUCKETS)


@inline_kernel
def _end(state):
    """Returns 0 before the end, 1 after a fold, 2 after a showdown."""
    return 1 + int(state[_PAID] == state[_PAID + 1]) if state[MOVER] == TERMINAL else 0


@kernel
def _start(parameters, table, state):
    state[MOVER] = CHANCE
    state[_PAID], state[_PAID + 1] = _SMALL_BLIND, _BIG_BLIND
    state[_LAST_RAISE] = _BIG_BLIND


@kernel
def _legal(parameters, table, state, actions):
    stack, mover = parameters[0], state[MOVER]
    paid, level = state[_PAID + mover], state[_PAID + 1 - mover]
    actions[0], actions[1] = _FOLD, _CALL
    count = 2
    if paid >= level:
        actions[0], count = _CALL, 1
    if level < stack:
        for amount in range(min(level + state[_LAST_RAISE], stack), stack + 1):
            actions[count] = amount
            count += 1
    return count


@kernel
def _outcomes(parameters, table, state, actions, probabilities):
    begin = _FIRST if state[_FLOP] == 0 else _SECOND + (state[_PAIRS] - 1) * _NUM_PAIRS
    for pair in range(_NUM_PAIRS):
        actions[pair] = pair
        probabilities[pair] = table[begin + pair]
    return _NUM_PAIRS


@kernel
def _apply(parameters, table, state, action):
    mover, flop = state[MOVER], state[_FLOP]
    in_round_2 = int(flop > 0)
    if mover == CHANCE:
        state[_PAIRS + in_round_2] = action + 1
        state[MOVER] = TERMINAL if flop == parameters[0] else in_round_2  # the end if both are all-in
        return
    level = state[_PAID + 1 - mover]
    opens = state[_OPENED] == 0
    state[_OPENED] = 1
    if action == _FOLD:
        state[MOVER] = TERMINAL
    elif action > _CALL:
        state[_PAID + mover] = action
        state[_LAST_RAISE] = action - level
        state[_RAISES] |= 1 << (action - _LEAST_RAISED_TO)
        state[MOVER] = 1 - mover
    else:
        state[_PAID + mover] = level
        if opens:
            state[_PASSED + in_round_2] = 1
            state[MOVER] = 1 - mover
        elif in_round_2:
            state[MOVER] = TERMINAL
        else:
            state[_FLOP], state[MOVER] = level, CHANCE
            state[_OPENED], state[_LAST_RAISE] = 0, _BIG_BLIND


@kernel
def _returns(parameters, table, state, payoffs):
    first, second = state[_PAID], state[_PAID + 1]
    if first != second:  # a fold
        gain = float(second) if second < first else -float(first)
    else:
        gain = first * table[_MARGIN + (state[_PAIRS] - 1) * _NUM_PAIRS + state[_PAIRS + 1] - 1]
    payoffs[0], payoffs[1] = gain, -gain


@kernel
def _look(parameters, table, state, player, view):
    for which in range(2):
        view[which] = _bucket(state, which, player)
        view[2 + which] = state[_PASSED + which]
    view[4] = max(state[_FLOP] - 1, 0)
    view[5] = _end(state)
    for index in range(parameters[0] - _LEAST_RAISED_TO + 1):
        view[6 + index] = state[_RAISES] >> index & 1


@kernel
def _observe(parameters, table, state, player, action):
    # Who is in front of a raise is so since the last action; at first, player 0 is in front of a blind.
    paid, level = state[_PAID + player], state[_PAID + 1 - player]
    return _bucket(state, int(action >= 0), player) * (parameters[0] + 1) + (level if paid < level else 0)


def _read_table() -> np.ndarray:
    file = importlib.resources.files("mccfr_plus.games") / "nl_holdem_buckets.json"
    tables = json.loads(file.read_text(encoding="utf-8"))
    deals, margins = np.array(tables["deals"], float), np.array(tables["margins"], float)  # integers below 2**53
    pairs = deals.sum(axis=1)
    return np.concatenate([pairs / pairs.sum(), (deals / pairs[:, None]).ravel(), (margins / deals).ravel()])


def _amounts(player: int, values: Sequence[int]) -> str:
    return " ".join(str(amount) for amount, raised in enumerate(values, _LEAST_RAISED_TO) if raised)


class NoLimitHoldemBucketsGame(RulesGame):
    """No-limit hold'em of two betting rounds with bucketed cards; parameter: `stack`."""

    short_name = "nl_holdem_buckets"
    long_name = "No-Limit Hold'em of Two Rounds with Buckets"
    defaults = {"stack": 8}  # noqa: RUF012
    rules = Rules(_start, _legal, _apply, _returns, _look, _outcomes, _observe)

    @classmethod
    def layout(cls, parameters: Parameters) -> Layout:
        # With 50, an information state has 64 bits; trees of more than 2**31 nodes begin at 33.
        why = "with 2 player 1 has no decision; 50 make 1.6 * 10**11 histories"
        stack = parameters.whole_number("stack", _LEAST_RAISED_TO, 50, why)
        buckets = ("", *map(str, range(1, _NUM_BUCKETS + 1)))
        return Layout(
            state_size=_SIZE,
            # Raises increase and players alternate: the set of raises, which of them were in round 1 and whether each
            # round began with a call are the whole betting.
            fields=(
                Field("buckets", _NUM_BUCKETS + 1, 2, private=True, symbols=buckets),
                Field("passed", 2, 2, symbols="-c"),
                Field("flop", stack, symbols=("-", *map(str, range(_BIG_BLIND, stack + 1)))),
                Field("end", 3, symbols=("-", "folded", "shown")),
                Field("raises", 2, stack - _LEAST_RAISED_TO + 1, write=_amounts),
            ),
            num_distinct_actions=stack + 1,
            max_chance_outcomes=_NUM_PAIRS,
            # As many raises as possible, each of 2 chips, besides a call and a call in each of the two rounds.
            max_game_length=4 + (stack - 1) // 2,
            max_chance_nodes=2,
            min_utility=-float(stack),
            max_utility=float(stack),
            parameters=[stack],
            max_observations=(_NUM_BUCKETS + 1) * (stack + 1),
            max_first_observations=(_NUM_BUCKETS + 1) * (stack + 1),
            table=_read_table,
        )

    def action_text(self, player: int, action: int) -> str:
        """Returns "fold", "call" or a raise, such as "raise to 6"."""
        return ("fold", "call")[action] if action <= _CALL else f"raise to {action}"

    def outcome_text(self, outcome: int) -> str:
        """Returns both players' buckets."""
        return f"buckets {outcome // _NUM_BUCKETS + 1} {outcome % _NUM_BUCKETS + 1}"
