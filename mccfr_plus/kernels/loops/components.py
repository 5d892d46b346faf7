"""What the loops call, and what they pass on: the places of the components, and the bundles of arrays."""

from typing import NamedTuple

import numpy as np

from mccfr_plus.kernels.compile import inline_kernel
from mccfr_plus.kernels.scratch import STRIDE, THREAD, begin_gradient

# Composed in; see `composed.Components`.
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
def settle(tree, strategy, average, scratch, player):
    """The place of `AverageMethod.settle`."""


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
