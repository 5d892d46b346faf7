"""`SolverConfig`: the components and options of a solver, parsed once, and which of them go together.

`composed` returns a kernel, such as the loop, with the kernels of these components in its slots.
"""

import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Self

from mccfr_plus.averages.average import AverageMethod, PowerAverage, mechanism_for, method_of
from mccfr_plus.errors import ConfigError
from mccfr_plus.estimators import Baseline, Estimator
from mccfr_plus.estimators.draws import (
    DRAW_AT_CHANCE,
    DRAW_FOR_OPPONENT,
    LIST_VISIT,
    draw_at_node,
    draw_listed_outcome,
    draw_per_infoset,
    list_nothing,
)
from mccfr_plus.estimators.traversal import ENTERS_OPPONENTS
from mccfr_plus.evaluation.linear_program import require_zero_sum
from mccfr_plus.kernels.slots import Bindings, bind
from mccfr_plus.minimizers import Minimizer
from mccfr_plus.minimizers.base import minimize_with
from mccfr_plus.parameters import check_switch, check_whole
from mccfr_plus.solver.loop import (
    ACCUMULATE,
    ALTERNATING,
    ESTIMATE,
    LISTS_VISITS,
    MAY_END,
    MINIMIZE,
    TEAM,
    UPDATE_ALL_PLAYERS,
)
from mccfr_plus.solver.registry import average_of, baseline_of, default_minimizer, estimator_of, minimizer_of, spec_of
from mccfr_plus.trees.access import FIRST_NODE
from mccfr_plus.trees.memory import bytes_of
from mccfr_plus.trees.needs import (
    ALTERNATION,
    AVERAGE,
    BASELINES,
    DRAWS,
    EXACT_GRADIENTS,
    FIXED_VALUES,
    GRADIENTS,
    HISTORIES,
    NO_VALUES,
    NODES,
    ONE_PLAYER,
    OPPONENTS_DRAWN,
    PERFECT_RECALL,
    REGRETS,
    TWO_PLAYERS,
    ZERO_SUM,
)

logger = logging.getLogger("mccfr_plus")

DETERMINISTIC, FAST = "deterministic", "fast"
THREAD_MODES = (DETERMINISTIC, FAST)
# What may be missing: which part should provide it, and what to do.
MESSAGES = {
    DRAWS: (
        "estimator",
        "it samples nothing, so that all its gradients would be the same: use one that samples. Several threads need "
        "tree='rules' and thread_mode='deterministic', where they share one.",
    ),
    GRADIENTS: (
        "estimator",
        "it estimates regrets up to a factor per information state, and no gradient: use a regret matcher, such as rm.",
    ),
    EXACT_GRADIENTS: (
        "estimator",
        "it samples, and exact gradients at all information states are needed in every iteration: use "
        "estimator='full', or another minimizer.",
    ),
    NO_VALUES: ("estimator", "it keeps values of histories already."),
    ONE_PLAYER: ("estimator", "with update_all_players=True its traversals serve all players together: leave it out."),
    BASELINES: ("estimator", "it has no kernel that uses baselines."),
    FIXED_VALUES: (
        "values",
        "traversals write to values of histories, so that results would depend on which thread was faster: give "
        "thread_mode='fast', or one thread.",
    ),
    OPPONENTS_DRAWN: ("estimator", "it draws no actions of opponents from their strategies, to be counted."),
    REGRETS: ("minimizer", "it keeps no negative regrets to prune by: use rm, linear, dcfr, prm or hedge."),
    AVERAGE: ("averaging", "there is no average to sample by."),
    ALTERNATION: ("alternating", "one player's gradient takes the place of the other's: leave it out."),
}

TREES = ("auto", "compiled", "lazy", "rules")

NO_SLOTS: Bindings = MappingProxyType({})

_MOST_THREADS_PER_CORE, _ALWAYS_ALLOWED_THREADS = 2, 8  # small machines may still try what larger ones run


