"""Exact numbers on compiled trees: expected values, best responses and exploitability of policies, equilibria."""

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyspiel

from mccfr_plus.errors import GameError
from mccfr_plus.evaluation.imperfect_recall import imperfect_recall_value
from mccfr_plus.evaluation.strategies import JointPolicy, require_player, strategy_of
from mccfr_plus.kernels.compile import announce_compilation, inline_kernel, kernel
from mccfr_plus.kernels.slots import bind
from mccfr_plus.policies.table import TreePolicy
from mccfr_plus.trees.arrays import TreeArrays
from mccfr_plus.trees.flattening import entries_of, exact_gradient
from mccfr_plus.trees.game_tree import GameTree, compile_game
from mccfr_plus.trees.loading import load_game
from mccfr_plus.trees.needs import PUBLIC
from mccfr_plus.trees.public.arrays import PublicArrays
from mccfr_plus.trees.public.public_tree import PublicTree, given_public_tree
from mccfr_plus.trees.scratch import IS_PUBLIC, Scratch, gradient_size, pass_reach

AnyGame: TypeAlias = pyspiel.Game | str | GameTree | PublicTree

_TOLERANCE = 1e-10  # of HiGHS, which takes no smaller one; payoffs are scaled to 1


class Evaluation(NamedTuple):
    """Expected values and best-response values of a policy.

    Attributes:
        values: ``[num_players]`` float64, expected payoffs if all players follow the policy.
        best_response_values: ``[num_players]`` float64, payoff of each player's best response to the others. In games
            of imperfect recall, this is the payoff of OpenSpiel's best response, which plays one action per information
            set; the actions are chosen in order, from the last information sets to the first. The best strategy that
            plays one action per information set may earn more than this, but finding it is NP-hard.
        perfect_recall_values: ``[num_players]`` float64, the best-response payoff of a player that remembers everything
            it saw and did; equal to `best_response_values` in games of perfect recall.

    Examples:
        >>> import mccfr_plus, pyspiel
        >>> result = mccfr_plus.evaluate("kuhn_poker", pyspiel.UniformPolicy())
        >>> result.values.round(3), round(result.nash_conv, 4)
        (array([ 0.125, -0.125]), 0.9167)
    """

    values: np.ndarray
    best_response_values: np.ndarray
    perfect_recall_values: np.ndarray

    @property
    def perfect_recall_nash_conv(self) -> float:
        """Sum over players of the gain of a best response with perfect recall; at least `nash_conv`."""
        return float(sum((self.perfect_recall_values - self.values).tolist()))

    @property
    def nash_conv(self) -> float:
        """Sum over players of the gain of a best response."""
        return float(sum((self.best_response_values - self.values).tolist()))

    @property
    def exploitability(self) -> float:
        """`nash_conv` divided by the number of players, as OpenSpiel defines it."""
        return self.nash_conv / len(self.values)


class BestResponse(NamedTuple):
    """A player's best response to the other players' policy.

    Attributes:
        value: The player's expected payoff.
        policy: The joint policy with the player's strategy replaced by the best response.
        actions: The action at each information state. If several actions are equally good, this is the first of them.

    Examples:
        >>> import mccfr_plus, pyspiel
        >>> response = mccfr_plus.best_response("kuhn_poker", pyspiel.UniformPolicy(), player=0)
        >>> response.value, response.actions["2pb"]
        (0.5, 1)
    """

    value: float
    policy: TreePolicy
    actions: dict[str, int]


class Evaluator:
    """Evaluates strategies of one tree in arrays that it keeps, as allocating them takes long. Not thread-safe."""

    def __init__(self, tree: GameTree | PublicTree, scratch: Scratch | None = None):
        self._run = bind(evaluate_players, tree.bindings, partial=True)
        self._tree, self._arrays = tree, tree.folded_arrays if tree.perfect_recall else tree.refined.arrays
        size, num_infosets = int(self._arrays.slot_range[-1]) + tree.num_players, len(self._arrays.infosets)
        # On a large public tree the solver's own arrays, of which the evaluation leaves nothing.
        lent = None if scratch is None else (scratch.reach, scratch.gradient)
        lent = lent or (np.empty(size), np.zeros(gradient_size(self._arrays)))
        self._scratch = *lent, np.empty(num_infosets, np.int32)
        self.room = np.empty(tree.num_slots + tree.num_players)  # for callers: where to write the strategy

    def evaluate(self, strategy: np.ndarray) -> Evaluation:
        """Returns the evaluation of a strategy, ``[num_slots]`` float64."""
        tree, values, best = self._tree, np.empty(self._tree.num_players), np.empty(self._tree.num_players)
        played = strategy if tree.perfect_recall else strategy[tree.refined.slot_of]
        with announce_compilation(self._run, "the evaluation", 2):
            self._run(played, best, values, *self._scratch, *self._arrays)
        if tree.perfect_recall:
            return Evaluation(values, best, best)
        tied = [imperfect_recall_value(tree, played, player) for player in range(tree.num_players)]
        return Evaluation(values, np.array(tied), best)


