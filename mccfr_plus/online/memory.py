"""One information set of an online learner: regrets, and exact sums of strategies.

The sums are of own reach times strategy, over all games, whether or not they visited the infoset. A strategy changes
only in games that visit its infoset: so the pending update is the strategy times the increase of the parent sequence's
sum. It takes O(1) per visit and no importance weights.
"""

from __future__ import annotations


class Infoset:
    """An own information set that was visited. All lists have an entry per legal action.

    Attributes:
        actions: OpenSpiel's legal actions.
        parent: The own infoset before this one, or None.
        parent_index: The index of the action taken there.
        uniform_reach: Probability that uniform play takes all own actions above this infoset.
        regrets: Cumulative counterfactual regrets, estimated.
        strategy: The current strategy, by regret matching.
        sums: Sum over the games counted of own reach times strategy.
        explored_sums: The same with exploration at each node.
    """

    __slots__ = (
        "actions",
        "explored_mark",
        "explored_sums",
        "mark",
        "parent",
        "parent_index",
        "regrets",
        "strategy",
        "sums",
        "uniform_reach",
    )

    def __init__(self, actions: list[int], parent: Infoset | None, parent_index: int):
        count = len(actions)
        self.actions = actions
        self.parent = parent
        self.parent_index = parent_index
        self.uniform_reach: float = 1.0 if parent is None else parent.uniform_reach / len(parent.actions)
        self.regrets = [0.0] * count
        self.strategy = [1.0 / count] * count
        # Marks: the sums of the parent sequence at the last update of these sums.
        self.sums, self.mark = [0.0] * count, 0.0
        self.explored_sums, self.explored_mark = [0.0] * count, 0.0

    def update_sums(self, num_games: int) -> None:
        """Adds the strategies of the games since the last call; the parent must be up to date."""
        parent, index = self.parent, self.parent_index
        above = num_games if parent is None else parent.sums[index]
        gained = above - self.mark
        if gained:
            self.mark = above
            self.sums = [total + gained * p for total, p in zip(self.sums, self.strategy, strict=True)]

    def update_explored_sums(self, num_games: int, epsilon: float) -> None:
        """Does the same for the sums with exploration, epsilon / num_actions + (1 - epsilon) strategy."""
        parent, index = self.parent, self.parent_index
        above = num_games if parent is None else parent.explored_sums[index]
        gained, floor = above - self.explored_mark, epsilon / len(self.actions)
        self.explored_mark = above
        self.explored_sums = [
            total + gained * (floor + (1.0 - epsilon) * p)
            for total, p in zip(self.explored_sums, self.strategy, strict=True)
        ]

    def observe(self, index: int, value: float) -> float:
        """Adds an estimate to the regrets and matches them.

        Args:
            index: The action that was taken.
            value: The estimate of its counterfactual value; the other actions' estimates are 0.

        Returns:
            The estimate of this infoset's counterfactual value under the current strategy.
        """
        passed = self.strategy[index] * value
        regrets = [regret - passed for regret in self.regrets]
        regrets[index] += value
        self.regrets = regrets
        positive = [regret if regret > 0.0 else 0.0 for regret in regrets]
        total = sum(positive)
        if total > 0.0:
            self.strategy = [regret / total for regret in positive]
        else:
            self.strategy = [1.0 / len(regrets)] * len(regrets)
        return passed