@dataclass(frozen=True)
class SolverConfig:
    """The components and options of a solver. `Solver` explains each.

    `from_specs` makes one from short names.

    Raises:
        ConfigError: If a value is out of range, or components do not go together.
    """

    estimator: Estimator
    minimizer: Minimizer
    averaging: PowerAverage
    baseline: Baseline | None = None
    batch: int = 1
    alternating: bool = True
    threads: int = 1
    thread_mode: str = DETERMINISTIC
    tree: str = "auto"
    memory: str | int | float | None = None
    symmetry: bool = False

    @classmethod
    def from_specs(
        cls,
        estimator: Estimator | str = "external",
        minimizer: Minimizer | str | None = "rm",
        averaging: PowerAverage | str | None = None,
        *,
        alternating: bool | None = None,
        baseline: Baseline | str | bool | None = None,
        **options: Any,
    ) -> Self:
        """Returns a config; components may be given by short names, as for `Solver`, and `options` are other fields.

        With minimizer=None, it is `default_minimizer`.
        """
        estimator = estimator_of(estimator)
        minimizer = minimizer_of(default_minimizer(estimator) if minimizer is None else minimizer)
        return cls(
            estimator,
            minimizer,
            average_of(averaging, minimizer),
            baseline_of(baseline),
            alternating=not estimator.update_all_players if alternating is None else alternating,
            **options,
        )

    def __post_init__(self) -> None:
        check_whole("batch", self.batch)
        for flag in ("alternating", "symmetry"):
            check_switch(flag, getattr(self, flag))
        if self.tree not in TREES:
            raise ConfigError(f"tree={self.tree!r}: give one of {', '.join(TREES)}.")
        if self.symmetry and self.tree not in ("auto", "rules"):
            raise ConfigError(
                f"symmetry=True with tree={self.tree!r}: symmetries are those of rules, give tree='rules'."
            )
        if self.memory is not None:
            bytes_of(self.memory)
        if self.thread_mode not in THREAD_MODES:
            raise ConfigError(f"thread_mode={self.thread_mode!r}: give one of {', '.join(THREAD_MODES)}.")
        check_threads(self.threads)
        cores = os.cpu_count() or 1
        if self.threads > cores:
            logger.warning("threads=%s: this machine has %s cores, so that more gain nothing.", self.threads, cores)
        self._check_needs()

    def _check_needs(self) -> None:
        """Raises ConfigError where one part needs what no other provides."""
        provided = self.estimator.provides | self.minimizer.provides | self.averaging.provides
        provided |= {ALTERNATION} if self.alternating else set()
        if self.baseline is not None:
            provided -= {FIXED_VALUES}
        for who, needs in self.parts().items():
            for need, (provider, message) in MESSAGES.items():
                if need in needs and need not in provided:
                    raise ConfigError(f"{who} with {self._label(provider)}: {message}")

    def parts(self) -> dict[str, frozenset[str]]:
        """Returns what each component and option needs, by how messages call it."""
        by_rules = self.is_team and (self.symmetry or self.tree == "rules")  # threads share one gradient
        of_threads = {DRAWS} if self.threads > 1 and not by_rules else set()
        of_average = {HISTORIES} if self.averaging.method == "exact" and DRAWS in self.estimator.provides else set()
        of_baseline = {DRAWS, NO_VALUES, ONE_PLAYER, BASELINES, NODES} if self.baseline is not None else set()
        return {
            f"batch={self.batch}": frozenset({DRAWS} if self.batch > 1 else set()),
            f"threads={self.threads}": frozenset(of_threads | ({FIXED_VALUES} if self.is_team else set())),
            "a baseline": frozenset(of_baseline),
            self._label("alternating"): frozenset({ONE_PLAYER} if self.alternating else set()),
            **{self._label(name): getattr(self, name).needs for name in ("estimator", "minimizer")},
            self._label("averaging"): self.averaging.needs | of_average,
        }

    def _label(self, part: str) -> str:
        """Returns how messages call a component or option; ``"values"``: the part that learns values of histories."""
        if part == "values":
            return "a baseline" if self.baseline is not None else self._label("estimator")
        value = getattr(self, part)
        if part == "averaging":
            return f"averaging={value.method!r}"
        return f"{part}={value if isinstance(value, bool) else value.short_name!r}"

    def who_needs(self, *words: str) -> str | None:
        """Returns which part needs one of these of the tree, as a user names it; None if none does."""
        return next((who for who, needs in self.parts().items() if needs.intersection(words)), None)

    @property
    def is_team(self) -> bool:
        """Whether several threads make one gradient together."""
        return self.threads > 1 and self.thread_mode == DETERMINISTIC

    def check_game(self, tree: Any) -> None:
        """Raises GameError or ConfigError if the components are wrong for a game."""
        for who, needs in self.parts().items():
            if TWO_PLAYERS in needs and tree.num_players != 2:
                raise ConfigError(
                    f"{who} on a game with {tree.num_players} players: how often an opponent's infoset is visited also "
                    "depends on the others' strategies, so that the average would be biased. Use lazy."
                )
            if ZERO_SUM in needs and HISTORIES in tree.provides:
                require_zero_sum(tree)
            if PERFECT_RECALL in needs:
                tree.require_perfect_recall(who)
        if not tree.perfect_recall:
            logger.warning(
                "%s has imperfect recall: regret minimization has no guarantee on it, and its exploitability cannot be "
                "computed by a best response on information states.",
                tree.game.get_type().short_name,
            )

    def average_method(self, num_players: int, perfect_recall: bool, *, by_rules: bool = False) -> AverageMethod:
        """Returns how the average is formed in a game, which may be traversed by rules."""
        mechanism = mechanism_for(self.averaging, self.estimator, num_players, perfect_recall, by_rules=by_rules)
        return method_of(mechanism, self.averaging.kernel)

    def describe(self) -> dict[str, Any]:
        """Returns the specs of the components by name, with None where no text stands for one; see `spec_of`."""
        names = ("estimator", "minimizer", "averaging", "baseline")
        return {name: spec_of(getattr(self, name), name) for name in names}

    def __str__(self) -> str:
        """Returns how messages call the combination, such as ``"external + rm"``."""
        return f"{self.estimator.short_name} + {self.minimizer.short_name}"