def _tree_of(game: AnyGame, policy: JointPolicy) -> Any:
    """Returns the public tree of a policy of the game if it has one, or the game's compiled tree."""
    if isinstance(policy, TreePolicy) and PUBLIC in policy.tree.provides and str(load_game(game)) == str(policy.game):
        return policy.tree
    return given_public_tree(game) or compile_game(game)


def evaluate_strategy(tree: GameTree | PublicTree, strategy: np.ndarray) -> Evaluation:
    """Returns the evaluation of a strategy array, ``[num_slots]``."""
    return Evaluator(tree).evaluate(strategy)


def evaluate(game: AnyGame, policy: JointPolicy) -> Evaluation:
    """Returns all players' expected values and best-response values; see `nash_conv` for the arguments.

    Examples:
        >>> import mccfr_plus, pyspiel
        >>> mccfr_plus.evaluate("kuhn_poker", pyspiel.UniformPolicy()).best_response_values.round(4)
        array([0.5   , 0.4167])
    """
    tree = _tree_of(game, policy)
    return evaluate_strategy(tree, strategy_of(tree, policy))


def expected_values(game: AnyGame, policy: JointPolicy) -> np.ndarray:
    """Returns each player's expected payoff, ``[num_players]`` float64; see `nash_conv` for the arguments.

    Examples:
        >>> import mccfr_plus, pyspiel
        >>> mccfr_plus.expected_values("kuhn_poker", pyspiel.UniformPolicy())
        array([ 0.125, -0.125])
    """
    return evaluate(game, policy).values


def nash_conv(game: AnyGame, policy: JointPolicy) -> float:
    """Returns the sum of all players' gains from best responses, 0 at a Nash equilibrium; see `Evaluation`.

    Args:
        game: A game, a game string, or the tree of a compiled game.
        policy: A joint policy: an OpenSpiel policy from Python or C++; a mapping from information states to {action:
            probability}; a function from states to {action: probability}; or a list with one of these per player.

    Raises:
        GameError: If the game cannot be compiled.
        PolicyError: If the policy does not fit the game.

    Examples:
        >>> import mccfr_plus, pyspiel
        >>> round(mccfr_plus.nash_conv("kuhn_poker", pyspiel.UniformPolicy()), 4)
        0.9167
    """
    return evaluate(game, policy).nash_conv


def exploitability(game: AnyGame, policy: JointPolicy) -> float:
    """Returns NashConv / number of players, as OpenSpiel does for two players; see `nash_conv` for the arguments.

    Examples:
        >>> import mccfr_plus, pyspiel
        >>> round(mccfr_plus.exploitability("kuhn_poker", pyspiel.UniformPolicy()), 4)
        0.4583
    """
    tree = _tree_of(game, policy)
    return nash_conv(tree, policy) / tree.num_players


def best_response(game: AnyGame, policy: JointPolicy, player: int) -> BestResponse:
    """Returns a best response of one player to a policy of the others; see `nash_conv` for arguments and errors.

    Raises ConfigError if the game has no such player.

    Examples:
        >>> import mccfr_plus, pyspiel
        >>> mccfr_plus.best_response("kuhn_poker", pyspiel.UniformPolicy(), player=0).value
        0.5
    """
    tree = _tree_of(game, policy)
    require_player(tree.game, player)
    arrays, strategy, size = tree.folded_arrays, strategy_of(tree, policy), tree.num_slots + tree.num_players
    reach, gradient, best = np.empty(size), np.zeros(gradient_size(arrays)), np.zeros(tree.num_infosets, np.int32)
    own_reach(arrays, strategy, reach)
    respond = bind(best_response_value, tree.bindings, partial=True)
    value, _ = respond(arrays, reach, player, gradient, best)
    first, last = arrays.infoset_range[player : player + 2]
    strategy[slice(*arrays.slot_range[player : player + 2])] = 0.0
    strategy[best[first:last]] = 1.0
    actions = dict(zip(tree.info_states[first:last], tree.slot_action[best[first:last]].tolist(), strict=True))
    return BestResponse(float(value), TreePolicy(tree, strategy), actions)


