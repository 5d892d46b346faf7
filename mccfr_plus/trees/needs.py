"""The words in which components and trees say what they need and provide; `solver.config` has the rule and messages."""

# Of trees and games.
HISTORIES = "all histories, stored from the start"
NODES = "histories that are stored once they were visited"
INFOSETS = "all information sets from the start"
PUBLIC = "a public tree, in which only hands are private; of estimators, a kernel for it"
RULES = "compiled rules, which find all information sets when asked"
PERFECT_RECALL = "perfect recall"
TWO_PLAYERS = "two players"
ZERO_SUM = "two players whose payoffs sum to zero"

# Of estimators.
DRAWS = "random draws: two gradients under the same strategies can differ"
GRADIENTS = "gradients without bias, and not up to a factor per information set"
EXACT_GRADIENTS = "gradients at all information sets, in every iteration"
OPPONENTS_DRAWN = "an action drawn from the strategy at each opponent's information set visited"
OWN_BY_CHANCE = "visits of own information sets that depend on chance alone"
ONE_PLAYER = "traversals that serve one player"
NO_VALUES = "room for values of histories that traversals learn"
BASELINES = "a kernel that uses baselines"
FIXED_VALUES = "traversals that write to nothing that threads share"

# Of minimizers, averages and options.
REGRETS = "cumulative regrets, negative ones too"
DIFFERENCES = "updates by differences between actions' values alone, without which a uniform strategy stays"
AVERAGE = "sums of the average strategy"
ALTERNATION = "players who are updated one after the other"
