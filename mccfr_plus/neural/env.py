"""Environments of neural solvers, where histories are sampled and strategies averaged: of trees, and of any game."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyspiel

from mccfr_plus.errors import BudgetError
from mccfr_plus.estimators.visits import max_visits
from mccfr_plus.evaluation.kernels import normalize, own_reach
from mccfr_plus.kernels.compile import kernel
from mccfr_plus.kernels.random_numbers import new_states, next_word
from mccfr_plus.neural.backend import torch_threads
from mccfr_plus.neural.memory import Reservoir, Samples, infoset_columns
from mccfr_plus.neural.network import Learner, cross_entropy
from mccfr_plus.neural.network_policy import RULES, SOFTMAX, NetworkPolicy
from mccfr_plus.neural.sampling import paths
from mccfr_plus.neural.sampling.observer import Observer, Strategies, check_has_tensors, uniform
from mccfr_plus.neural.sampling.paths import Branches, ExternalSampling, Paths, Trajectories
from mccfr_plus.neural.sampling.positions import TreeObserver
from mccfr_plus.policies.tree_policy import TreePolicy
from mccfr_plus.trees.arrays import CHANCE, TERMINAL
from mccfr_plus.trees.game import load_game
from mccfr_plus.trees.game_tree import GameTree, compile_game
from mccfr_plus.trees.order import representative_states

logger = logging.getLogger("mccfr_plus")

_MAX_BYTES = 2 << 30  # of the tensors of histories

# Makes strategies of a network's outputs and legal actions, each [n, num_actions].
Rule = Callable[[np.ndarray, np.ndarray], np.ndarray]


class Env:
    """Samples many histories in parallel. `TreeEnv` describes the other methods that environments have.

    Args:
        name: The solver, for error messages.
        observer: Of the game.
        inputs: Of each player's networks, those that are known from the beginning, ``[num_rows, size]`` float32.
        payoff_ranges: Of each player, the largest payoff less the smallest one.
        constant_sum: Of the payoffs of all players; None: there is none.

    Attributes:
        rng: ``[1]`` uint64, the state of the generator of seeds, one of which each part of the histories has.
        modules: The solver's `Modules`, what its networks are made of.
    """

    tree: Any = None  # the game's `GameTree`, if it is compiled
    rng: np.ndarray
    modules: Any

    def __init__(self, name: str, observer: Any, inputs: Any, payoff_ranges: Any, constant_sum: float | None):
        self.name, self.observer, self.inputs, self.constant_sum = name, observer, inputs, constant_sum
        self.game, self.num_players, self.num_actions = observer.game, observer.num_players, observer.num_actions
        self._payoff_ranges, self.nodes = payoff_ranges, np.zeros(1, np.int64)

    def sample(self, histories: Any, count: int, parallel: int) -> Iterator[Any]:
        """Yields so many traversals, `Paths` or `Branches`, so many of them in parallel."""
        for part in self.parts(histories, count, parallel):
            found = histories.sample(self.observer, part, np.random.default_rng(self.new_seed()))
            self.nodes[0] += found.nodes
            yield found

    def parts(self, histories: Any, count: int, parallel: int) -> Iterator[int]:
        """Yields parts of a number of traversals; those of a part are run in parallel."""
        return chunks(count, parallel)

    def new_seed(self) -> int:
        """Returns a new seed for some histories."""
        return int(next_word(self.rng))

    def state(self) -> dict[str, Any]:
        """Returns what changes in an iteration, by name; see `named`."""
        return {"rng": self.rng, "nodes": self.nodes}

    def unit_of(self, player: int, is_scaled: bool = True) -> float:
        """Returns the divisor of a player's targets: half of its payoff range, if they are scaled."""
        half_range = float(self._payoff_ranges[player]) / 2.0
        return half_range if is_scaled and half_range > 0.0 else 1.0

    def start(self, solver: Any, rngs: np.ndarray) -> None:
        """Called once the solver's players have their networks; `rngs` are of their memories of strategies."""