class Equilibrium(NamedTuple):
    """An equilibrium of a two-player zero-sum game, with bounds on its error.

    Attributes:
        policy: Both players' strategies; uniform at infosets that the player's own strategy does not reach.
        lower: Player 0's payoff against a best response to player 0's strategy.
        upper: Payoff of player 0's best response to player 1's strategy.

    Examples:
        >>> import mccfr_plus
        >>> equilibrium = mccfr_plus.solve_lp("kuhn_poker")
        >>> round(equilibrium.value * 18, 9), equilibrium.exploitability < 1e-9
        (-1.0, True)
    """

    policy: TreePolicy
    lower: float
    upper: float

    @property
    def value(self) -> float:
        """The game's value for player 0: the middle of the two bounds."""
        return (self.lower + self.upper) / 2

    @property
    def exploitability(self) -> float:
        """NashConv / 2 of the policy."""
        return (self.upper - self.lower) / 2


def solve_lp(game: pyspiel.Game | str | GameTree) -> Equilibrium:
    """Returns an equilibrium of a two-player zero-sum game, computed by linear programming and exact up to rounding.

    The computation takes less than 1 CPU second on `leduc_poker` (4,920 pairs of the two players' last sequences that
    have a payoff), 4 seconds on `liars_dice` (147,420) and 93 seconds on `leduc_ranks(ranks=28)` (970,816), with an
    exploitability below 1e-14. For larger games, use `Solver`.

    Raises:
        GameError: If the game is not a two-player zero-sum game, if a player has imperfect recall, or if the
            LP solver HiGHS finds no solution.

    Examples:
        >>> import mccfr_plus
        >>> round(mccfr_plus.solve_lp("leduc_poker").value, 9)
        -0.085606424
    """
    tree = compile_game(game)
    require_zero_sum(tree)
    rows, others, values = entries_of(tree.arrays_with_leaves, 0)
    return equilibrium_of(tree, rows, others[:, 0], values)


def equilibrium_of(tree: Any, rows: np.ndarray, columns: np.ndarray, values: np.ndarray) -> Equilibrium:
    """Returns an equilibrium, given player 0's payoffs times chance by both players' last slots; they are added up."""
    strategy = np.zeros(tree.num_slots)
    if tree.num_slots:
        plans = _plans(tree, rows, columns, values)
        normalize(np.where(plans > _TOLERANCE, plans, 0.0), tree.arrays.infosets, strategy)
    best_responses = evaluate_strategy(tree, strategy).best_response_values.tolist()
    return Equilibrium(TreePolicy(tree, strategy), 0.0 - best_responses[1], best_responses[0])


