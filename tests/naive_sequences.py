"""FTRL and OMD on sequence-form strategies from their definitions: dictionaries, recursion, nothing incremental."""

from __future__ import annotations

import math

import naive
import numpy as np


class Polytope:
    """A player's sequence-form strategies, with dilated entropy on them."""

    def __init__(self, root: naive.Node, player: int, weights: str):
        parents = {key: above for key, above in naive.parent_sequences(root).items() if key[0] == player}
        self.counts = {key: count for key, count in naive.infosets_of(root).items() if key[0] == player}
        self.children: dict = {}
        for key, above in parents.items():
            self.children.setdefault(above, []).append(key)
        self.weights = dict.fromkeys(parents, 1.0)
        if weights == "kroer":
            self.weights = {key: self._alpha(key) * (1 if parents[key] is None else 2) for key in parents}

    def _alpha(self, key) -> float:
        # Kroer et al. 2020: alpha_j = 1 + max_a sum_k alpha_k beta_k / (beta_k - alpha_k), with beta_k = 2 alpha_k.
        return 1 + max(
            sum(2 * self._alpha(k) for k in self.children.get((key, a), ())) for a in range(self.counts[key])
        )

    def uniform(self) -> dict:
        return {key: [1 / n] * n for key, n in self.counts.items()}

    def best(self, gradient: dict, center: dict) -> dict:
        """Returns the strategy that maximizes <gradient, x> - D(x, center), D the divergence of the dilated entropy.

        From the leaves up: an infoset's best response to its actions' values, smoothed around the center.
        """
        strategy: dict = {}

        def value(key) -> float:
            weight = self.weights[key]
            scores = np.array([gradient.get((key, a), 0.0) + below((key, a)) for a in range(self.counts[key])]) / weight
            powers = np.array(center[key]) * np.exp(scores - scores.max())
            strategy[key] = (powers / powers.sum()).tolist()
            return weight * (scores.max() + math.log(powers.sum()))

        def below(sequence) -> float:
            return sum(value(key) for key in self.children.get(sequence, ()))

        below(None)
        return strategy

    def plan(self, strategy: dict) -> dict:
        """Returns {sequence: reach}."""
        reach = {None: 1.0}

        def visit(sequence) -> None:
            for key in self.children.get(sequence, ()):
                for action, share in enumerate(strategy[key]):
                    reach[(key, action)] = reach[sequence] * share
                    visit((key, action))

        visit(None)
        return reach

    def entropy(self, strategy: dict) -> float:
        """Returns the dilated entropy d(x), 0 at the uniform strategy."""
        reach, total = self.plan(strategy), 0.0
        for above, keys in self.children.items():
            for key in keys:
                row = np.array(strategy[key])
                local = math.log(len(row)) + float(np.sum(row[row > 0] * np.log(row[row > 0])))
                total += self.weights[key] * reach[above] * local
        return total


class SequenceSolver:
    """FTRL or OMD for all players, on gradients that somebody gives: dense, in every iteration from scratch."""

    def __init__(self, root, players, kind, eta, weights="kroer", optimistic=False, decay=0.0):
        self.kind, self.eta, self.decay, self.optimistic = kind, eta, decay, optimistic
        self.polytopes = [Polytope(root, player, weights) for player in range(players)]
        self.sums: list[dict] = [{} for _ in range(players)]
        self.centers = [polytope.uniform() for polytope in self.polytopes]
        self.strategy: dict = {}
        for polytope in self.polytopes:
            self.strategy |= polytope.uniform()

    def update(self, player: int, gradient: dict, t: int) -> None:
        polytope = self.polytopes[player]
        eta, eta_next = self.eta * t**-self.decay, self.eta * (t + 1) ** -self.decay
        if self.kind == "ftrl":
            sums = self.sums[player]
            for sequence, value in gradient.items():
                sums[sequence] = sums.get(sequence, 0.0) + value
            guess = gradient if self.optimistic else {}
            total = {s: eta * (sums[s] + guess.get(s, 0.0)) for s in sums}
            new = polytope.best(total, polytope.uniform())
        else:  # two steps: the center moves by the gradient, what is played also by the guess
            center = polytope.best({s: eta * v for s, v in gradient.items()}, self.centers[player])
            self.centers[player] = new = center
            if self.optimistic:
                new = polytope.best({s: eta_next * v for s, v in gradient.items()}, center)
        self.strategy |= new
