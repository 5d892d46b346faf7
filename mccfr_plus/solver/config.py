"""`SolverConfig`: the components and options of a solver, parsed once, and which of them go together."""

import logging
import os
from dataclasses import dataclass
from typing import Any, Self

from mccfr_plus.averages.methods import (
    DRAWN_ACTIONS,
    EXACT,
    LAST,
    LAZY,
    OPTIMISTIC,
    TOUCHED,
    VISITS,
    AverageMethod,
    user_defined,
)
from mccfr_plus.averages.own_traversal import own_traversal_method
from mccfr_plus.averages.power import PowerAverage
from mccfr_plus.errors import ConfigError
from mccfr_plus.estimators import Baseline, Estimator, SamplingWeights
from mccfr_plus.estimators.base import check_switch, check_whole
from mccfr_plus.evaluation.linear_program import require_zero_sum
from mccfr_plus.minimizers import Minimizer
from mccfr_plus.minimizers.dilated import Dilated
from mccfr_plus.solver.registry import average_of, baseline_of, default_minimizer, estimator_of, minimizer_of, spec_of
from mccfr_plus.trees.memory import bytes_of
from mccfr_plus.trees.tree import HISTORIES

logger = logging.getLogger("mccfr_plus")

DETERMINISTIC, FAST = "deterministic", "fast"
THREAD_MODES = (DETERMINISTIC, FAST)
TREES = ("auto", "compiled", "lazy", "rules")

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
        """Returns a config; components may be given by short names.

        Args:
            estimator: An estimator or its short name.
            minimizer: A minimizer or its short name; None: see `default_minimizer`.
            averaging: An average or its short name; None: the one of the minimizer's paper.
            alternating: None: alternating, unless a traversal serves all players.
            baseline: A baseline, its short name, True for the default one, or None.
            **options: The other fields.

        Raises:
            ConfigError: If a name is unknown, or as for the class.
        """
        estimator = estimator_of(estimator)
        minimizer = minimizer_of(default_minimizer(estimator) if minimizer is None else minimizer)
        return cls(
            estimator,
            minimizer,
            average_of(averaging, minimizer),
            baseline_of(baseline),
            alternating=not estimator.updates_all_players if alternating is None else alternating,
            **options,
        )

    def __post_init__(self) -> None:
        estimator, name = self.estimator, f"estimator={self.estimator.short_name!r}"
        batch = self.batch
        check_whole("batch", batch)
        if batch > 1 and not estimator.samples:
            raise ConfigError(
                f"batch={batch} with {name}: it samples nothing, so that all traversals would be the same."
            )
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
        self._check_threads()
        if self.baseline is not None:
            if not estimator.samples:
                raise ConfigError(
                    f"a baseline with {name}: it samples nothing, so that there is no variance to reduce."
                )
            if estimator.keeps_values:
                raise ConfigError(f"a baseline with {name}: it keeps values of histories already.")
            if estimator.updates_all_players:
                raise ConfigError(
                    f"a baseline with {name}: not with update_all_players=True, where traversals serve all players."
                )
            if estimator.kernel_with_baseline(True) is None:
                raise ConfigError(f"a baseline with {name}: it has no kernel that uses baselines.")
        if not estimator.is_unbiased and isinstance(self.minimizer, Dilated):
            raise ConfigError(
                f"{name} with minimizer={self.minimizer.short_name!r}: it estimates regrets up to a factor per "
                "information state, and no gradient, which this minimizer needs. Use a regret matcher, such as rm."
            )
        if self.minimizer.needs_full_gradients and estimator.samples:
            raise ConfigError(
                f"minimizer={self.minimizer.short_name!r} with {name}: it changes all information states in every "
                "iteration, so that it needs exact gradients. Use estimator='full', or another minimizer."
            )
        if estimator.needs_alternation and not self.alternating:
            raise ConfigError(
                f"alternating=False with {name}: one player's gradient takes the place of the other's; leave it out."
            )
        if self.alternating and estimator.updates_all_players:
            raise ConfigError(
                f"alternating=True with {name} and update_all_players=True: one traversal serves all players, who are "
                "updated together; give alternating=False, or None."
            )
        if estimator.sampling_weights == SamplingWeights.REGRETS and not self.minimizer.keeps_regrets:
            raise ConfigError(
                f"{name} prunes by negative regrets, and minimizer={self.minimizer.short_name!r} keeps none: use rm, "
                "linear, dcfr, prm or hedge."
            )
        if estimator.sampling_weights == SamplingWeights.AVERAGE and self.averaging.method == "last":
            raise ConfigError(f"{name} samples by the average strategy, and averaging='last' keeps none.")
        if self.averaging.method == "sampled":
            if estimator.updates_all_players:
                raise ConfigError(
                    "averaging='sampled' with update_all_players=True: drawn actions are exploring, not on-policy."
                )
            if estimator.stochastic_average(2) != "visits":
                raise ConfigError(f"averaging='sampled' counts the actions drawn for opponents, and {name} draws none.")

    def _check_threads(self) -> None:
        threads, cores = self.threads, os.cpu_count() or 1
        if self.thread_mode not in THREAD_MODES:
            raise ConfigError(f"thread_mode={self.thread_mode!r}: give one of {', '.join(THREAD_MODES)}.")
        check_threads(threads)
        if threads == 1:
            return
        if threads > cores:
            logger.warning("threads=%s: this machine has %s cores, so that more threads gain nothing.", threads, cores)
        if not self.estimator.samples and not (self.is_team and (self.symmetry or self.tree == "rules")):
            raise ConfigError(
                f"threads={threads} with estimator={self.estimator.short_name!r}: it samples nothing, so that all "
                "threads would compute the same gradient. They share one with tree='rules' and "
                "thread_mode='deterministic'."
            )
        if self.is_team and (self.baseline is not None or self.estimator.keeps_values):
            what = (
                "a baseline" if self.baseline is not None else f"estimator={self.estimator.short_name!r}, whose values"
            )
            raise ConfigError(
                f"threads={threads} with {what}: traversals write to it, so that results would depend on which thread "
                "was faster. Give thread_mode='fast', or one thread."
            )

    @property
    def is_team(self) -> bool:
        """Whether several threads make one gradient together."""
        return self.threads > 1 and self.thread_mode == DETERMINISTIC

    def check_game(self, tree: Any) -> None:
        """Raises GameError or ConfigError if the components are wrong for a game."""
        if self.averaging.method == "sampled" and tree.num_players != 2:
            raise ConfigError(
                f"averaging='sampled' on a game with {tree.num_players} players: how often an opponent's infoset is "
                "visited also depends on the others' strategies, so that the average would be biased. Use lazy."
            )
        if self.estimator.needs_zero_sum and HISTORIES in tree.provides:
            require_zero_sum(tree)
        if tree.perfect_recall:
            return
        if self.estimator.needs_perfect_recall:
            tree.require_perfect_recall(f"estimator={self.estimator.short_name!r}")
        if self.minimizer.needs_perfect_recall:
            tree.require_perfect_recall(f"minimizer={self.minimizer.short_name!r}")
        if self.averaging.method in ("exact", "lazy", "optimistic"):
            tree.require_perfect_recall(f"averaging={self.averaging.method!r}")
        logger.warning(
            "%s has imperfect recall: regret minimization has no guarantee on it, and its exploitability cannot be "
            "computed by a best response on information states.",
            tree.game.get_type().short_name,
        )

    def needs_whole_tree(self) -> str | None:
        """Returns which component needs a complete tree, as a user names it; None if none does."""
        if self.estimator.needs_whole_tree:
            return f"estimator={self.estimator.short_name!r}"
        if self.minimizer.needs_whole_tree:
            return f"minimizer={self.minimizer.short_name!r} and weights that depend on the tree"
        if self.averaging.kernel is not None or self.averaging.method == "exact":
            return f"averaging={self.averaging.method!r}"
        return None

    def needs_stored_nodes(self) -> str | None:
        """Returns which component needs every history to be stored, as a user names it; None if none does."""
        if self.baseline is not None:
            return "a baseline, which keeps a number per history"
        if self.estimator.keeps_values:
            return f"estimator={self.estimator.short_name!r}, which keeps values of histories"
        if self.estimator.needs_nodes:
            return f"estimator={self.estimator.short_name!r}"
        if self.averaging.kernel is not None or (self.averaging.method == "exact" and self.estimator.samples):
            return f"averaging={self.averaging.method!r}"
        return None

    def average_method(self, num_players: int, perfect_recall: bool, *, by_rules: bool = False) -> AverageMethod:
        """Returns how the average is formed in a game.

        Args:
            by_rules: Whether it is traversed by rules: slots are not in order there, and what does not sample touches
                all infosets.
        """
        estimator, method = self.estimator, self.averaging.method
        if self.averaging.kernel is not None:
            return user_defined(self.averaging.kernel)
        if method == "auto" and perfect_recall and estimator.samples:
            method = "lazy"
        if method not in ("exact", "lazy", "optimistic", "last"):
            method = estimator.stochastic_average(num_players) if estimator.samples else "exact"
        if method == "own_traversal":
            return own_traversal_method(estimator.visits_all_own)
        if method == "visits" and self.averaging.method == "sampled":
            return DRAWN_ACTIONS
        methods = {
            "exact": TOUCHED if by_rules else EXACT,
            "lazy": LAZY,
            "optimistic": OPTIMISTIC,
            "last": LAST,
            "touched": TOUCHED,
        }
        return methods.get(method, VISITS)

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
