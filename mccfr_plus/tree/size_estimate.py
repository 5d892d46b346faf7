"""Estimates the size of a game tree by random play, before or while it is walked."""

from __future__ import annotations

import math
import random
import time

import pyspiel


def estimate_num_nodes(game: pyspiel.Game, seconds: float, seed: int = 0) -> float:
    """Returns log10 of an unbiased estimate of the number of histories.

    Plays at random; a play whose nodes had b_1, b_2, ... children counts 1 + b_1 + b_1 b_2 + ... histories, and the
    mean over plays is unbiased. It has a large variance: take it as an order of magnitude.

    Args:
        game: A turn-based game.
        seconds: How long to play. At least one play is finished unless that alone takes ten times as long.
        seed: Seed of the plays.

    Reference: Knuth 1975, "Estimating the efficiency of backtrack programs", theorem 1.
    """
    rng = random.Random(seed)
    begin = time.monotonic()
    logs: list[float] = []
    while not logs or time.monotonic() - begin < seconds:
        state = game.new_initial_state()
        product, logged = 0.0, [0.0]  # log10, because the numbers of chess do not fit a float
        while not state.is_terminal():
            actions = (
                [a for a, p in state.chance_outcomes() if p > 0] if state.is_chance_node() else state.legal_actions()
            )
            if not actions:  # a mistake of the game, which whoever walks it will find
                break
            product += math.log10(len(actions))
            logged.append(product)
            state.apply_action(rng.choice(actions))
            if time.monotonic() - begin > 10 * seconds:
                break
        logs.append(_log10_sum(logged))
    return _log10_sum(logs) - math.log10(len(logs))


def _log10_sum(logs: list[float]) -> float:
    top = max(logs)
    return top + math.log10(sum(10.0 ** (x - top) for x in logs))


def as_text(log10: float) -> str:
    """Returns a power of ten as people write it: ``"12 million"``, ``"10^47"``."""
    for digits, word in ((12, ""), (9, " billion"), (6, " million"), (3, ",000")):
        if log10 >= digits:
            return f"10^{log10:.0f}" if not word else f"{10 ** (log10 - digits):.3g}{word}"
    return f"{10**log10:.0f}"
