"""What the loops call, and what they pass on: the places of the components, the bundles of arrays, and `composed`."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from mccfr_plus.averages.methods import AverageMethod
from mccfr_plus.errors import ConfigError
from mccfr_plus.estimators.base import Estimator
from mccfr_plus.estimators.baseline import Baseline
from mccfr_plus.estimators.draws import draw_at_node, draw_listed_outcome, draw_per_infoset
from mccfr_plus.estimators.visits import list_nothing
from mccfr_plus.kernels.compile import compose, inline_kernel
from mccfr_plus.kernels.scratch import STRIDE, THREAD, begin_gradient
from mccfr_plus.minimizers.base import Minimizer, minimize_with
from mccfr_plus.trees.by_rules.positions import cannot_expand

# Composed in; see `composed`.
ALTERNATING = True  # whether each player is updated before the next one's gradient is estimated
UPDATE_ALL_PLAYERS = False  # whether the traversal for player 0 serves all players
LISTS_VISITS = False  # whether traversals list visits, which are added to the average


class State(NamedTuple):
    """What carries from one iteration to the next."""

    strategy: np.ndarray  # [num_slots] float64, of all players
    tables: np.ndarray  # [num_tables, num_slots] float64, the minimizer's
    average: np.ndarray  # [num_slots + num_players] float64, the sums of the average strategy


class Settings(NamedTuple):
    """What the components are told."""

    estimator: np.ndarray  # [any] float64: see `Estimator.parameters`
    sampling_weights: np.ndarray  # [num_slots + ...] float64, or empty: see `SamplingWeights`
    minimizer: np.ndarray  # [any] float64: see `Minimizer.parameters`; modified in place
    gamma: float  # exponent of the weights of iterations in the average
    scheduled: np.ndarray  # [any] float64: weights of the first iterations, if they are others; see `weight_of`
    batch: int  # traversals per gradient, of each thread


@inline_kernel
def estimate(parameters, sampling_weights, tree, strategy, scratch, player):
    """The place of an estimator's kernel; see `Estimator`."""


@inline_kernel
def minimize(tree, strategy, tables, scratch, player, iteration, parameters):
    """The place of `minimizers.base.minimize` with a minimizer's kernel."""


@inline_kernel
def accumulate(tree, strategy, average, scratch, player, weight):
    """The place of an average's kernel; see `AverageMethod`."""
    return True


@inline_kernel
def step_of(step, num_players):
    """Returns the player and whether it is updated, in a step 0 .. 2 * num_players - 1 of an iteration."""
    if ALTERNATING:
        return step // 2, step % 2 == 1
    return step % num_players, step >= num_players


@inline_kernel
def number_of_iteration(counts, finished):
    """Returns the number, from 1 on, of this thread's iteration after so many that it has finished."""
    first = 1 if counts[STRIDE] == 1 else counts[THREAD] + 1
    return finished * counts[STRIDE] + first


@inline_kernel
def weight_of(iteration, gamma, scheduled):
    """Returns the weight of an iteration in the average: an entry of `scheduled` if it is in there, else t^gamma."""
    if iteration < len(scheduled):
        return scheduled[iteration]
    if gamma == 1.0:
        return float(iteration)
    return 1.0 if gamma == 0.0 else float(iteration) ** gamma


@inline_kernel
def begin_gradients(tree, scratch, player):
    """Begins the gradient of the player, or with player 0 those of all that its traversal serves."""
    if not UPDATE_ALL_PLAYERS:
        begin_gradient(tree, scratch, player)
    elif player == 0:
        for other in range(len(tree.slot_range) - 1):
            begin_gradient(tree, scratch, other)


@inline_kernel
def num_traversals(player, batch):
    """Returns how many traversals are made in a player's step."""
    return 0 if UPDATE_ALL_PLAYERS and player > 0 else batch


def estimate_with(
    estimator: Estimator,
    baseline: Baseline | None = None,
    *,
    list_visit: Callable = list_nothing,
    is_lazy: bool = False,
    access: Mapping[str, Any] | None = None,
) -> Callable:
    """Returns the kernel of an estimator.

    Args:
        baseline: Its control variates, if it has some.
        list_visit: What it lists at opponents' infosets; see `mccfr_plus.estimators.visits`.
        is_lazy: Whether the tree is expanded lazily.
        access: The functions of `mccfr_plus.trees.access` for a game that is not stored; see `access_of`.

    Raises:
        ConfigError: If it has no kernel, or none that uses baselines.
    """
    if baseline is None:
        kernel = estimator.kernel if access is None else estimator.kernel_by_rules
        what = "no kernel: give its class one; see mccfr_plus.Estimator"
    else:
        kernel = estimator.kernel_with_baseline(baseline.backup == "expected")
        what = "no kernel that uses baselines; see mccfr_plus.Estimator.kernel_with_baseline"
    if kernel is None:
        raise ConfigError(f"{estimator!r} has {what}.")
    draw = draw_per_infoset if estimator.samples_per_infoset else draw_at_node
    # A kernel need not use all of these: a user-defined one uses none.
    names = {**access_of(access), "IS_LAZY": is_lazy, "list_visit": list_visit, "draw_for_infoset": draw}
    names["ENTERS_OPPONENTS"] = list_visit is not list_nothing or estimator.samples_per_infoset
    return compose(kernel, strict=False, **names)


def access_of(access: Mapping[str, Any] | None) -> dict[str, Any]:
    """Returns what is composed into a traversal of a game that is not stored; nothing for None."""
    if access is None:
        return {}
    draw = compose(draw_listed_outcome, outcome_probabilities=access["outcome_probabilities"])
    return {**access, "expand": cannot_expand, "draw_at_chance": draw}


def composed(
    loop: Callable,
    estimator: Estimator,
    minimizer: Minimizer,
    average: AverageMethod,
    *,
    baseline: Baseline | None = None,
    alternating: bool = True,
    is_lazy: bool = False,
    access: Mapping[str, Any] | None = None,
) -> Callable:
    """Returns a loop with the kernels of its components.

    Args:
        loop: `single.single`, `thread_team.thread_team`, `resumable.resumable`, or a kernel that calls some of these
            components.
        average: How the average is formed.
        baseline: The estimator's control variates, if it has some.
        alternating: Whether each player is updated before the next one's gradient is estimated.
        is_lazy: Whether the tree is expanded lazily.
        access: See `estimate_with`.

    Raises:
        ConfigError: If a component has no kernel.
    """
    return compose(
        loop,
        strict=False,
        estimate=estimate_with(estimator, baseline, list_visit=average.list_visit, is_lazy=is_lazy, access=access),
        minimize=compose(minimize_with(minimizer), strict=False, **access_of(access)),
        accumulate=compose(average.accumulate, strict=False, IS_LAZY=is_lazy, **access_of(access)),
        LISTS_VISITS=average.list_visit is not list_nothing,
        ALTERNATING=alternating,
        UPDATE_ALL_PLAYERS=estimator.updates_all_players,
    )
