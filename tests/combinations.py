"""Combinations of components and loops, few enough to compile them all: each pair of two occurs in one of them."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

from mccfr_plus import ConfigError
from mccfr_plus.solver import config
from mccfr_plus.solver.config import SolverConfig
from mccfr_plus.trees.needs import HISTORIES, INFOSETS

# Forms of loops, and of kernels that the loops' options choose.
LOOPS: dict[str, dict[str, Any]] = {
    "alternating": {},
    "simultaneous": {"alternating": False},
    "large batch": {"batch": 100},
    "lazy tree": {"tree": "lazy"},
    "lazy tree, simultaneous, batch": {"tree": "lazy", "alternating": False, "batch": 3},
    "team": {"threads": 2},
    "team on a lazy tree": {"threads": 2, "tree": "lazy"},
    "baseline": {"baseline": True},
    "baseline by samples": {"baseline": "mean(backup='sampled')"},
}
# These differ from "uniform", "dcfr" and "prm+" by numbers that kernels are given.
AVERAGES = tuple(name for name in config.AVERAGES if name not in ("linear", "power", "schedule"))
_OTHER_NUMBERS = ("linear", "linear+", "dcfr_pruning", "dcfr+", "sapcfr+")
MINIMIZERS = tuple(name for name in config.MINIMIZERS if name not in _OTHER_NUMBERS)
# `best_response` and `public_chance` have tests of their own.
ESTIMATORS = tuple(name for name in config.ESTIMATORS if name not in ("best_response", "public_chance"))
FACTORS = (ESTIMATORS, MINIMIZERS, AVERAGES, tuple(LOOPS))


class Combination(NamedTuple):
    estimator: str
    minimizer: str
    averaging: str | None
    options: dict[str, Any]

    @property
    def config(self) -> SolverConfig:
        return SolverConfig.from_specs(*self[:3], **self.options)


# Forms of components, of which each has a kernel of its own.
FORMS = [
    Combination("full(traversal=True)", "rm", None, {}),
    Combination("full(pruning=True)", "dcfr", None, {}),
    Combination("escher(values='learned',sampling='balanced')", "rm", "stochastic", {}),
    Combination("external(sample_per_infoset=True)", "rm+", "stochastic", {"baseline": True}),
    Combination("opponent(sample_per_infoset=True)", "rm", "lazy", {"batch": 3}),
    Combination("average_strategy(sample_per_infoset=True,beta=0.0)", "rm", "stochastic", {}),
    Combination("external(prune_below=-0.1,prune_probability=0.3)", "rm", None, {"baseline": True}),
    Combination("outcome(update_all_players=True)", "rm", "stochastic", {"batch": 2}),
    Combination("outcome(update_all_players=True)", "prm", "lazy", {"threads": 2}),
    Combination("external(sample_per_infoset=True)", "hedge(optimistic=True)", "lazy", {"tree": "lazy"}),
    Combination("external", "ftrl(optimistic=True)", None, {}),
    Combination("outcome", "omd(weights='constant',optimistic=True)", "stochastic", {"tree": "lazy"}),
    Combination("chance", "omd(decay=0.5)", None, {"alternating": False}),
]


@functools.cache
def goes(levels: tuple[str, str, str, str]) -> bool:
    estimator, minimizer, averaging, loop = levels
    try:
        config = SolverConfig.from_specs(estimator, minimizer, averaging, **LOOPS[loop])
    except ConfigError:
        return False
    if config.threads > 1 and estimator == "full":  # threads that share its gradient have tests of their own
        return False
    return config.tree != "lazy" or config.who_needs(HISTORIES, INFOSETS) is None


def pairs_of(levels: tuple[str, ...]) -> set[tuple]:
    return set(itertools.combinations(enumerate(levels), 2))


def covering() -> Iterator[Combination]:
    """Yields combinations until each pair that goes together has occurred, then `FORMS`."""
    covered: set[tuple] = set()
    for first, second in itertools.combinations(range(len(FACTORS)), 2):
        for pair in itertools.product(FACTORS[first], FACTORS[second]):
            if ((first, pair[0]), (second, pair[1])) in covered:
                continue
            fixed = {first: pair[:1], second: pair[1:]}
            rows = list(itertools.product(*(fixed.get(i, factor) for i, factor in enumerate(FACTORS))))
            rows.sort(key=lambda levels: -len(pairs_of(levels) - covered))
            best = next(filter(goes, rows), None)
            if best is not None:
                covered |= pairs_of(best)
                yield Combination(*best[:3], LOOPS[best[3]])
    yield from FORMS
