"""Gradients of an estimator outside of a solver, compiled or in plain Python with all draws, and their contract."""

import math
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher

from mccfr_plus.checks.games import random_strategy
from mccfr_plus.checks.report import Subject
from mccfr_plus.errors import ConfigError, PolicyError
from mccfr_plus.estimators import SamplingWeights, traversal
from mccfr_plus.evaluation.play import student_t
from mccfr_plus.evaluation.strategies import sampling_strategy_of
from mccfr_plus.kernels import intrinsics
from mccfr_plus.kernels.compile import kernel, names_of, source_of
from mccfr_plus.kernels.slots import bind
from mccfr_plus.solver.config import SolverConfig, estimate_with
from mccfr_plus.solver.loop import ESTIMATE, UPDATE_ALL_PLAYERS, begin_gradients
from mccfr_plus.trees.game_tree import GameTree
from mccfr_plus.trees.needs import NO_VALUES, PUBLIC
from mccfr_plus.trees.scratch import begin_traversal, new_scratch, scale_gradient

FALSE_ALARM = 1e-6  # of a whole check, however many numbers it compares
SENTINEL = 1e12  # fills the gradient before every traversal, so that adding to it without `touch` is seen
_ADDED_TO_SENTINEL = 0.25 * SENTINEL  # sums of payoffs and weights are far below
_CALL = "the calls of `touch`, which lists an infoset once per gradient; write to `scratch.touched` nowhere else"


class DrawsDirectly(Exception):
    """A kernel draws by itself, and not through `mccfr_plus.estimators.traversal`."""


class Script:
    """Determines draws: each takes the first of its outcomes that are left."""

    def __init__(self) -> None:
        self.left: list[list[tuple[int, float]]] = []  # of each draw: outcomes and their probabilities
        self.position = 0

    def choose(self, chances: Sequence[float]) -> int:
        if self.position == len(self.left):
            self.left.append([(index, chance) for index, chance in enumerate(chances) if chance > 0.0])
        self.position += 1
        return self.left[self.position - 1][0][0]


def all_outcomes(script: Script, run: Callable[[], Any]) -> Iterator[tuple[float, Any]]:
    """Yields (probability, result of `run`) for every possible outcome of the kernels that draw from the script."""
    script.left = []
    while True:
        script.position = 0
        result = run()
        yield math.prod(outcomes[0][1] for outcomes in script.left), result
        while script.left and len(script.left[-1]) == 1:
            script.left.pop()
        if not script.left:
            return
        del script.left[-1][0]  # on to the next outcome of the last draw that has one


def scripted_draws(script: Script) -> dict[Callable, Callable]:
    """Returns replacements of the draws, with their probabilities, alias tables and rounding included."""

    def draw_outcome(chance, first, count, rng):
        return script.choose(outcome_chances(chance[int(first) : int(first + count)]))

    def draw_action(strategy, first, count, rng):
        return script.choose(picking_chances(strategy[int(first) : int(first + count)]))

    def draw_exploring(strategy, exploration, first, count, epsilon, rng):
        rows = slice(int(first), int(first + count))
        other = picking_chances(exploration[rows]) if len(exploration) else [1.0 / count] * int(count)
        usual = picking_chances(strategy[rows])
        return script.choose([epsilon * a + (1.0 - epsilon) * b for a, b in zip(other, usual, strict=True)])

    def draw_uniform(count, rng):
        return script.choose([1.0 / count] * int(count))

    def draw_coin(probability, rng):
        chance = min(max(float(probability), 0.0), 1.0)
        return script.choose([1.0 - chance, chance]) == 1

    def draw_directly(*_):
        raise DrawsDirectly

    scripted = (draw_outcome, draw_action, draw_exploring, draw_uniform, draw_coin)
    direct = dict.fromkeys((intrinsics.next_double, intrinsics.next_word), draw_directly)
    return {getattr(traversal, function.__name__): function for function in scripted} | direct


def outcome_chances(rows: np.ndarray) -> list[float]:
    """Returns the probabilities that an alias table gives its outcomes; `rows` are those of one distribution."""
    chances = rows["accept"] / len(rows)
    np.add.at(chances, rows["alias"], (1.0 - rows["accept"]) / len(rows))
    return chances.tolist()


