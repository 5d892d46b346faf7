"""How an algorithm sees a game, samples histories and averages strategies: as a tree, or as batches of tensors."""

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
import pyspiel

from mccfr_plus.errors import BudgetError, ConfigError
from mccfr_plus.evaluation.exact import normalize, own_reach
from mccfr_plus.kernels.compile import allocating_kernel
from mccfr_plus.kernels.intrinsics import next_word
from mccfr_plus.neural import paths
from mccfr_plus.neural.config import check_representation
from mccfr_plus.neural.memory import Reservoir, Samples, infoset_columns
from mccfr_plus.neural.network import Learner, cross_entropy, torch_threads
from mccfr_plus.neural.network_policy import RULES, SOFTMAX, NetworkPolicy
from mccfr_plus.neural.paths import Branches, ExternalSampling, Paths, Strategies, Trajectories, uniform
from mccfr_plus.parameters import new_states
from mccfr_plus.policies.table import TreePolicy
from mccfr_plus.trees.batches import Observer, TreeObserver, check_has_tensors
from mccfr_plus.trees.game_tree import compile_game
from mccfr_plus.trees.loading import load_game
from mccfr_plus.trees.order import representative_states

logger = logging.getLogger("mccfr_plus")

_MAX_NODES = 1_000_000  # of a tree that was not requested: larger ones need a long forward pass per iteration

# Makes strategies of a network's outputs and legal actions, each [n, num_actions].
Rule = Callable[[np.ndarray, np.ndarray], np.ndarray]


class Representation:
    """Samples many histories in parallel, and holds the strategies of one solver.

    ``inputs`` are the network inputs that are known from the beginning, per player, ``[num_rows, size]`` float32.
    """

    kind: ClassVar[str]
    tree: Any = None  # the game's `GameTree`, if it is compiled
    name = ""  # of the solver

    def __init__(self, observer: Any, inputs: Any, payoff_ranges: Any, constant_sum: float | None):
        self.observer, self.inputs, self.constant_sum = observer, inputs, constant_sum
        self.game, self.num_players, self.num_actions = observer.game, observer.num_players, observer.num_actions
        self._payoff_ranges, self.nodes = payoff_ranges, np.zeros(1, np.int64)
        self.rng = np.zeros(1, np.uint64)  # draws a seed for each part of the histories

    def attach(self, name: str) -> None:
        if self.name:
            raise ConfigError(
                f"representation= already belongs to a {self.name} solver: create a separate representation for each "
                "solver."
            )
        self.name = name

    def sample(self, histories: Any, count: int, parallel: int) -> Iterator[Any]:
        """Yields `Paths` or `Branches` of so many traversals, ``parallel`` of which run at once."""
        for part in chunks(count, parallel):
            found = histories.sample(self.observer, part, np.random.default_rng(self.new_seed()))
            self.nodes[0] += found.nodes
            yield found

    def new_seed(self) -> int:
        return int(next_word(self.rng))

    def parts(self) -> dict[str, Any]:
        return {"rng": self.rng, "nodes": self.nodes}

    def unit_of(self, player: int, is_scaled: bool = True) -> float:
        """Returns the divisor of a player's targets: half of its payoff range, if they are scaled."""
        half_range = float(self._payoff_ranges[player]) / 2.0
        return half_range if is_scaled and half_range > 0.0 else 1.0

    def start(self, solver: Any, rngs: np.ndarray) -> None:
        """Called once the solver's players have their networks; `rngs` are for their strategy memories."""


def chunks(count: int, size: int) -> Iterator[int]:
    return (min(size, count - start) for start in range(0, count, size))


@allocating_kernel
def _most_own_nodes(nodes, player):
    """Returns the largest number of own nodes that a traversal of external sampling visits."""
    bound = np.zeros(len(nodes), np.int64)
    for node in range(len(nodes) - 1, -1, -1):
        is_own, first = nodes[node]["kind"] == player, nodes[node]["first_child"]
        for child in range(first, first + nodes[node]["num_children"]):
            bound[node] = bound[node] + bound[child] if is_own else max(bound[node], bound[child])
        bound[node] += is_own
    return bound[0]


