"""One information set of an online learner: regrets, and exact sums of strategies.

A strategy changes only in games that visit its infoset: so the pending update of its sum is the strategy times the
increase of the parent sequence's sum, in O(1) per visit.
"""


class Infoset:
    """An own information set that was visited. All lists have an entry per legal action."""

    __slots__ = ("actions", "marks", "parent", "parent_index", "regrets", "strategy", "sums", "uniform_reach")

    def __init__(self, actions: list[int], parent: "Infoset | None", parent_index: int):
        count = len(actions)
        self.actions = actions  # OpenSpiel's legal actions
        self.parent = parent  # the own infoset before this one
        self.parent_index = parent_index  # of the action taken there
        # Probability that uniform play takes all own actions above this infoset.
        self.uniform_reach: float = 1.0 if parent is None else parent.uniform_reach / len(parent.actions)
        self.regrets = [0.0] * count  # cumulative counterfactual regrets, estimated
        self.strategy = [1.0 / count] * count  # the current one, by regret matching
        # Of own reach times strategy over the games counted: without exploration, and with exploration at each node.
        self.sums = [[0.0] * count, [0.0] * count]
        self.marks = [0.0, 0.0]  # the sums of the parent sequence at the last update

    def update_sums(self, num_games: int, epsilon: float | None) -> None:
        """Adds the strategies of the games since the last call; the parent must be up to date.

        With `epsilon`, also to the sums with exploration: epsilon / num_actions + (1 - epsilon) strategy.
        """
        for which, share in enumerate((0.0,) if epsilon is None else (0.0, epsilon)):
            above = num_games if self.parent is None else self.parent.sums[which][self.parent_index]
            gained, floor = above - self.marks[which], share / len(self.actions)
            if gained:
                self.marks[which] = above
                pairs = zip(self.sums[which], self.strategy, strict=True)
                self.sums[which] = [total + gained * (floor + (1.0 - share) * p) for total, p in pairs]

    def observe(self, index: int, value: float) -> float:
        """Adds the estimated counterfactual value of the action taken to the regrets, and matches them.

        Returns the estimate of this infoset's counterfactual value under the strategy.
        """
        passed = self.strategy[index] * value
        regrets = [regret - passed for regret in self.regrets]
        regrets[index] += value
        self.regrets = regrets
        positive = [regret if regret > 0.0 else 0.0 for regret in regrets]
        total = sum(positive)
        uniform = [1.0 / len(regrets)] * len(regrets)
        self.strategy = [regret / total for regret in positive] if total > 0.0 else uniform
        return passed