def picking_chances(weights: np.ndarray) -> list[float]:
    """Returns the probabilities with which `draw_action` draws, also from numbers that do not sum to 1."""
    if abs(float(np.sum(weights)) - 1.0) < 1e-9:  # a strategy: its own numbers, without the rounding of the sum
        return np.asarray(weights).tolist()
    ends = np.minimum(np.cumsum(weights), 1.0)
    chances = np.diff(np.maximum.accumulate(np.append(0.0, ends)))
    positive = np.flatnonzero(np.asarray(weights) > 0)
    last = int(positive[-1]) if len(positive) else 0
    chances[last] += 1.0 - ends[-1]
    return chances.tolist()


def plain(kernel: Callable, replacements: dict[Callable, Callable]) -> Callable:
    """Returns a kernel as a Python function that calls Python functions only, with some functions replaced."""
    copies: dict[int, Any] = {id(source_of(old)): new for old, new in replacements.items()}

    def copied(function: Any) -> Any:
        source = source_of(function)
        if id(source) not in copies:
            names, closure = dict(source.__globals__), source.__closure__
            cells = closure and tuple(types.CellType(translated(cell.cell_contents)) for cell in closure)
            copy = types.FunctionType(source.__code__, names, source.__name__, source.__defaults__, cells)
            copy.__kwdefaults__ = source.__kwdefaults__
            copies[id(source)] = copy  # before its callees are copied, which may call it
            for name in names_of(source.__code__) & set(names):
                names[name] = translated(names[name])
        return copies[id(source)]

    def translated(value: Any) -> Any:
        if isinstance(value, types.ModuleType):
            return _PlainModule(value, translated)
        # Where compilation is switched off kernels are plain functions.
        is_function = isinstance(value, types.FunctionType) and not value.__module__.startswith(("numpy", "numba"))
        if is_function or isinstance(value, Dispatcher):
            return copied(value)
        return copies.get(id(value), value)

    return copied(kernel)


class _PlainModule:
    """A module whose kernels are plain, for kernels that call ``module.function``."""

    def __init__(self, module: types.ModuleType, translated: Callable[[Any], Any]):
        self._module, self._translated = module, translated

    def __getattr__(self, name: str) -> Any:
        if self._module.__name__ in ("numpy.random", "random"):
            raise DrawsDirectly
        found = self.__dict__[name] = self._translated(getattr(self._module, name))  # without a call from now on
        return found


def z_limit(comparisons: int, freedom: float = float("inf")) -> float:
    """Returns Bonferroni's limit on the absolute values of this many z-scores, or of Student's t-scores."""
    return -student_t(FALSE_ALARM / (2 * max(comparisons, 1)), freedom)


@kernel
def sample_gradient(parameters, sampling_weights, tree, strategy, scratch, player, batch):
    """Estimates a gradient by `batch` traversals, as the loops do."""
    begin_gradients(tree, scratch, player)
    for _ in range(batch):
        begin_traversal(scratch)
        ESTIMATE(parameters, sampling_weights, tree, strategy, scratch, player)
    if batch > 1:
        for other in range(len(tree.slot_range) - 1):
            if UPDATE_ALL_PLAYERS() or other == player:
                scale_gradient(tree, scratch, other, 1.0 / batch)


@kernel
def add_samples(
    count, parameters, sampling_weights, tree, strategy, scratch, player, traverser, batch, signs, moments, projected,
    sums,
):  # fmt: skip
    """Adds up `count` gradients, their squares, how often they were not 0, and projections; 0: estimates one only.

    `moments` (``[3, num_slots + num_players]``) and `projected` (``[2, num_signs]``) are modified in place; `signs` is
    ``[num_slots + num_players, num_signs]``; `sums`, ``[num_signs]``, is overwritten.
    """
    empty = tree.slot_range[-1] + player
    for _ in range(max(count, 1)):
        sample_gradient(parameters, sampling_weights, tree, strategy, scratch, traverser, batch)
        if count == 0:  # the touched list may be wrong
            return
        for column in range(len(sums)):
            sums[column] = 0.0
        begin = tree.infoset_range[player]
        for position in range(begin, begin + scratch.num_touched[player] + 1):
            first, last = empty, empty + 1
            if position < begin + scratch.num_touched[player]:
                first = scratch.touched[position]["first_slot"]
                last = first + scratch.touched[position]["num_actions"]
            for slot in range(first, last):
                entry = scratch.gradient[slot]
                if entry != 0.0:
                    moments[0, slot] += entry
                    moments[1, slot] += entry * entry
                    moments[2, slot] += 1.0
                    for column in range(len(sums)):
                        sums[column] += entry * signs[slot, column]
        for column in range(len(sums)):
            projected[0, column] += sums[column]
            projected[1, column] += sums[column] * sums[column]


