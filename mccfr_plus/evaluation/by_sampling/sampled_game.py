"""A game in which all that a player does not decide is drawn beforehand, some thousand times over.

In each sample, chance's choice at each history and the opponents' action at each of their information states is a
function of the sample's random word, by a hash, so that nothing is stored. What is left is a decision problem of one
player who knows his information states but not which sample he is in. Samples that share a history are traversed together.
"""

from __future__ import annotations

import time
from hashlib import blake2b

import numpy as np
import pyspiel

from mccfr_plus.errors import BudgetError
from mccfr_plus.evaluation.by_sampling.behavior import Behavior, Row, chance_row

Group = list[tuple[pyspiel.State, np.ndarray]]  # histories with the numbers of the samples that come there

_MIX_A = np.uint64(0xBF58476D1CE4E5B9)
_MIX_B = np.uint64(0x94D049BB133111EB)
_TO_UNIT = 1.0 / (1 << 53)


class Budget:
    """Histories and seconds that a traversal may take.

    Args:
        max_nodes: Histories, over all traversals that share this budget.
        seconds: Of wall-clock time from now on, or None for no limit.
    """

    def __init__(self, max_nodes: int, seconds: float | None):
        self.max_nodes = max_nodes
        self.nodes = 0
        self.seconds = seconds
        self._end = None if seconds is None else time.perf_counter() + seconds

    def spend(self) -> bool:
        """Takes one history into account; returns whether the budget still holds."""
        self.nodes += 1
        if self.nodes > self.max_nodes:
            return False
        return self._end is None or self.nodes % 256 != 0 or time.perf_counter() < self._end


class SampledGame:
    """One player's decisions in a sampled game, and the best ones.

    Args:
        game: A turn-based game of perfect recall.
        behavior: What the opponents do, and the player beyond `depth`.
        player: Who decides.
        words: ``[num_samples]`` uint64, a random word per sample.
        depth: How many own decisions of a play are free; None for all.
        budget: Shared with other traversals.
    """

    def __init__(
        self,
        game: pyspiel.Game,
        behavior: Behavior,
        player: int,
        words: np.ndarray,
        depth: int | None,
        budget: Budget,
    ):
        self._game = game
        self._behavior = behavior
        self._player = player
        self._words = words
        self._depth = depth
        self._budget = budget
        self._deepest = 0

    def solve(self, totals: dict[str, dict[int, float]]) -> float:
        """Returns the largest average payoff in the sampled game.

        Args:
            totals: By own information state and action, sum over samples of what the player gets if best actions
                follow. Added to in place.

        Raises:
            BudgetError: If the traversal is larger than the budget.
        """
        everything = np.arange(len(self._words))
        payoff, groups = self._spread([(self._game.new_initial_state(), everything)], 0)
        payoff += sum(self._best(info_state, group, 1, totals) for info_state, group in groups.items())
        return payoff / len(self._words)

    def _best(self, info_state: str, group: Group, depth: int, totals: dict[str, dict[int, float]]) -> float:
        """Returns the sum over samples of payoffs from an own information state on, and adds to `totals`."""
        self._deepest = max(self._deepest, depth)
        sums = totals.setdefault(info_state, {})
        best = -np.inf
        for action in group[0][0].legal_actions():
            value, groups = self._spread([(state.child(action), samples) for state, samples in group], depth)
            value += sum(self._best(key, below, depth + 1, totals) for key, below in groups.items())
            sums[action] = sums.get(action, 0.0) + value
            best = max(best, value)
        return best

    def _spread(self, pending: Group, depth: int) -> tuple[float, dict[str, Group]]:
        """Follows all samples to the end or the next own decision; returns summed payoffs and these decisions."""
        free = self._depth is None or depth < self._depth
        payoff = 0.0
        groups: dict[str, Group] = {}
        while pending:
            state, samples = pending.pop()
            if not self._budget.spend():
                self._refuse()
            if state.is_terminal():
                payoff += state.player_return(self._player) * len(samples)
            elif state.is_chance_node():
                pending.extend(self._split(state, samples, chance_row(state), f"chance {state.history()}"))
            elif free and state.current_player() == self._player:
                groups.setdefault(state.information_state_string(), []).append((state, samples))
            else:
                row = self._behavior.row(state)
                pending.extend(self._split(state, samples, row, f"{state.current_player()} {row.info_state}"))
        return payoff, groups

    def _split(self, state: pyspiel.State, samples: np.ndarray, row: Row, place: str) -> Group:
        """Returns the histories that a choice leads to, each with the samples that choose it."""
        if len(row.actions) == 1:
            return [(state.child(row.actions[0]), samples)]
        chosen = np.searchsorted(row.cumulative, uniforms(self._words[samples], place), side="right")
        if len(samples) == 1:
            return [(state.child(row.actions[chosen[0]]), samples)]
        return [(state.child(row.actions[c]), samples[chosen == c]) for c in np.unique(chosen).tolist()]

    def _refuse(self) -> None:
        fewer = max(1, len(self._words) // 4)
        shallower = max(1, self._deepest - 1)
        limit = f"max_nodes={self._budget.max_nodes}"
        if self._budget.nodes <= self._budget.max_nodes:
            limit = f"seconds={self._budget.seconds}"
        raise BudgetError(
            f"the best response in {len(self._words)} samples of {self._game.get_type().short_name} takes more than "
            f"{limit}: own decisions were {self._deepest} deep so far. Give num_samples={fewer}, or depth={shallower}, "
            "which leaves only the lower bound valid, or a larger budget."
        )


def uniforms(words: np.ndarray, place: str) -> np.ndarray:
    """Returns a number in [0, 1) for each sample's word at a place, the same whenever it is asked for.

    Reference: Steele, Lea, Flood 2014, "Fast splittable pseudorandom number generators", figure 17: its mixing
    function, applied twice.
    """
    key = np.uint64(int.from_bytes(blake2b(place.encode(), digest_size=8).digest(), "little"))
    return (_mixed(_mixed(words) ^ key) >> np.uint64(11)) * _TO_UNIT


def _mixed(z: np.ndarray) -> np.ndarray:
    z = (z ^ (z >> np.uint64(30))) * _MIX_A
    z = (z ^ (z >> np.uint64(27))) * _MIX_B
    return z ^ (z >> np.uint64(31))
