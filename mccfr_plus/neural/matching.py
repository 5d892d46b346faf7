"""Strategies from the outputs of networks, which have a row per information set and a column per OpenSpiel action."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

_SMALLEST_TOTAL = 1e-300  # keeps 1 / total finite


def predicted_regrets(outputs: np.ndarray, discount: float) -> np.ndarray:
    """Returns discounted positive cumulative regrets plus those predicted for the next iteration, ``[n, num_actions]``,
    given outputs ``[n, 2 num_actions]``: cumulative and latest regrets.
    """
    cumulative, latest = np.split(outputs, 2, axis=1)
    return discount * np.maximum(cumulative, 0.0) + latest


def masked_softmax(outputs: np.ndarray, masks: np.ndarray) -> np.ndarray:
    """Returns the softmax over legal actions, ``[n, num_actions]``; 0 at the others."""
    shifted = np.where(masks, outputs, -np.inf)
    weights = np.exp(shifted - shifted.max(1, keepdims=True))
    return weights / weights.sum(1, keepdims=True)


def greedy(outputs: np.ndarray, masks: np.ndarray) -> np.ndarray:
    """Returns the distributions on the legal action of the largest output, the first of equal ones."""
    result = np.zeros(masks.shape)
    result[np.arange(len(masks)), np.where(masks, outputs, -np.inf).argmax(1)] = 1.0
    return result


def matched(outputs: np.ndarray, masks: np.ndarray, is_argmax: bool) -> np.ndarray:
    """Returns regret matching over legal actions, ``[n, num_actions]``.

    Where no advantage is positive, the action of the largest one is played (Brown et al. 2019, section 5.2), or a
    uniform one.
    """
    positive = np.where(masks, np.maximum(outputs, 0.0), 0.0)
    total = positive.sum(1, keepdims=True)
    none = np.flatnonzero(~(total > _SMALLEST_TOTAL))
    total[none] = 1.0
    result = positive * (1.0 / total)
    legal = masks[none]
    result[none] = greedy(outputs[none], legal) if is_argmax else legal / legal.sum(1, keepdims=True)
    return result


# How the outputs of a policy's networks become strategies.
SOFTMAX, MATCHING, GREEDY = "softmax", "matching", "greedy"
RULES: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    SOFTMAX: masked_softmax,
    MATCHING: functools.partial(matched, is_argmax=True),
    GREEDY: greedy,
}