class GradientSampler:
    """An estimator on a tree with a random strategy (a share `zeros` of its probabilities is 0), weights and baselines.

    With a script, kernels run as plain Python and take their draws from it.
    """

    def __init__(
        self, tree: GameTree, config: SolverConfig, rng: np.random.Generator, zeros: float, script: Script | None = None
    ):
        config.check_game(tree)
        tree.require_perfect_recall("a check of estimators")
        estimator, baseline = config.estimator, config.baseline
        self.tree, self.config, self.estimator, self.batch = tree, config, estimator, config.batch
        self.all_players = estimator.update_all_players
        self.arrays = tree.arrays_with_leaves if estimator.needs_leaves else tree.arrays
        self.parameters = estimator.parameters()
        if baseline is not None:
            self.parameters = np.append(self.parameters, float(baseline.rate))
        self.strategy = random_strategy(tree, rng, zeros)
        self.sampling_weights = self._sampling_weights(rng)
        has_values = baseline is not None or NO_VALUES not in estimator.provides
        # Baselines give unbiased estimates whatever their values are.
        self._first_values = rng.normal(size=(tree.num_players, tree.num_nodes) if has_values else (0, 0))
        # The room for visits at opponents' infosets that a solver has.
        room = 0 if PUBLIC in tree.provides else tree.num_nodes  # traversals of public trees list none
        seed, per_infoset = rng.integers(0, 2**64, size=1, dtype=np.uint64), estimator.sample_per_infoset
        values = self._first_values.copy()
        self.scratch = new_scratch(
            self.arrays, tree.shape, seed, max_visits=room, sample_per_infoset=per_infoset, values=values
        )
        self._gradient = self.scratch.gradient[: tree.num_slots + tree.num_players]
        list_visit = config.average_method(tree.num_players, tree.perfect_recall).list_visit
        kernel = estimate_with(estimator, baseline, list_visit=list_visit, tree_slots=tree.bindings)
        self.run = bind(add_samples, {ESTIMATE: kernel, UPDATE_ALL_PLAYERS: self.all_players}, partial=True)
        if script is not None:
            self.run = plain(self.run, scripted_draws(script))
        read_only = {name: getattr(self, name) for name in ("strategy", "sampling_weights", "parameters")}
        read_only |= {f"tree.{name}": array for name, array in self.arrays._asdict().items()}
        self._read_only = {name: (array, array.copy()) for name, array in read_only.items()}

    def _sampling_weights(self, rng: np.random.Generator) -> np.ndarray:
        tree, kind = self.tree, self.estimator.sampling_weights
        if kind == SamplingWeights.SAMPLING:
            try:
                return sampling_strategy_of(tree, self.estimator)
            except (ConfigError, PolicyError):  # the policy of another game: any strategy tests the kernel
                return random_strategy(tree, rng)
        # Of all magnitudes, so that all branches of a rule are taken.
        if kind == SamplingWeights.AVERAGE:
            random = 10.0 ** rng.uniform(-2, 8, tree.num_slots + tree.num_players)
            return np.where(rng.random(len(random)) < 0.2, 0.0, random)
        random = 10.0 ** rng.uniform(-2, 3, tree.num_slots) * rng.choice([-1.0, 1.0], tree.num_slots)
        return random if kind == SamplingWeights.REGRETS else np.zeros(0)

    def add(self, player: int, count: int, signs: np.ndarray, moments: np.ndarray, projected: np.ndarray) -> None:
        """Adds up `count` gradients, or estimates a single one; see `add_samples`."""
        self.scratch.reach_valid[:] = 0
        self.run(
            count, self.parameters, self.sampling_weights, self.arrays, self.strategy, self.scratch, player,
            0 if self.all_players else player, self.batch, signs, moments, projected, np.empty(signs.shape[1]),
        )  # fmt: skip

    def estimate(self, player: int) -> np.ndarray:
        """Returns a gradient, 0 where nothing was touched; CheckError if the traversal breaks the contract."""
        scratch, num_players = self.scratch, self.tree.num_players
        scratch.gradient[:] = SENTINEL
        scratch.values[:] = self._first_values
        if self.all_players:  # as in the step of player 0
            scratch.num_touched[:] = 0
        counts, listed = scratch.counts.copy(), scratch.touched.copy()
        with np.errstate(all="ignore"):
            self.add(player, 0, np.zeros((0, 0)), np.zeros((3, 0)), np.zeros((2, 0)))
        counts["stamp"] += num_players if self.all_players else 1
        counts["traversal"] += self.batch if len(scratch.drawn) else 0
        updated = range(num_players) if self.all_players else range(player, player + 1)
        touched = {owner: self._check_touched(owner) for owner in updated}
        self._check_numbers(player, updated, np.any(list(touched.values()), axis=0))
        self._check_rest(player, updated, counts, listed)
        return np.where(touched[player], self._gradient, 0.0)

    def _check_touched(self, player: int) -> np.ndarray:
        """Checks a player's touched list; returns which slots it has, the empty sequence included."""
        tree, records, require = self.tree, self.arrays.infosets, Subject(self.estimator, self.tree, player).require
        begin, end = (int(x) for x in self.arrays.infoset_range[player : player + 2])
        number, listed = int(self.scratch.num_touched[player]), np.zeros(tree.num_slots + tree.num_players, bool)
        require(0 <= number <= end - begin, "lists more infosets than the player has", _CALL, found=number)
        for touched in self.scratch.touched[begin : begin + number]:
            slot, parent = int(touched["first_slot"]), int(touched["parent_slot"])
            infoset = int(tree.infoset_of_slot[slot]) if 0 <= slot < tree.num_slots else -1
            is_own = begin <= infoset < end and int(records[infoset]["first_slot"]) == slot
            look_at = '`touch(tree, scratch, player, first, count, parent)`: first is the node\'s ["payload"]'
            require(is_own, "lists as touched an infoset that is not the player's", look_at, slot=slot, found=slot)
            look_at = "the arguments of `touch`: the number of actions, and the player's last own slot"
            for name in ("num_actions", "parent_slot"):
                expected, found = int(records[infoset][name]), int(touched[name])
                what = f"lists an infoset with a wrong {name}"
                require(expected == found, what, look_at, slot=slot, expected=expected, found=found)
            require(not listed[slot], "lists an infoset twice", _CALL, slot=slot)
            look_at = "where `touch` is called: before the traversal goes on to the children"
            is_after = parent >= tree.num_slots or listed[parent]
            require(is_after, "touches an infoset before its parent", look_at, slot=slot)
            listed[tree.slots(infoset)] = True
        listed[tree.num_slots + player] = True
        return listed

    def _check_numbers(self, player: int, updated: range, is_touched: np.ndarray) -> None:
        """Checks that the gradient was written at touched slots, and there only."""
        gradient, require = self._gradient, Subject(self.estimator, self.tree, player).require
        players = range(self.tree.num_players)
        owners = np.append(np.repeat(players, np.diff(self.arrays.slot_range)), players)
        is_own, is_kept = np.isin(owners, updated), gradient == SENTINEL
        look_at = "the slot that the kernel adds to: the player's last own slot, not an opponent's"
        require(is_own | is_kept, "writes outside of its slots, for another player", look_at, found=gradient)
        good, look_at = ~is_touched | np.isfinite(gradient), "divisions by numbers that can be 0"
        require(good, "writes NaN or infinity to the gradient", look_at, found=gradient)
        good, look_at = np.abs(gradient) <= _ADDED_TO_SENTINEL / self.batch, "`touch`, or the code after `enter`"
        require(good | ~is_touched, "lists an infoset as touched without setting its gradient to 0", look_at)
        look_at = "whether `touch` is called at every own node, before its slots are written"
        require(is_touched | is_kept, "adds to the gradient at an infoset that it did not touch", look_at)

    def _check_rest(self, player: int, updated: range, counts: np.ndarray, listed: np.ndarray) -> None:
        scratch, require = self.scratch, Subject(self.estimator, self.tree, player).require
        for other in set(range(self.tree.num_players)) - set(updated):
            rows, look_at = slice(*self.arrays.infoset_range[other : other + 2]), "the player argument of `touch`"
            same = scratch.touched[rows].tobytes() == listed[rows].tobytes()
            require(same, "writes to another player's range of the touched list", look_at)
        for name in ("stamp", "iteration", "traversal"):
            same, what = scratch.counts[name] == counts[name], f'writes to `scratch.counts[0]["{name}"]`'
            require(same, what, "assignments to `scratch.counts`: only nodes_touched and num_visits")
        visits, room = int(scratch.counts[0]["num_visits"]), len(scratch.visits)
        look_at = "the calls of `LIST_VISIT`: at most one at a node"
        require(0 <= visits <= room, f"lists {visits} visits, and there is room for {room}", look_at)
        for name, (array, copy) in self._read_only.items():
            same, look_at = array.tobytes() == copy.tobytes(), "assignments to that array: only `scratch` is writable"
            require(same, f"wrote to `{name}`, which it may only read", look_at, expected=copy, found=array)
