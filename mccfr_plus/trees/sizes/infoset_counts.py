"""Bounds the number of infosets from how many independent runs met each of them."""

import math
from statistics import NormalDist


class InfosetCounts:
    """Counts, per infoset, the runs that met it. Runs must be independent and identically distributed.

    Attributes:
        perfect_recall: False once an infoset was entered after two different own pasts.
    """

    def __init__(self, num_players: int):
        self.perfect_recall = True
        # Per player and hash of an infoset: the number of runs that met it, the last of them, and the own past.
        self._found: list[dict[int, tuple[int, int, int]]] = [{} for _ in range(num_players)]
        self.clear()

    def clear(self) -> None:
        """Starts to count again; imperfect recall stays known."""
        for found in self._found:
            found.clear()
        self._num_runs = self._num_slots = self._text_length = 0

    def begin_run(self) -> None:
        """Starts another run."""
        self._num_runs += 1

    def add(self, player: int, info_state: str, past: int, num_actions: int) -> None:
        """Adds an infoset that the current run met."""
        found, key = self._found[player], hash(info_state)
        entry = found.get(key)
        if entry is None:
            found[key] = (1, self._num_runs, past)
            self._num_slots += num_actions
            self._text_length += len(info_state)
            return
        runs, last, first_past = entry
        if last != self._num_runs:
            found[key] = (runs + 1, self._num_runs, first_past)
        if past != first_past:
            self.perfect_recall = False

    @property
    def mean_actions(self) -> float:
        """Mean number of actions of the infosets seen."""
        return self._num_slots / max(sum(map(len, self._found)), 1)

    @property
    def mean_text_length(self) -> float:
        """Mean length of their texts, in characters."""
        return self._text_length / max(sum(map(len, self._found)), 1)

    def seen(self, player: int) -> int:
        """Returns the number of different infosets of a player that were met."""
        return len(self._found[player])

    def at_least(self, player: int, confidence: float) -> float:
        """Returns the lower limit of an interval for Chao's lower bound on the player's number of infosets.

        With D infosets met, Q1 of them in one of m runs and Q2 in two, the bound is D + (m - 1)/m Q1^2 / (2 Q2). It
        holds whatever the probabilities of the infosets are. The more these differ, the further it is below the truth.

        Reference: Chao 1987, "Estimating the population size for capture-recapture data with unequal catchability",
        equations 10 to 12. Where Q2 = 0, the bias-corrected form (Chao 2005, "Species estimation and applications").
        """
        found = self._found[player]
        once = twice = 0
        for runs, _, _ in found.values():
            once += runs == 1
            twice += runs == 2
        share = (self._num_runs - 1) / max(self._num_runs, 1)
        if twice:
            ratio = once / twice
            unseen = share * once * ratio / 2
            variance = twice * (share / 2 * ratio**2 + share**2 * ratio**3 + share**2 / 4 * ratio**4)
        else:
            unseen = share * once * (once - 1) / 2
            variance = share * once * (once - 1) / 2 + share**2 * once * (2 * once - 1) ** 2 / 4
            variance -= share**2 * once**4 / (4 * max(len(found) + unseen, 1))
        if unseen <= 0:
            return float(len(found))
        spread = NormalDist().inv_cdf((1 + confidence) / 2) * math.sqrt(math.log1p(max(variance, 0.0) / unseen**2))
        return len(found) + unseen * math.exp(-spread)
