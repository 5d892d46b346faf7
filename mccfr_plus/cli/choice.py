"""Which parts `mccfr-plus solve` takes where the command line names none."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from mccfr_plus.averages import PowerAverage
from mccfr_plus.errors import ConfigError
from mccfr_plus.estimators import Baseline, Estimator, ExternalSampling
from mccfr_plus.minimizers import Minimizer
from mccfr_plus.solver import registry as parts
from mccfr_plus.solver.config import DETERMINISTIC, SolverConfig
from mccfr_plus.tree.confidence_interval import as_text
from mccfr_plus.tree.game_tree import GameTree
from mccfr_plus.tree.size_estimate import estimate_size

# A full iteration takes about 10 ns per history, so that a tree of this size gets some hundred of them in ten seconds.
# After as many (games of 1 to 2 million histories, stopped early) full traversals were still 4 to 10 times closer to
# an equilibrium than external sampling was in the same time; on smaller trees it is 100 to 1e6 times.
_FULL_MAX_NODES = 10_000_000

# Exploitability after 10 s (5 s on the larger two), November 2026, for full traversals with
#                  rm+      dcfr     prm+
#   leduc_poker    2.2e-07  7.0e-07  6.3e-10
#   liars_dice     2.4e-06  1.3e-06  5.3e-05
#   goofspiel 6    1.5e-04  3.4e-04  6.1e-05
#   leduc, 3 pl.   1.5e-02  8.6e-03  6.3e-03
_MINIMIZER_OF_FULL = "prm+"


# An iteration of external sampling on a tree that is_lazy asks pyspiel for each new history: at its 1e5 per second and
# core, about a second. Outcome sampling learns from thousands of plays in that time.
EXTERNAL_MAX_NODES = 1e5

_ENDLESS_NODES = 1e9  # hours of a traversal on a tree that is_lazy
_PROBE_SIZE = 10_000  # histories


class Specs(NamedTuple):
    """Parts as on the command line; None: none named."""

    estimator: str | None
    minimizer: str | None
    averaging: str | None

    def check(
        self,
        baseline: Baseline | None,
        batch: int,
        alternating: bool | None,
        threads: int = 1,
        thread_mode: str = DETERMINISTIC,
    ) -> None:
        """Raises ConfigError if a part named does not exist or does not go with the others, whatever the game."""
        minimizer = parts.minimizer_of(self.minimizer or "rm")
        averaging = parts.average_of(self.averaging, minimizer)
        if self.estimator is not None:
            estimator = parts.estimator_of(self.estimator)
            SolverConfig(estimator, minimizer, averaging, baseline, batch, bool(alternating), threads, thread_mode)


class Choice(NamedTuple):
    """Parts for a game, and why these."""

    estimator: Estimator
    minimizer: Minimizer
    averaging: PowerAverage
    reason: str  # empty if all were named

    def names(self, specs: Specs) -> dict[str, str]:
        """Returns the parts as the command line would name them."""
        return {
            "estimator": specs.estimator or _name_of(self.estimator, parts.ESTIMATORS),
            "minimizer": specs.minimizer or _name_of(self.minimizer, parts.MINIMIZERS),
            "averaging": specs.averaging or _name_of(self.averaging, parts.AVERAGES),
        }


def choose(tree: GameTree, specs: Specs) -> Choice:
    """Returns the parts of the command line, the missing ones chosen for the game."""
    estimator, why = specs.estimator, "named on the command line"
    if estimator is None and not tree.perfect_recall:
        estimator, why = "outcome", "of the estimators, only this one plays games of imperfect recall"
    elif estimator is None and tree.num_nodes <= _FULL_MAX_NODES:
        estimator, why = "full", f"full traversals are cheap with {tree.num_nodes:,} histories"
    elif estimator is None:
        estimator, why = "external", f"sampling starts faster with {tree.num_nodes:,} histories"
    chosen = parts.estimator_of(estimator)
    is_full = isinstance(chosen, parts.ESTIMATORS["full"])  # type: ignore[arg-type]
    minimizer = parts.minimizer_of(specs.minimizer or (_MINIMIZER_OF_FULL if is_full else "rm"))
    averaging = parts.average_of(specs.averaging, minimizer)
    return Choice(chosen, minimizer, averaging, "" if specs.estimator and specs.minimizer else why)


def choose_for_growth(game: str, specs: Specs) -> Choice:
    """Returns the parts of the command line, the missing ones chosen for a game whose tree is_lazy."""
    estimator, why = specs.estimator, "named on the command line"
    averaging_spec = specs.averaging
    if estimator is None:
        size = estimate_size(game, sample_size=_PROBE_SIZE, seed=0)
        traversal = max(interval.log10 for interval in size.external)
        is_short = size.is_complete and traversal <= math.log10(EXTERNAL_MAX_NODES)
        estimator = "external" if is_short and size.perfect_recall else "outcome"
        why = f"the tree is_lazy where traversals go, and one of external sampling would visit {as_text(traversal)} histories"
        if not size.perfect_recall:
            averaging_spec = averaging_spec or "stochastic"
            why = "the tree is_lazy, players forget (imperfect recall), and no other parts play such games"
    elif isinstance(parts.estimator_of(estimator), ExternalSampling):
        _refuse_endless_walk(game)
    minimizer = parts.minimizer_of(specs.minimizer or "rm")
    averaging = parts.average_of(averaging_spec, minimizer)
    return Choice(
        parts.estimator_of(estimator), minimizer, averaging, "" if specs.estimator and specs.minimizer else why
    )


def _refuse_endless_walk(game: str) -> None:
    """Raises ConfigError if not even one traversal of external sampling would end."""
    size = estimate_size(game, sample_size=_PROBE_SIZE, seed=0)
    traversal = max(interval.low for interval in size.external)
    if traversal > math.log10(_ENDLESS_NODES):
        raise ConfigError(
            f"one traversal of external sampling on {game} would visit at least {as_text(traversal)} histories, and the tree "
            "does not fit memory: use --estimator=outcome, which plays single games."
        )


def _name_of(part: Any, table: Mapping[str, Any]) -> str:
    return next(name for name, factory in table.items() if factory() == part)