def check_threads(threads: int) -> None:
    """Raises ConfigError if a number of threads is none, or more than this machine should be given."""
    cores = os.cpu_count() or 1
    check_whole("threads", threads)
    if threads > max(_MOST_THREADS_PER_CORE * cores, _ALWAYS_ALLOWED_THREADS):
        raise ConfigError(
            f"threads={threads}: this machine has {cores} cores, and threads that share one are slower than one. "
            f"Give at most {cores}."
        )


# --- the kernel ---


def estimate_with(
    estimator: Estimator,
    baseline: Baseline | None = None,
    *,
    list_visit: Callable = list_nothing,
    tree_slots: Bindings = NO_SLOTS,
) -> Callable:
    """Returns the kernel of an estimator; ConfigError if it has none, or none that uses baselines.

    Args:
        list_visit: What it lists at opponents' infosets; see `mccfr_plus.estimators.draws`.
        tree_slots: What fills slots of `mccfr_plus.trees.access`, for trees that are not stored as a whole.
    """
    if baseline is None:
        kernel = estimator.kernel_by_rules if FIRST_NODE in tree_slots else estimator.kernel
        what = "no kernel: give its class one; see mccfr_plus.Estimator"
    else:
        kernel = estimator.kernel_with_baseline(baseline.backup == "expected")
        what = "no kernel that uses baselines; see mccfr_plus.Estimator.kernel_with_baseline"
    if kernel is None:
        raise ConfigError(f"{estimator!r} has {what}.")
    # A kernel need not use all of these: a user-defined one uses none.
    bindings = {
        **tree_slots,
        LIST_VISIT: list_visit,
        DRAW_FOR_OPPONENT: draw_per_infoset if estimator.sample_per_infoset else draw_at_node,
        ENTERS_OPPONENTS: list_visit is not list_nothing or estimator.sample_per_infoset,
    }
    return bind(kernel, bindings, partial=True)


def composed(
    kernel: Callable,
    config: SolverConfig,
    average: AverageMethod,
    *,
    tree_slots: Bindings = NO_SLOTS,
    may_end: bool = False,
    partial: bool = False,
) -> Callable:
    """Returns a kernel, such as `loop`, with the kernels of a config's components; see `estimate_with` and `MAY_END`.

    With `partial`, the kernel may leave some of the components out.
    """
    if FIRST_NODE in tree_slots:  # the game is not stored
        tree_slots = {**tree_slots, DRAW_AT_CHANCE: draw_listed_outcome}
    estimator, list_visit = config.estimator, average.list_visit
    components = {
        ESTIMATE: estimate_with(estimator, config.baseline, list_visit=list_visit, tree_slots=tree_slots),
        MINIMIZE: bind(minimize_with(config.minimizer), tree_slots, partial=True),
        ACCUMULATE: bind(average.accumulate, tree_slots, partial=True),
        LISTS_VISITS: list_visit is not list_nothing,
        ALTERNATING: config.alternating,
        UPDATE_ALL_PLAYERS: estimator.update_all_players,
        TEAM: config.is_team,
        MAY_END: may_end,
    }
    return bind(kernel, components, partial=partial)