class TreeRepresentation(Representation):
    """A compiled tree: a forward pass over a player's information sets fills its part of a strategy table.

    Thus, the average strategy is exact and needs no memory of strategies, unlike in the papers.

    Args:
        game: A `pyspiel.Game`, a game string, or a `GameTree`, with perfect recall and information-state tensors.
        **limits: Keyword arguments of `compile_game`; see there, and `DeepCFR`, for errors.

    Attributes:
        masks: The legal actions of each player, ``[num_rows, num_actions]`` bool.
        strategy: The strategy of the next traversals, ``[num_slots]`` float64.
        average: Sums of weight x the player's reach x strategy, ``[num_slots]`` float64.
    """

    kind = "tree"
    observer: TreeObserver

    def __init__(self, game: Any, reader: str = "a neural solver", **limits: Any):
        check_has_tensors(load_game(game), reader)
        tree = compile_game(game, **limits)
        tree.require_perfect_recall(reader)
        observer = TreeObserver(tree, tree.game.num_distinct_actions())
        constant_sum = float(tree.arrays.payoffs[0].sum()) if tree.is_constant_sum else None
        pairs = zip(representative_states(tree), tree.arrays.infosets["player"].tolist(), strict=True)
        tensors = np.array([state.information_state_tensor(player) for state, player in pairs], np.float32)
        self.tree, ends = tree, tree.arrays.infoset_range[1:-1]
        super().__init__(observer, np.split(tensors, ends), tree.payoff_range, constant_sum)
        self.masks, self._slots = np.split(observer.masks, ends), np.split(observer.slots, ends)
        self.strategy = tree.uniform_strategy()
        self.average, self._reach = np.zeros(tree.num_slots), np.ones(tree.num_slots + self.num_players)

    def sample(self, histories: Any, count: int, parallel: int) -> Iterator[Any]:
        if isinstance(histories, ExternalSampling):  # no level has more histories than a traversal has leaves
            infosets = int(_most_own_nodes(self.tree.arrays.nodes, histories.player))
            parallel = min(parallel, max(paths.MAX_HISTORIES // (infosets * self.num_actions + 1), 1))
        return super().sample(histories, count, parallel)

    def responses(self, player: int, learner: Any, rule: Rule) -> np.ndarray:
        """Returns what `use` takes: a player's strategies by a network, until the network's next step."""
        return rule(learner.outputs(), self.masks[player])

    def use(self, player: int, response: np.ndarray) -> None:
        masks = self.masks[player]
        self.strategy[self._slots[player][masks]] = response[masks]

    def strategies(self) -> Strategies:
        return self.observer.tables(self.strategy)

    def policy_of(self, learners: Sequence[Any], kind: str, discount: float | None = None) -> TreePolicy:
        table = np.zeros(self.tree.num_slots)
        for player, (learner, masks) in enumerate(zip(learners, self.masks, strict=True)):
            table[self._slots[player][masks]] = self.responses(player, learner, RULES[kind])[masks]
        return TreePolicy(self.tree, table)

    def add_to_average(self, player: int, weight: float) -> None:
        own_reach(self.tree.arrays, self.strategy, self._reach)
        slots = slice(*self.tree.arrays.slot_range[player : player + 2])
        self.average[slots] += weight * self._reach[slots]

    def turn(self, solver: Any, histories: Any, player: int, iteration: int) -> Iterator[Any]:
        """Yields a player's traversals, and adds its strategy to the average policy."""
        self.add_to_average(player, float(iteration) ** solver.config.gamma)
        return self.sample(histories, solver.config.traversals, solver.config.parallel_traversals)

    def average_policy(self, solver: Any) -> TreePolicy:
        strategy = np.empty(self.tree.num_slots)
        normalize(self.average, self.tree.arrays.infosets, strategy)
        return TreePolicy(self.tree, strategy)

    def prepare(self) -> None:
        self.add_to_average(0, 0.0)

    def parts(self) -> dict[str, Any]:
        return super().parts() | {"strategy": self.strategy, "average": self.average}


class BatchedRepresentation(Representation):
    """Compiled rules or pyspiel's states: information sets are tensors, and strategies are networks.

    The average policy is learned from each player's strategies. They are sampled on histories in which the player
    follows its strategy and all other players explore; with two players, these are the other player's traversals.
    """

    kind = "batched"
    observer: Observer
    _memories: Sequence[Reservoir] = ()  # of each player's strategies
    _latest: tuple[tuple[int, ...], NetworkPolicy] | None = None

    def __init__(self, game: Any, reader: str = "a neural solver"):
        game = load_game(game)
        observer = Observer(game, reader)
        ranges = [game.max_utility() - game.min_utility()] * game.num_players()
        is_zero_sum = game.get_type().utility == pyspiel.GameType.Utility.ZERO_SUM
        no_inputs = [np.zeros((0, observer.size), np.float32)] * game.num_players()
        super().__init__(observer, no_inputs, ranges, 0.0 if is_zero_sum else None)
        self._responses: dict[int, Any] = {}

    def responses(self, player: int, learner: Learner, rule: Rule) -> Any:
        return lambda infosets, masks: rule(learner.outputs(infosets), masks)

    def use(self, player: int, response: Any) -> None:
        self._responses[player] = response

    def strategies(self) -> Strategies:
        return lambda player, infosets, masks: self._responses[player](infosets, masks)

    def policy_of(self, learners: Sequence[Learner], kind: str, discount: float | None = None) -> NetworkPolicy:
        return NetworkPolicy(self.game, [learner.copy() for learner in learners], kind, discount)

    def prepare(self) -> None:
        Trajectories(uniform).sample(self.observer, 1, np.random.default_rng(0))

    def parts(self) -> dict[str, Any]:
        return super().parts() | {f"average/player{player}": each for player, each in enumerate(self._memories)}

    def start(self, solver: Any, rngs: np.ndarray) -> None:
        capacity, power = solver.config.memory_capacity, solver.config.gamma
        columns = [infoset_columns(capacity, inputs, self.num_actions) for inputs in self.inputs]
        self._memories = [Reservoir(each, own, power=power) for each, own in zip(columns, rngs, strict=True)]

    def turn(self, solver: Any, histories: Any, player: int, iteration: int) -> Iterator[Any]:
        count, parallel = solver.config.traversals, solver.config.parallel_traversals
        for found in self.sample(histories, count, parallel):
            if self.num_players == 2:
                self.add_strategies(1 - player, found, iteration)
            yield found
        if self.num_players != 2:  # players who do not explore leave out some information sets in some iterations
            others = [other for other in range(self.num_players) if other != player]
            for paths in self.sample(Trajectories(self.strategies(), others, solver.exploration), count, parallel):
                self.add_strategies(player, paths, iteration)

    def add_strategies(self, player: int, found: Branches | Paths, iteration: int) -> None:
        """Stores a player's strategies on histories in which all others explore."""
        weights = None
        if isinstance(found, Paths):  # else iterations whose others come often to an information set would count more
            weights = found.importance([other for other in range(self.num_players) if other != player])
        self._memories[player].add(Samples.of(found, player, found.strategies, weights), iteration)

    def average_policy(self, solver: Any) -> NetworkPolicy:
        """Returns the average policy; its networks are trained once per iteration."""
        iterations, training = solver.iterations, solver.config.policy_training
        of_run = (iterations, *(int(memory.rng[0]) for memory in self._memories))  # those of other seeds differ
        if self._latest is None or self._latest[0] != of_run:
            learners = []
            with torch_threads(solver.config.threads):
                for player, memory in enumerate(self._memories):
                    name = f"policy_training's loss of the average policy of player {player}"
                    rngs, inputs = new_states(int(memory.rng[0]) ^ iterations, 2), self.inputs[player]
                    learner = Learner(inputs, self.num_actions, training, rngs, name, "average", solver.modules)
                    learner.fit(memory, max(iterations, 1), cross_entropy)
                    if not len(memory):  # uniform, by outputs of 0, instead of what initial parameters give
                        for parameter in learner.module.parameters():
                            parameter.data.zero_()
                    learners.append(learner)
            self._latest = of_run, self.policy_of(learners, SOFTMAX)
        return self._latest[1]


def new_representation(game: Any, wanted: Any, reader: str, **limits: Any) -> Representation:
    """Returns a representation of a game for `reader`, a solver; `limits` are those of `compile_game`."""
    if isinstance(wanted, Representation):
        if str(wanted.game) != (given := str(load_game(game))):
            raise ConfigError(
                f"representation= is for {wanted.game}, but the solver's game is {given}: use the same game for both."
            )
        return wanted
    check_representation(wanted)
    if wanted == "batched":
        return BatchedRepresentation(game, reader)
    try:
        if wanted is None:  # a tree that was given has no limits
            limits = {"max_nodes": _MAX_NODES} | limits
        return TreeRepresentation(game, reader, **limits)
    except BudgetError as error:
        if wanted == "tree":
            raise BudgetError(f"{error} Or give representation='batched', which does not compile a tree.") from None
        logger.info("%s uses representation='batched', since the game is not compiled: %s", reader, error)
    return BatchedRepresentation(game, reader)
