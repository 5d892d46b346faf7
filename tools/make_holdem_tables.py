"""Computes the tables of `mccfr_plus.games.nl_holdem_buckets`: the deals of buckets, and their wins minus losses.

Enumerates all deals of two hands of two cards and a flop of three, with flops up to a renaming of suits. The 22,100
flops form 1,755 classes, and the deals are 1,326 * 1,225 * 17,296 = 28,094,757,600. All tables hold whole numbers, so
they are exact and independent of the order of sums.

1. The two own cards and the flop decide a hand. Its strength HS is the share of the opponent's 1,081 possible hands
   that it beats, where a tie counts half.
2. Round 1 ranks hands by the mean of HS**2 over the 19,600 flops. Round 2 ranks pairs of hand and flop by HS**2, among
   those whose hand has the same bucket in round 1.
3. Buckets are percentiles: a value has the bucket ``floor(5 * (share below + share of the value itself / 2))``. Equal
   values therefore share a bucket, and buckets are not exactly a fifth: a single value of HS may weigh up to 7%,
   because hands that miss the flop differ little. The file contains the weight of each bucket.
4. All deals are counted by (dealer's bucket, big blind's bucket) of round 1 and of round 2, with wins minus losses.

Requires ``pip install absl-py numba numpy phevaluator tqdm``. Takes half a minute.

Reference: Zinkevich, Johanson, Bowling, Piccione 2007, "Regret minimization in games with incomplete information",
section 5 (hand strength squared, percentiles); Gibson et al. 2012, section 5 (five buckets per round).
"""

from __future__ import annotations

import datetime
import importlib.metadata
import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

import numba
import numpy as np
from absl import app, flags
from tqdm import tqdm

NUM_BUCKETS = 5
RANKS = "23456789TJQKA"  # a card is 4 * rank + suit
HANDS = np.array(list(itertools.combinations(range(52), 2)))
MASKS = (np.int64(1) << HANDS[:, 0]) | (np.int64(1) << HANDS[:, 1])

# Strengths of the hands with a flop, the larger the better: `(flop, hands) -> [len(hands)]`.
Evaluator = Callable[[tuple[int, ...], np.ndarray], np.ndarray]


def phevaluator_strengths(flop: tuple[int, ...], hands: np.ndarray) -> np.ndarray:
    """Returns the strengths of five-card hands from the library phevaluator, whose ranks are 1 (best) to 7462."""
    from phevaluator import evaluate_cards  # here, so that tests with another evaluator need no phevaluator

    return np.array([-evaluate_cards(first, second, *flop) for first, second in hands.tolist()])


def flops_up_to_suits() -> dict[tuple[int, ...], int]:
    """Returns one flop of each class under renaming of suits, and the number of flops in the class."""
    suits = list(itertools.permutations(range(4)))

    def first_of_class(flop: tuple[int, ...]) -> tuple[int, ...]:
        return min(tuple(sorted(card - card % 4 + new[card % 4] for card in flop)) for new in suits)

    return dict(Counter(map(first_of_class, itertools.combinations(range(52), 3))))


def starting_hands() -> np.ndarray:
    """Returns which of the 169 hands up to a renaming of suits each one is: 13 * row + column of the usual square.

    Rows and columns are ranks, the lowest first; suited hands have the higher rank as their row, the others as their
    column.
    """
    low, high = HANDS[:, 0] // 4, HANDS[:, 1] // 4  # cards are ascending
    suited = HANDS[:, 0] % 4 == HANDS[:, 1] % 4
    return np.where(suited, 13 * high + low, 13 * low + high)


