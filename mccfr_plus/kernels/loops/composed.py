"""One loop per combination of components: the kernels of an estimator, a minimizer and an average, put together."""

from collections.abc import Callable, Mapping
from typing import Any

from mccfr_plus.averages.methods import AverageMethod
from mccfr_plus.errors import ConfigError
from mccfr_plus.estimators.base import Estimator
from mccfr_plus.estimators.baseline import Baseline
from mccfr_plus.estimators.draws import draw_at_node, draw_listed_outcome, draw_per_infoset
from mccfr_plus.estimators.visits import list_nothing
from mccfr_plus.kernels.compile import compose
from mccfr_plus.minimizers.base import Minimizer, minimize_with
from mccfr_plus.tree.by_rules.positions import cannot_expand


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
        access: The functions of `mccfr_plus.tree.access` for a game that is not stored; see `access_of`.

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
        settle=average.settle,
        LISTS_VISITS=average.lists_visits,
        ALTERNATING=alternating,
        UPDATE_ALL_PLAYERS=estimator.updates_all_players,
    )
