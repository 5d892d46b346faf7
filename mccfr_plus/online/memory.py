"""What an online learner keeps of one information set: regrets, and the exact sum of its strategies so far.

The sums are of the sequence form: of own reach times strategy, over all games, whether or not they came by here.
An infoset's strategy changes only in games that visit it, so what it missed is its strategy times what its parent
sequence gained meanwhile: O(1) per visit, no sampling weights, and no bias by how often opponents let it happen.
"""

from __future__ import annotations


class Infoset:
    """An own information set that was visited at least once. All lists have an entry per legal action.

    Attributes:
        actions: OpenSpiel's legal actions.
        parent: The own infoset before this one, or None.
        parent_index: The index of the action taken there.
        uniform_reach: Probability that uniform play takes all own actions on the way here.
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
        # The marks are what the sums of the parent sequence were when these sums were last brought up to date.
        self.sums, self.mark = [0.0] * count, 0.0
        self.explored_sums, self.explored_mark = [0.0] * count, 0.0

    def bring_up_to_date(self, num_games: int) -> None:
        """Adds up the strategy of the games since the last call; the parent must be up to date."""
        parent, index = self.parent, self.parent_index
        above = num_games if parent is None else parent.sums[index]
        missed = above - self.mark
        if missed:
            self.mark = above
            self.sums = [total + missed * p for total, p in zip(self.sums, self.strategy, strict=True)]

    def bring_explored_up_to_date(self, num_games: int, epsilon: float) -> None:
        """Does the same for the sums with exploration, epsilon / num_actions + (1 - epsilon) strategy."""
        parent, index = self.parent, self.parent_index
        above = num_games if parent is None else parent.explored_sums[index]
        missed, floor = above - self.explored_mark, epsilon / len(self.actions)
        self.explored_mark = above
        self.explored_sums = [
            total + missed * (floor + (1.0 - epsilon) * p)
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