def percentile_buckets(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Returns the bucket of each item, see the module's step 3. All integers, so that borders are exact."""
    _, which = np.unique(values, return_inverse=True)
    mass = np.zeros(which.max() + 1, np.int64)
    np.add.at(mass, which, weights)
    twice_middle = 2 * np.cumsum(mass) - mass
    return (NUM_BUCKETS * twice_middle // (2 * mass.sum()))[which]


@numba.njit
def _count_wins(strengths, masks, points):
    """Writes for each hand 2 per hand of the opponent that it beats and 1 per tie."""
    for one in range(len(masks)):
        for other in range(one + 1, len(masks)):
            if masks[one] & masks[other] == 0:
                points[one] += 1 + np.sign(strengths[one] - strengths[other])
                points[other] += 1 + np.sign(strengths[other] - strengths[one])


@numba.njit
def _count_deals(strengths, masks, buckets, weight, deals, margins):
    """Adds the deals of one class of flops."""
    for one in range(len(masks)):
        for other in range(one + 1, len(masks)):
            if masks[one] & masks[other] == 0:
                margin = weight * np.sign(strengths[one] - strengths[other])
                deals[buckets[one], buckets[other]] += weight
                deals[buckets[other], buckets[one]] += weight
                margins[buckets[one], buckets[other]] += margin
                margins[buckets[other], buckets[one]] -= margin


def make_tables(evaluator: Evaluator, progress: Callable[[Iterable, str], Iterable] = lambda items, _: items) -> dict:
    """Returns the tables, as they are written to the file.

    Args:
        evaluator: Says how strong hands are.
        progress: Wraps what is gone through, given with its name.
    """
    flops = flops_up_to_suits()
    held, strengths, points = [], [], []  # per class of flops: possible hands, their strengths, HS * 2 * 1,081
    for flop in progress(flops, "hand strengths"):
        hands = np.flatnonzero(MASKS & sum(1 << card for card in flop) == 0)
        strength = evaluator(flop, HANDS[hands]).astype(np.int64)
        point = np.zeros(len(hands), np.int64)
        _count_wins(strength, MASKS[hands], point)
        held.append(hands)
        strengths.append(strength)
        points.append(point)

    weights = np.repeat(list(flops.values()), [len(hands) for hands in held])
    hand, point = np.concatenate(held), np.concatenate(points)
    start = starting_hands()
    # A sum over a class of hands is the same for a flop and for its class, a sum for one hand is not.
    squares, sizes = np.zeros(169, np.int64), np.bincount(start, minlength=169)
    np.add.at(squares, start[hand], weights * point**2)
    if np.any(squares % sizes):
        raise ValueError("evaluator: hands that differ in suits only are not equally strong.")
    square = (squares // sizes)[start]
    first = percentile_buckets(square, np.ones(len(HANDS), np.int64))
    second = np.zeros(len(hand), np.int64)
    for bucket in range(NUM_BUCKETS):
        chosen = np.flatnonzero(first[hand] == bucket)
        second[chosen] = percentile_buckets(point[chosen], weights[chosen])

    both = NUM_BUCKETS * first[hand] + second
    deals = np.zeros((NUM_BUCKETS**2, NUM_BUCKETS**2), np.int64)
    margins = np.zeros_like(deals)
    ends = np.cumsum([len(hands) for hands in held])
    for number, weight in progress(list(enumerate(flops.values())), "deals"):
        own = both[ends[number] - len(held[number]) : ends[number]]
        _count_deals(strengths[number], MASKS[held[number]], own, weight, deals, margins)

    mass = np.zeros(NUM_BUCKETS**2, np.int64)
    np.add.at(mass, both, weights)
    least = [[int(point[both == NUM_BUCKETS * b + c].min()) for c in range(NUM_BUCKETS)] for b in range(NUM_BUCKETS)]
    per_start = np.zeros(169, np.int64)
    per_start[start] = first
    return {
        "starting_hand_buckets": ["".join(str(each + 1) for each in row) for row in per_start.reshape(13, 13)],
        "round_1_least_squares": [int(square[first == bucket].min()) for bucket in range(NUM_BUCKETS)],
        "round_1_hands": np.bincount(first).tolist(),
        "round_2_least_points": least,
        "round_2_hands_and_flops": mass.reshape(NUM_BUCKETS, NUM_BUCKETS).tolist(),
        "deals": _by_rounds(deals).tolist(),
        "margins": _by_rounds(margins).tolist(),
    }


def _by_rounds(table: np.ndarray) -> np.ndarray:
    """Turns [player 0's buckets, player 1's buckets] into [buckets of round 1, buckets of round 2]."""
    return table.reshape([NUM_BUCKETS] * 4).transpose(0, 2, 1, 3).reshape(table.shape)


ABOUT = {
    "what": "Bucketed two-round hold'em, made by tools/make_holdem_tables.py, whose docstring says how.",
    "method": "All 28,094,757,600 deals of two hands and a flop counted; whole numbers, nothing sampled or rounded.",
    "starting_hand_buckets": "Row, column: ranks 2 .. A; suited hands have the higher rank as row. 5 is the best.",
    "round_1_least_squares": "Fewest in each bucket: sum over 19,600 flops of points**2, points = 2 * beaten + tied.",
    "round_1_hands": "How many of the 1,326 hands each bucket has.",
    "round_2_least_points": "Row: bucket of round 1. Fewest points (0 .. 2,162) in each bucket of round 2.",
    "round_2_hands_and_flops": "How many of the 1,326 * 19,600 pairs of a hand and a flop each pair of buckets has.",
    "deals": "Row: 5 * dealer's + big blind's bucket in round 1, from 0; column: the same in round 2. Number of deals.",
    "margins": "The same: deals that the dealer wins minus deals that the dealer loses.",
}


def to_json(about: dict, tables: dict) -> str:
    """Returns the file's text: one line per row of a table."""
    lines = [f' "about": {json.dumps(about, indent=2, ensure_ascii=False)}'.replace("\n", "\n ")]
    for name, table in tables.items():
        rows = [json.dumps(row, separators=(",", ":")) for row in table]
        lines.append(f' "{name}": [\n  ' + ",\n  ".join(rows) + "\n ]")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _main(_) -> None:
    tables = make_tables(phevaluator_strengths, lambda items, name: tqdm(items, name))
    versions = {name: importlib.metadata.version(name) for name in ("phevaluator", "numpy", "numba")}
    about = {**ABOUT, "libraries": versions, "date": datetime.date.today().isoformat()}
    Path(flags.FLAGS.out).write_text(to_json(about, tables), encoding="utf-8")
    print("hands per bucket of round 1:", tables["round_1_hands"])
    print("shares of round 2's buckets given round 1's:")
    for row in np.array(tables["round_2_hands_and_flops"], float):
        print("  ", np.round(row / row.sum(), 4))
    print(f"{np.sum(tables['deals']):,} deals; written to {flags.FLAGS.out}")


if __name__ == "__main__":
    _games = Path(__file__).resolve().parent.parent / "mccfr_plus" / "games"
    flags.DEFINE_string("out", str(_games / "nl_holdem_buckets.json"), "File to write.")
    app.run(_main)
