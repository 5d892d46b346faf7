"""Which parts go together, on which games, and how the average is then formed."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mccfr_plus.averages.averaging import PowerAverage
from mccfr_plus.errors import ConfigError
from mccfr_plus.estimators import AverageMethod, Baseline, Estimator, SamplingWeights
from mccfr_plus.kernels.scratch import DRAWN_ACTIONS, NO_VISITS, VISITED
from mccfr_plus.minimizers import Minimizer
from mccfr_plus.minimizers.base import Rule
from mccfr_plus.tree.game_tree import GameTree
from mccfr_plus.tree.lazy_tree import LazyTree

logger = logging.getLogger("mccfr_plus")

_SUM_TOLERANCE = 1e-6
_MOST_THREADS_PER_CORE, _ALWAYS_ALLOWED_THREADS = 2, 8  # small machines may still try what larger ones run


class SolverConfig(NamedTuple):
    """The parts of a solver."""

    estimator: Estimator
    minimizer: Minimizer
    averaging: PowerAverage
    baseline: Baseline | None
    batch: Any
    alternating: bool
    threads: int = 1
    together: bool = True  # whether threads make one gradient together, or each its own

    def check_parts(self) -> None:
        """Raises ConfigError if the parts make no sense together, whatever the game."""
        estimator, name = self.estimator, f"estimator={self.estimator.short_name!r}"
        batch = self.batch
        if isinstance(batch, bool) or not isinstance(batch, int | np.integer) or batch < 1:
            raise ConfigError(f"batch={batch!r}: must be a whole number of traversals per gradient, at least 1.")
        if batch > 1 and not estimator.samples:
            raise ConfigError(
                f"batch={batch} with {name}: it samples nothing, so that all traversals would be the same."
            )
        self._check_threads()
        if self.baseline is not None:
            if not estimator.samples:
                raise ConfigError(
                    f"a baseline with {name}: it samples nothing, so that there is no variance to reduce."
                )
            if estimator.kernel is not None:
                raise ConfigError(f"a baseline with {name}: only the built-in estimators know how to use one.")
            if estimator.keeps_values:
                raise ConfigError(
                    f"a baseline with {name}: it has values of histories already, and no weights to tame."
                )
            if estimator.updates_all_players:
                raise ConfigError(
                    f"a baseline with {name}: not with update_all_players=True, where traversals belong to no player."
                )
        if not estimator.is_unbiased and self.minimizer.rule == Rule.DILATED:
            raise ConfigError(
                f"{name} with minimizer={self.minimizer.short_name!r}: it estimates regrets up to a factor per "
                "information state, and no gradient, which this minimizer needs. Use a regret matcher, such as rm."
            )
        if self.alternating and estimator.updates_all_players:
            raise ConfigError(
                f"alternating=True with {name} and update_all_players=True: one traversal serves all players, who are updated together; "
                "give alternating=False, or None."
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
            if estimator.average(2) != AverageMethod.VISITS:
                raise ConfigError(f"averaging='sampled' counts the actions drawn for opponents, and {name} draws none.")

    def _check_threads(self) -> None:
        threads, cores = self.threads, os.cpu_count() or 1
        if isinstance(threads, bool) or not isinstance(threads, int | np.integer) or threads < 1:
            raise ConfigError(f"threads={threads!r}: must be a whole number, at least 1.")
        if threads > max(_MOST_THREADS_PER_CORE * cores, _ALWAYS_ALLOWED_THREADS):
            raise ConfigError(
                f"threads={threads}: this machine has {cores} cores, and threads that share one are slower than one. "
                f"Give at most {cores}."
            )
        if threads == 1:
            return
        if threads > cores:
            logger.warning("threads=%s: this machine has %s cores, so that more threads gain nothing.", threads, cores)
        if not self.estimator.samples:
            raise ConfigError(
                f"threads={threads} with estimator={self.estimator.short_name!r}: it samples nothing, so that all "
                "threads would compute the same gradient."
            )
        if self.together and (self.baseline is not None or self.estimator.keeps_values):
            what = (
                "a baseline" if self.baseline is not None else f"estimator={self.estimator.short_name!r}, whose values"
            )
            raise ConfigError(
                f"threads={threads} with {what}: traversals write to it, so that results would depend on which thread "
                "was faster. Give thread_mode='fast', or one thread."
            )

    def check_game(self, tree: GameTree | LazyTree) -> None:
        """Raises GameError or ConfigError if the parts are wrong for a game."""
        if self.averaging.method == "sampled" and tree.num_players != 2:
            raise ConfigError(
                f"averaging='sampled' on a game with {tree.num_players} players: how often an opponent's infoset is "
                "visited also depends on the others' strategies, so that the average would be biased. Use lazy."
            )
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
        """Returns which part needs a complete tree, as a user names it; None if none does."""
        if self.estimator.needs_whole_tree:
            return f"estimator={self.estimator.short_name!r}"
        if self.minimizer.needs_whole_tree:
            return f"minimizer={self.minimizer.short_name!r} and weights that depend on the tree"
        if self.averaging.kernel is not None or self.averaging.method == "exact":
            return f"averaging={self.averaging.method!r}"
        return None

    def average_method(self, tree: GameTree | LazyTree) -> AverageMethod:
        """Returns how the average is added up."""
        return self.average_method_of(tree.num_players, tree.perfect_recall)

    def average_method_of(self, num_players: int, perfect_recall: bool) -> AverageMethod:
        """Returns how the average is added up in a game."""
        if self.averaging.kernel is not None:
            return AverageMethod.CUSTOM
        fixed = {
            "exact": AverageMethod.EXACT,
            "lazy": AverageMethod.LAZY,
            "optimistic": AverageMethod.OPTIMISTIC,
            "last": AverageMethod.NONE,
        }
        if self.averaging.method in fixed:
            return fixed[self.averaging.method]
        if not self.estimator.samples:
            return AverageMethod.EXACT
        if self.averaging.method == "auto" and perfect_recall:
            return AverageMethod.LAZY
        return self.estimator.average(num_players)

    def visit_mode(self, tree: GameTree | LazyTree) -> int:
        """Returns what traversals list."""
        if self.average_method(tree) != AverageMethod.VISITS:
            return NO_VISITS
        return DRAWN_ACTIONS if self.averaging.method == "sampled" else VISITED

    def sampling_strategy(
        self, tree: GameTree | LazyTree, strategy_of: Callable[[GameTree, Any], np.ndarray]
    ) -> np.ndarray:
        """Returns the estimator's own sampling strategy, ``[num_slots]`` float64; empty if it has none.

        Raises:
            ConfigError: If it is not a strategy of the game, or gives a legal action no probability.
        """
        if self.estimator.sampling_weights != SamplingWeights.SAMPLING or not isinstance(tree, GameTree):
            return np.zeros(0)
        given = self.estimator.sampling_strategy(tree)
        strategy = np.array(given, np.float64) if isinstance(given, np.ndarray) else strategy_of(tree, given)
        if strategy.shape != (tree.num_slots,):
            raise ConfigError(
                f"a sampling strategy of shape {strategy.shape}: {tree.game} has {tree.num_slots} (information state, "
                "action) pairs, in the order of its GameTree."
            )
        for infoset in range(tree.num_infosets):
            row = strategy[tree.slots(infoset)]
            if not (row > 0).all() or not abs(row.sum() - 1.0) < _SUM_TOLERANCE:
                raise ConfigError(
                    f"the sampling strategy at information state {tree.info_states[infoset]!r} is {row.tolist()}: "
                    "every legal action must have positive probability, or it is never tried, and they must sum to 1."
                )
        return strategy
