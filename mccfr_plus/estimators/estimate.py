"""The kernels behind the built-in estimators: one that samples, and one for what keeps values of histories."""

from mccfr_plus.estimators.base import Scheme
from mccfr_plus.estimators.controlled import ONE, controlled_traversal
from mccfr_plus.estimators.escher import escher_traversal
from mccfr_plus.estimators.full import begin_full_traversal, full_gradient
from mccfr_plus.estimators.outcome import outcome_traversal, shared_outcome_traversal
from mccfr_plus.estimators.traversal import ALL, traversal
from mccfr_plus.kernels.compile import inline_kernel
from mccfr_plus.kernels.scratch import NO_VISITS

_FULL, _FULL_WALK, _CHANCE, _OPPONENT, _EXTERNAL, _AVERAGE_STRATEGY, _OUTCOME, _SHARED_OUTCOME, _ESCHER = (
    int(s) for s in list(Scheme)[1:]
)


@inline_kernel
def estimate(parameters, sampling_weights, tree, strategy, scratch, player, visit_mode):
    """Runs the built-in scheme whose number is ``parameters[0]``. `scratch` is modified in place."""
    scheme = int(parameters[0])
    if scheme == _FULL:
        full_gradient(tree, strategy, scratch, player)
    elif scheme <= _AVERAGE_STRATEGY:
        subset, epsilon, tau, beta = ALL, 1.0, 0.0, 0.0
        if scheme >= _EXTERNAL:
            subset, epsilon, tau, beta = int(parameters[1]), parameters[2], parameters[3], parameters[4]
        all_chance = scheme in (_FULL_WALK, _OPPONENT)
        all_opponents = scheme <= _CHANCE
        prune = scheme == _FULL_WALK and parameters[1] > 0.0
        if scheme == _FULL_WALK:
            begin_full_traversal(tree, scratch, player)
        mode = NO_VISITS if all_opponents else visit_mode
        traversal(
            tree,
            strategy,
            sampling_weights,
            scratch,
            player,
            all_chance,
            all_opponents,
            prune,
            subset,
            epsilon,
            tau,
            beta,
            mode,
        )
    elif scheme == _OUTCOME:
        outcome_traversal(tree, strategy, sampling_weights, scratch, player, parameters[1], visit_mode)
    else:
        shared_outcome_traversal(tree, strategy, sampling_weights, scratch, parameters[1], visit_mode)


@inline_kernel
def estimate_controlled(
    parameters, sampling_weights, baseline, rate, expected, tree, strategy, scratch, player, visit_mode
):
    """Runs a built-in scheme with values of histories: ESCHER, or one that samples, with control variates.

    `baseline`, which holds the values, and `scratch` are modified in place.
    """
    scheme = int(parameters[0])
    if scheme == _ESCHER:
        refresh = int(parameters[1])
        escher_traversal(
            tree, strategy, sampling_weights, baseline, scratch, player, refresh, parameters[2], visit_mode
        )
        return
    own, epsilon, tau, beta = ALL, 1.0, 0.0, 0.0
    if scheme == _OUTCOME:
        own, epsilon = ONE, parameters[1]
    elif scheme >= _EXTERNAL:
        own, epsilon, tau, beta = int(parameters[1]), parameters[2], parameters[3], parameters[4]
    controlled_traversal(
        tree,
        strategy,
        sampling_weights,
        baseline,
        scratch,
        player,
        scheme == _OPPONENT,
        scheme == _CHANCE,
        own,
        epsilon,
        tau,
        beta,
        rate,
        expected,
        visit_mode,
    )