def _plans(tree: Any, rows: np.ndarray, columns: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Returns the plans of both players, ``[num_slots]``, up to rounding.

    With x player 0's plan over sequences, A its payoffs times chance by both players' last slots, and v(J) its least
    payoff from player 1's information set J on,

        maximize    sum of v(J) over the J that no own sequence precedes, plus the payoffs at player 1's empty sequence
        subject to  v(J) <= (A'x)[J, b] + sum of v(J') over the J' right behind (J, b)      for all (J, b)
                    sum over a of x[I, a] = x[parent of I],  x of the empty sequence = 1,  x >= 0.

    The dual values of the first rows are a plan of player 1 (Koller, Megiddo, von Stengel 1996, section 3).
    """
    from scipy.optimize import linprog  # here, as importing SciPy takes long
    from scipy.sparse import csr_array, hstack

    arrays, split, num_slots = tree.arrays, int(tree.arrays.slot_range[1]), tree.num_slots
    payoffs = csr_array((values, (rows, columns)), shape=(num_slots + 2, num_slots + 2))  # last: empty sequences
    scale = float(np.abs(payoffs.data).max(initial=0.0)) or 1.0
    payoffs, first, second = payoffs / scale, _plan(tree, 0), _plan(tree, 1)
    begins = [(arrays.infosets["parent_slot"][slice(*arrays.infoset_range[p : p + 2])] >= num_slots) for p in range(2)]
    inner = payoffs[:split, split:num_slots]
    of_empty = payoffs[[num_slots]][:, split:num_slots].toarray().reshape(-1)  # decided by player 1 alone
    result = linprog(
        -np.concatenate([payoffs[:split][:, [num_slots + 1]].toarray().reshape(-1), begins[1].astype(float)]),
        A_ub=hstack([-inner.T, second.T], format="csr"),
        b_ub=of_empty,
        A_eq=hstack([first, csr_array((first.shape[0], second.shape[0]))], format="csr"),
        b_eq=begins[0].astype(float),
        bounds=[(0.0, None)] * split + [(None, None)] * second.shape[0],
        method="highs-ipm",
        options={"primal_feasibility_tolerance": _TOLERANCE, "dual_feasibility_tolerance": _TOLERANCE},
    )
    if result.status != 0:
        raise GameError(f"{tree.game}: HiGHS found no equilibrium ({result.message}). Use mccfr_plus.Solver.")
    return np.concatenate([result.x[:split], -result.ineqlin.marginals])


def require_zero_sum(tree: GameTree) -> None:
    """Raises GameError unless the game has two players whose payoffs add up to 0."""
    if tree.num_players != 2 or np.abs(tree.arrays.payoffs.sum(axis=1)).max() > 1e-9:
        raise GameError(f"{tree.game} is not a two-player zero-sum game, which is required here.")


def num_entries(tree: GameTree) -> int:
    """Returns the size of the program: the number of pairs of last sequences with a payoff."""
    return len(entries_of(tree.arrays_with_leaves, 0)[0])


def _plan(tree: Any, player: int) -> Any:
    """Returns the csr_array of the plan's equations: a row per infoset, 1 at its slots and -1 at the parent's."""
    from scipy.sparse import csr_array

    infosets = tree.arrays.infosets[slice(*tree.arrays.infoset_range[player : player + 2])]
    first, end = tree.arrays.slot_range[player : player + 2].tolist()
    has_parent = np.flatnonzero(infosets["parent_slot"] < tree.num_slots)
    rows = np.concatenate([np.repeat(np.arange(len(infosets)), infosets["num_actions"]), has_parent])
    columns = np.concatenate([np.arange(end - first), infosets["parent_slot"][has_parent] - first])
    values = np.repeat([1.0, -1.0], [end - first, len(has_parent)])
    return csr_array((values, (rows, columns)), shape=(len(infosets), end - first))


@inline_kernel
def own_reach(tree, strategy, reach):
    """Writes every player's reach of each own sequence to `reach`, ``[num_slots + num_players]``."""
    for empty in range(tree.slot_range[-1], len(reach)):
        reach[empty] = 1.0
    pass_reach(tree.infosets, strategy, reach, 0, len(tree.infosets))


@inline_kernel
def best_response_value(tree, reach, player, gradient, best):
    """Returns the values of a best response and of the policy itself for one player.

    The player's entries of `best`, ``[num_infosets]`` int32, become the first best slots; `gradient` is overwritten.
    """
    exact_gradient(tree, reach, gradient, player)
    infosets = tree.infosets
    empty = tree.slot_range[-1] + player
    on_policy = gradient[empty]
    for slot in range(tree.slot_range[player], tree.slot_range[player + 1]):
        on_policy += gradient[slot] * reach[slot]
    pass_best(infosets, gradient, best, tree.infoset_range[player], tree.infoset_range[player + 1])
    return gradient[empty], on_policy


@inline_kernel
def pass_best(infosets, gradient, best, begin, end):
    """Passes the largest value of each infoset begin .. end - 1 to its parent; `best` gets its first slot."""
    for infoset in range(end - 1, begin - 1, -1):
        first = infosets[infoset]["first_slot"]
        chosen = first
        for slot in range(first + 1, first + infosets[infoset]["num_actions"]):
            if gradient[slot] > gradient[chosen]:
                chosen = slot
        best[infoset] = chosen
        gradient[infosets[infoset]["parent_slot"]] += gradient[chosen]


@kernel
def evaluate_players(strategy, best_values, values, reach, gradient, best, *flat):
    """Writes all players' values. `flat` are the fields of the tree's arrays, which Numba unpacks in half the time."""
    tree = PublicArrays(*flat) if IS_PUBLIC() else TreeArrays(*flat)
    own_reach(tree, strategy, reach)
    for player in range(len(values)):
        best_values[player], values[player] = best_response_value(tree, reach, player, gradient, best)


@kernel
def normalize(sums, infosets, strategy):
    """Writes sums over their total to `strategy`, which may be the same array; exactly uniform where sums are equal."""
    for infoset in infosets:
        first, count = infoset["first_slot"], infoset["num_actions"]
        total, is_uniform = 0.0, True
        for slot in range(first, first + count):
            total += sums[slot]
            is_uniform = is_uniform and sums[slot] == sums[first]
        for slot in range(first, first + count):
            strategy[slot] = sums[slot] / total if total > 0.0 and not is_uniform else 1.0 / count
