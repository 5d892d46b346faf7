"""Best responses to uniform play in 2-NL Hold'em(k), for stacks whose tree is too large.

A uniform opponent's actions tell nothing about its cards. So a best response needs its own buckets and the chips alone,
not the betting that led to them.
"""

import functools

import numpy as np

from mccfr_plus.trees.loading import load_game

_BIG_BLIND = 2


def uniform_holdem_exploitability(stack: int) -> float:
    """Returns (b1 + b2) / 2 of uniform play in ``nl_holdem_buckets(stack=STACK)``, in chips.

    Raises:
        GameError: If the game has no such stack.
    """
    table = load_game(f"nl_holdem_buckets(stack={stack})").rules_game.table
    return sum(_best_response(table, stack, player) for player in (0, 1)) / 2


def _best_response(table: np.ndarray, stack: int, player: int) -> float:
    """Returns a player's payoff. Arrays have an entry per own bucket of round 1, and of round 2 where it is dealt."""
    first, second, margins = table[:25], table[25:650].reshape(25, 25), table[650:].reshape(25, 25)
    deals = first[:, None] * second
    axes = "acbd->ab" if player == 0 else "cadb->ab"  # both rounds' pairs are (player 0's bucket, player 1's)

    def own(of_pairs: np.ndarray) -> np.ndarray:
        """Sums over the opponent's buckets."""
        return np.einsum(axes, of_pairs.reshape(5, 5, 5, 5))

    likely = own(deals)
    margin = (1 - 2 * player) * own(deals * margins) / likely

    def before_flop(values: np.ndarray) -> np.ndarray:
        return (likely * values).sum(axis=1) / likely.sum(axis=1)

    @functools.cache
    def value(paid: int, level: int, least: int, opened: bool, flop: bool, mover: int) -> np.ndarray:
        """Returns the payoff where `mover` has paid so much, the other `level`, and a raise is of `least` or more."""
        shape = margin.shape if flop else margin.shape[:1]
        choices = []
        if paid < level:
            choices.append(np.full(shape, float(-paid if mover == player else paid)))
        if not opened:
            choices.append(value(level, level, least, True, flop, 1 - mover))
        elif flop:
            choices.append(level * margin)
        elif level == stack:
            choices.append(before_flop(level * margin))
        else:
            choices.append(before_flop(value(level, level, _BIG_BLIND, False, True, 1)))
        if level < stack:
            for amount in range(min(level + least, stack), stack + 1):
                choices.append(value(level, amount, amount - level, True, flop, 1 - mover))
        return np.maximum.reduce(choices) if mover == player else np.mean(choices, axis=0)

    return float(likely.sum(axis=1) @ value(1, _BIG_BLIND, _BIG_BLIND, False, False, 0))