def chunks(count: int, size: int) -> Iterator[int]:
    """Yields parts of a number, none larger than a size."""
    return (min(size, count - start) for start in range(0, count, size))


class TreeEnv(Env):
    """A compiled tree: information sets are rows, and the strategy is a table.

    One forward pass over all information sets of a player fills its part of the table. So the average strategy is
    exact, which replaces the memories of strategies of the papers.

    Attributes:
        masks: Of each player, ``[num_rows, num_actions]`` bool, legal actions.
        strategy: ``[num_slots]`` float64, of the next traversals.
        average: ``[num_slots]`` float64, sums of weight x own reach x strategy.
    """

    observer: TreeObserver

    def __init__(self, game: Any, name: str):
        game = game if isinstance(game, GameTree) else load_game(game)
        check_has_tensors(game.game if isinstance(game, GameTree) else game, name)
        tree = compile_game(game)
        tree.require_perfect_recall(name)
        observer = TreeObserver(tree, tree.game.num_distinct_actions())
        constant_sum = float(tree.arrays.payoffs[0].sum()) if tree.is_constant_sum else None
        super().__init__(name, observer, tensors_of(tree), tree.payoff_range, constant_sum)
        self.tree, ends = tree, tree.arrays.infoset_range[1:-1]
        self.masks, self._slots = np.split(observer.masks, ends), np.split(observer.slots, ends)
        self.strategy = tree.uniform_strategy()
        self.average, self._reach = np.zeros(tree.num_slots), np.ones(tree.num_slots + self.num_players)

    def parts(self, histories: Any, count: int, parallel: int) -> Iterator[int]:
        if isinstance(histories, ExternalSampling):  # no level has more histories than a traversal has leaves
            infosets = self._most_infosets[histories.player]
            parallel = min(parallel, max(paths.MAX_HISTORIES // (infosets * self.num_actions + 1), 1))
        return super().parts(histories, count, parallel)

    @functools.cached_property
    def _most_infosets(self) -> list[int]:
        """Of each player, how many of its information sets a traversal of external sampling may meet."""
        nodes = self.tree.arrays.nodes
        return [int(max_visits(nodes, player, True, False, True)) for player in range(self.num_players)]

    def _fill(self, table: np.ndarray, player: int, strategies: np.ndarray) -> None:
        """Writes a player's strategies, ``[num_rows, num_actions]``, to a table, ``[num_slots]``."""
        masks = self.masks[player]
        table[self._slots[player][masks]] = strategies[masks]

    def responses(self, player: int, learner: Any, rule: Rule, iteration: int | None) -> np.ndarray:
        """Returns what a player does by a network, until the network's next step. Outputs that are not finite are a
        TrainingError, if all are known; it names the iteration, unless that is None.
        """
        return rule(learner.predict(iteration), self.masks[player])

    def use(self, player: int, response: np.ndarray) -> None:
        """Takes over a player's response for the next histories."""
        self._fill(self.strategy, player, response)

    def strategies(self) -> Strategies:
        """Returns the strategies of all players."""
        return self.observer.tables(self.strategy)

    def policy_of(self, learners: Sequence[Any], kind: str, discount: float | None = None) -> TreePolicy:
        """Returns the policy of a network per player; see `NetworkPolicy`."""
        table = np.zeros(self.tree.num_slots)
        for player, learner in enumerate(learners):
            self._fill(table, player, self.responses(player, learner, RULES[kind], None))
        return TreePolicy(self.tree, table)

    def add_to_average(self, player: int, weight: float) -> None:
        """Adds a player's strategy with a weight to the average."""
        add_player(self.tree.arrays, self.strategy, self._reach, self.average, player, weight)

    def turn(self, solver: Any, histories: Any, player: int, iteration: int) -> Iterator[Any]:
        """Yields the traversals of a player's turn, and adds its strategy to the average policy."""
        self.add_to_average(player, float(iteration) ** solver.config.exponents[1])
        return self.sample(histories, solver.config.traversals, solver.config.parallel_traversals)

    def average_policy(self, solver: Any) -> TreePolicy:
        """Returns the average policy of an `AdvantageSolver`."""
        strategy = np.empty(self.tree.num_slots)
        normalize(self.average, self.tree.arrays.infosets, strategy)
        return TreePolicy(self.tree, strategy)

    def prepare(self) -> None:
        """Compiles the kernels."""
        self.add_to_average(0, 0.0)

    def state(self) -> dict[str, Any]:
        return super().state() | {"strategy": self.strategy, "average": self.average}


class BatchedEnv(Env):
    """Compiled rules or pyspiel's states: information sets are tensors, and strategies networks.

    The average policy is the mean of each player's strategies with weights t x own reach, or t^gamma x own reach. They
    are sampled on histories in which the player draws by its strategy and all others explore, with weight t x (the
    others' reach under uniform play) / (the probability of their draws): without the latter factor, iterations whose
    others come often to an information set would count more there. With two players the traversals of the other one are
    such histories. With one or more than two, histories of their own are sampled. Without samples it is uniform.
    """

    observer: Observer
    _memories: Sequence[Reservoir] = ()  # of each player's strategies
    _latest: tuple[tuple[int, ...], NetworkPolicy] | None = None

    def __init__(self, game: Any, name: str):
        game = load_game(game.game if isinstance(game, GameTree) else game)
        observer = Observer(game, name)
        ranges = [game.max_utility() - game.min_utility()] * game.num_players()
        is_zero_sum = game.get_type().utility == pyspiel.GameType.Utility.ZERO_SUM
        no_inputs = [np.zeros((0, observer.size), np.float32)] * game.num_players()
        super().__init__(name, observer, no_inputs, ranges, 0.0 if is_zero_sum else None)
        self._responses: dict[int, Any] = {}

    def responses(self, player: int, learner: Learner, rule: Rule, iteration: int | None) -> Any:
        return lambda infosets, masks: rule(learner.outputs(infosets), masks)

    def use(self, player: int, response: Any) -> None:
        self._responses[player] = response

    def strategies(self) -> Strategies:
        return lambda player, infosets, masks: self._responses[player](infosets, masks)

    def policy_of(self, learners: Sequence[Learner], kind: str, discount: float | None = None) -> NetworkPolicy:
        return NetworkPolicy(self.game, [learner.copy() for learner in learners], kind, discount)

    def prepare(self) -> None:
        Trajectories(uniform).sample(self.observer, 1, np.random.default_rng(0))

    def state(self) -> dict[str, Any]:
        return super().state() | {f"average/player{player}": each for player, each in enumerate(self._memories)}

    def start(self, solver: Any, rngs: np.ndarray) -> None:
        capacity, power = solver.config.memory_capacity, solver.config.exponents[1]
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
        if isinstance(found, Paths):  # external sampling follows all actions of the other player
            weights = found.importance([other for other in range(self.num_players) if other != player])
        self._memories[player].add(Samples.of(found, player, found.strategies, weights), iteration)

    def average_policy(self, solver: Any) -> NetworkPolicy:
        """Returns the average policy; its networks are trained once. If that diverges, it is a TrainingError."""
        iterations = solver.iterations
        of_run = (iterations, *(int(memory.rng[0]) for memory in self._memories))  # those of other seeds differ
        if self._latest is None or self._latest[0] != of_run:
            learners = []
            with torch_threads(solver.config.threads):
                for player, memory in enumerate(self._memories):
                    name = f"policy_training's loss of the average policy of player {player}"
                    rngs = new_states(int(memory.rng[0]) ^ iterations, 2)
                    arguments = solver.config.policy_training, rngs, name, self.modules
                    learners.append(Learner(self.inputs[player], self.num_actions, *arguments))
                    learners[-1].fit(memory, max(iterations, 1), cross_entropy)
                    if not len(memory):  # outputs of 0 instead of those of initial parameters: uniform
                        learners[-1].state()["parameters"][:] = 0.0
            self._latest = of_run, self.policy_of(learners, SOFTMAX)
        return self._latest[1]


@kernel
def add_player(tree, strategy, reach, average, player, weight):
    """Adds weight x own reach x strategy at all of a player's slots to ``average``, ``[num_slots]``.

    That and ``reach``, ``[num_slots + num_players]``, are modified in place.
    """
    own_reach(tree, strategy, reach)
    for slot in range(tree.slot_range[player], tree.slot_range[player + 1]):
        average[slot] += weight * reach[slot]


def tensors_of(tree: GameTree) -> list[np.ndarray]:
    """Returns the tensors of each player's information sets, ``[num_rows, size]`` float32.

    Information sets with the same tensor are logged: a network cannot distinguish them.
    """
    pairs = zip(representative_states(tree), tree.arrays.infosets["player"].tolist(), strict=True)
    tensors = np.array([state.information_state_tensor(player) for state, player in pairs], np.float32)
    result = np.split(tensors, tree.arrays.infoset_range[1:-1])
    for player, own in enumerate(result):
        _warn_of_duplicates(tree, own, f"information sets of player {player}")
    return result


def histories_of(tree: GameTree, what: str) -> np.ndarray:
    """Returns the tensors of all non-terminal histories, in the order of the nodes, ``[num_rows, width]`` float32.

    A row is that of `Observer`, but for chance, which is one more player to move. More than 2 GiB are a BudgetError,
    which names their reader.
    """
    kinds, players, num_actions = tree.arrays.nodes["kind"], tree.num_players, tree.game.num_distinct_actions()
    is_kept = kinds != TERMINAL
    rows, num_rows = np.cumsum(is_kept) - 1, int(is_kept.sum())
    movers = players * int(np.prod(tree.game.information_state_tensor_shape()))  # columns before those of the mover
    width = movers + players + 1 + (players - 1) * num_actions
    if (num_bytes := 4 * num_rows * width) > _MAX_BYTES:
        raise BudgetError(
            f"{what} keeps a tensor for each of the {num_rows:,} histories of {tree.game} that are no leaves, "
            f"{num_bytes / 2**30:.1f} GiB, and takes 2 GiB at the most: give a smaller game, or use the "
            "tabular mccfr_plus.Solver."
        )
    tensors = np.zeros((num_rows, width), np.float32)
    units, none = np.eye(num_actions, dtype=np.float32), np.zeros((players - 1) * num_actions, np.float32)
    pending = [(0, tree.game.new_initial_state(), none)]  # with the last actions
    while pending:
        node, state, last = pending.pop()
        kind, count, first, payload = tree.arrays.nodes[node].tolist()
        row = tensors[rows[node]]
        row[:movers] = np.concatenate([state.information_state_tensor(player) for player in range(players)])
        row[movers + (players if kind == CHANCE else kind)] = 1.0
        row[movers + players + 1 :] = last
        actions = tree.outcome_action if kind == CHANCE else tree.slot_action
        for index in np.flatnonzero(is_kept[first : first + count]).tolist():
            action = int(actions[payload + index])
            after = last if kind == CHANCE else np.append(last, units[action])[num_actions:]
            pending.append((first + index, state.child(action), after))
    _warn_of_duplicates(tree, tensors, "histories")
    return tensors


def _warn_of_duplicates(tree: GameTree, tensors: np.ndarray, what: str) -> None:
    if duplicates := len(tensors) - len({row.tobytes() for row in tensors}):
        text = "%s: %d of %d %s have the tensor of another one: a network cannot distinguish all."
        logger.warning(text, tree.game.get_type().short_name, duplicates, len(tensors), what)
