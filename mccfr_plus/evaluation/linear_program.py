"""Equilibria of two-player zero-sum games by the linear program of the sequence form, solved by SciPy's HiGHS.

With x player 0's plan over sequences, A its payoffs times chance by the last sequences of both players, and v(J) its
least payoff from player 1's information set J on,

    maximize    sum of v(J) over the J that no own sequence precedes, plus the payoffs at player 1's empty sequence
    subject to  v(J) <= (A'x)[J, b] + sum of v(J') over the J' right behind (J, b)      for all (J, b)
                sum over a of x[I, a] = x[parent of I],  x of the empty sequence = 1,  x >= 0.

The dual values of the first rows are a plan of player 1 (Koller, Megiddo, von Stengel 1996, section 3).
"""

from typing import Any, NamedTuple

import numpy as np
import pyspiel

from mccfr_plus.errors import GameError
from mccfr_plus.evaluation.exact import evaluate_strategy, normalize
from mccfr_plus.policies.tree_policy import TreePolicy
from mccfr_plus.trees.arrays import BLOCK
from mccfr_plus.trees.game_tree import GameTree, compile_game

_TOLERANCE = 1e-10  # of HiGHS, which takes no smaller one; payoffs are scaled to 1


class Equilibrium(NamedTuple):
    """An equilibrium of a two-player zero-sum game, with bounds that show how exact it is.

    Attributes:
        policy: The strategies of both players, uniform where the player's own strategy does not lead.
        lower: Player 0's payoff against a best response to its strategy.
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
    """Returns an exact equilibrium of a two-player zero-sum game, by linear programming.

    It takes less than a CPU second on `leduc_poker` (4,920 pairs of last sequences with a payoff), 4 on `liars_dice`
    (147,420) and 93 on `leduc_ranks(ranks=28)` (970,816), with an exploitability below 1e-14. Use `Solver` for larger
    games, and those with very many information sets.

    Raises:
        GameError: If the game does not have two players, their payoffs do not add up to 0, a player has imperfect
            recall, or HiGHS finds no solution.

    Examples:
        >>> import mccfr_plus
        >>> round(mccfr_plus.solve_lp("leduc_poker").value, 9)
        -0.085606424
    """
    tree = compile_game(game)
    require_zero_sum(tree)
    strategy = np.zeros(tree.num_slots)
    if tree.num_slots:
        plans = _plans(tree)
        normalize(np.where(plans > _TOLERANCE, plans, 0.0), tree.arrays.infosets, strategy)
    best_responses = evaluate_strategy(tree, strategy).best_response_values.tolist()
    return Equilibrium(TreePolicy(tree, strategy), 0.0 - best_responses[1], best_responses[0])


def _plans(tree: GameTree) -> np.ndarray:
    """Returns the plans of both players, ``[num_slots]``, up to rounding."""
    from scipy.optimize import linprog  # here, as importing SciPy takes long
    from scipy.sparse import csr_array, hstack

    arrays, split, num_slots = tree.arrays_with_leaves, int(tree.arrays.slot_range[1]), tree.num_slots
    payoffs = _payoffs(tree)
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
        raise GameError(f"{tree.game}: HiGHS finds no equilibrium ({result.message}). Use mccfr_plus.Solver.")
    return np.concatenate([result.x[:split], -result.ineqlin.marginals])


def require_zero_sum(tree: GameTree) -> None:
    """Raises GameError unless the game has two players whose payoffs add up to 0."""
    if tree.num_players != 2 or np.abs(tree.arrays.payoffs.sum(axis=1)).max() > 1e-9:
        raise GameError(f"{tree.game} is not a two-player zero-sum game, which this needs.")


def num_entries(tree: GameTree) -> int:
    """Returns the size of the program: the number of pairs of last sequences with a payoff."""
    arrays = tree.arrays_with_leaves
    return int(np.count_nonzero(arrays.leaf_value[: arrays.leaf_start[arrays.leaf_range[1]]]))


def _payoffs(tree: GameTree) -> Any:
    """Returns A as a csr_array by both players' last slots; empty sequences are the last two rows and columns."""
    from scipy.sparse import csr_array

    arrays, size = tree.arrays_with_leaves, tree.num_slots + 2
    blocks = np.arange(arrays.leaf_range[1])  # player 0's come first
    block_of = np.repeat(blocks, np.diff(arrays.leaf_start)[blocks])
    used = np.flatnonzero(arrays.leaf_value[: len(block_of)])  # the others fill up blocks
    rows = arrays.leaf_row[block_of[used] * BLOCK + used % BLOCK]  # a block's length is a multiple of BLOCK
    return csr_array((arrays.leaf_value[used], (rows, arrays.leaf_others[used])), shape=(size, size))


def _plan(tree: GameTree, player: int) -> Any:
    """Returns the csr_array of the plan's equations: a row per infoset, 1 at its slots and -1 at the parent's."""
    from scipy.sparse import csr_array

    infosets = tree.arrays.infosets[slice(*tree.arrays.infoset_range[player : player + 2])]
    first, end = tree.arrays.slot_range[player : player + 2].tolist()
    has_parent = np.flatnonzero(infosets["parent_slot"] < tree.num_slots)
    rows = np.concatenate([np.repeat(np.arange(len(infosets)), infosets["num_actions"]), has_parent])
    columns = np.concatenate([np.arange(end - first), infosets["parent_slot"][has_parent] - first])
    values = np.repeat([1.0, -1.0], [end - first, len(has_parent)])
    return csr_array((values, (rows, columns)), shape=(len(infosets), end - first))
