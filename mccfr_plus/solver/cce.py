"""Coarse correlated equilibria of games with any number of players and any payoffs, by CFR-S and CFR-Jr.

All players follow a profile that is drawn from those played. A player's gain by a plan of its own, chosen before the
draw, is its regret. CFR-Jr plays the current strategies, each a mixture of few pure plans; CFR-S draws a pure plan.

Reference: Celli, Marchesi, Bianchi and Gatti 2019, "Learning to correlate in multi-player general-sum sequential
games", sections 4 and 5.
"""

from typing import NamedTuple

import numpy as np

from mccfr_plus.bounds.treeplex import add_gradient, vertex_maximum
from mccfr_plus.errors import ConfigError
from mccfr_plus.estimators.full import touch_all
from mccfr_plus.estimators.traversal import draw_action
from mccfr_plus.evaluation.exact import AnyGame, own_reach
from mccfr_plus.kernels.compile import announce_compilation, kernel
from mccfr_plus.kernels.slots import bind
from mccfr_plus.minimizers import Minimizer
from mccfr_plus.minimizers.minimizer import minimize_with
from mccfr_plus.parameters import Seed, check_choice, check_whole, new_state
from mccfr_plus.solver.config import minimizer_of
from mccfr_plus.solver.loop import MINIMIZE
from mccfr_plus.trees.game_tree import compile_game
from mccfr_plus.trees.scratch import begin_gradient, new_scratch

METHODS = ("cfr_jr", "cfr_s")
_MOST_BYTES = 8 * 10**9


class CoarseCorrelatedEquilibrium(NamedTuple):
    """A uniform distribution over profiles.

    Attributes:
        profiles: ``[iterations, num_slots]`` float64: the strategies of all players, in the order of the tree's slots.
        values: ``[num_players]`` float64, expected payoffs.
        gaps: ``[num_players]`` float64: the gain of each player's best response to the distribution over the profiles.

    Examples:
        >>> import mccfr_plus
        >>> found = mccfr_plus.solve_cce("kuhn_poker(players=3)", 200)
        >>> found.profiles.shape, bool(found.gap < 0.05)
        ((200, 96), True)
    """

    profiles: np.ndarray
    values: np.ndarray
    gaps: np.ndarray

    @property
    def gap(self) -> float:
        """The largest gap, which is 0 in a coarse correlated equilibrium."""
        return float(self.gaps.max())


def solve_cce(
    game: AnyGame, iterations: int = 1_000, method: str = "cfr_jr", minimizer: Minimizer | str = "rm", seed: Seed = None
) -> CoarseCorrelatedEquilibrium:
    """Returns an approximate coarse correlated equilibrium, with its exact gaps (the players' gains from deviating).

    Args:
        game: The game (with any number of players and any payoffs), its name or its tree.
        iterations: Number of profiles, at least 1. The profiles take up iterations x slots x 8 bytes of memory.
        method: ``"cfr_jr"``, or ``"cfr_s"``, whose profiles are pure and drawn with `seed`.
        minimizer: A minimizer or its short name.

    Raises:
        ConfigError: If an argument is out of range.
        GameError: If the game cannot be compiled or has imperfect recall.

    Examples:
        >>> import mccfr_plus
        >>> found = mccfr_plus.solve_cce("matrix_sh", 100, "cfr_s", seed=1)
        >>> bool(found.gap < 0.2), sorted(set(found.profiles.reshape(-1).tolist()))
        (True, [0.0, 1.0])
    """
    check_whole("iterations", iterations)
    check_choice("method", method, METHODS)
    minimizer, tree = minimizer_of(minimizer), compile_game(game)
    tree.require_perfect_recall("a coarse correlated equilibrium")
    if iterations * tree.num_slots * 8 > _MOST_BYTES:
        most = _MOST_BYTES // (8 * tree.num_slots)
        raise ConfigError(f"iterations={iterations:,}: give at most {most:,}, since profiles may take at most 8 GB.")
    arrays, size = tree.arrays_with_leaves, tree.num_slots + tree.num_players
    scratch = new_scratch(arrays, tree.shape, new_state(seed))
    profiles, earned = np.empty((iterations, tree.num_slots)), np.zeros(tree.num_players)
    sums, tables, profile = np.zeros((tree.num_players, size)), minimizer.tables(tree), np.empty(tree.num_slots)
    play = bind(play_profiles, {MINIMIZE: minimize_with(minimizer)})
    options = minimizer.parameters(), method == "cfr_s"
    with announce_compilation(play, f"{method} + {minimizer.short_name}", 4):
        play(arrays, tree.uniform_strategy(), tables, scratch, *options, profile, profiles, sums, earned)
    best = [vertex_maximum(tree, player, 0.0, sums[player]) for player in range(tree.num_players)]
    return CoarseCorrelatedEquilibrium(profiles, earned / iterations, (np.array(best) - earned) / iterations)


@kernel
def play_profiles(tree, strategy, tables, scratch, parameters, samples, profile, profiles, sums, earned):
    """Writes `profiles`, pure plans with `samples`, and adds up gradients in `sums` and payoffs in `earned`."""
    for number in range(len(profiles)):
        for infoset in tree.infosets:
            first, count = infoset["first_slot"], infoset["num_actions"]
            chosen = first + draw_action(strategy, first, count, scratch.rng) if samples else -1
            for slot in range(first, first + count):
                profile[slot] = strategy[slot]
                if samples:
                    profile[slot] = 1.0 if slot == chosen else 0.0
                profiles[number, slot] = profile[slot]
        own_reach(tree, profile, scratch.reach)
        for player in range(len(earned)):
            begin_gradient(tree, scratch, player)
            earned[player] += add_gradient(tree, scratch.reach, scratch.gradient, player, 1.0, sums[player])
            touch_all(tree, scratch, player)
        for player in range(len(earned)):
            MINIMIZE(tree, strategy, tables, scratch, player, number + 1, parameters)
