"""`SolverConfig`: the components of a solver by their short names, which go together, and the kernels composed of them.

A further built-in component is its own file and one line here.
"""

import functools
import inspect
import logging
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from types import MappingProxyType
from typing import Any, Self, TypeVar

from mccfr_plus import averages, estimators, minimizers
from mccfr_plus.averages.average import AverageMethod, Mechanism, PowerAverage, average_method
from mccfr_plus.errors import ConfigError, did_you_mean
from mccfr_plus.estimators import Baseline, Estimator, traversal
from mccfr_plus.estimators.full import shared_full_gradient
from mccfr_plus.estimators.traversal import ENTERS_OPPONENTS
from mccfr_plus.evaluation.exact import require_zero_sum
from mccfr_plus.kernels.slots import Bindings, bind
from mccfr_plus.minimizers import Minimizer
from mccfr_plus.minimizers.minimizer import UPDATE_INFOSET, minimize, minimize_with
from mccfr_plus.parameters import as_python, bytes_of, check_choice, check_switch, check_whole
from mccfr_plus.solver import loop
from mccfr_plus.specs import parse_spec
from mccfr_plus.trees import needs
from mccfr_plus.trees.public.sharing import accumulate_part, shared_gradient
from mccfr_plus.trees.scratch import FIRST_NODE, IS_LAZY, IS_PUBLIC, TIED

logger = logging.getLogger("mccfr_plus")

Component = TypeVar("Component")

# --- components by their short names ---

BASELINES: dict[str, Callable[..., Baseline]] = {"mean": Baseline}

ESTIMATORS: dict[str, Callable[..., Estimator]] = {
    "full": estimators.Full,
    "chance": estimators.ChanceSampling,
    "opponent": estimators.OpponentSampling,
    "public_chance": estimators.PublicChanceSampling,
    "external": estimators.ExternalSampling,
    "outcome": estimators.OutcomeSampling,
    "balanced": estimators.BalancedOutcomeSampling,
    "average_strategy": estimators.AverageStrategySampling,
    "escher": estimators.Escher,
    "best_response": estimators.BestResponseOpponent,
}

MINIMIZERS: dict[str, Callable[..., Minimizer]] = {
    "rm": minimizers.RegretMatching,
    "rm+": minimizers.RegretMatchingPlus,
    "linear": minimizers.linear,
    "linear+": minimizers.linear_plus,
    "dcfr": minimizers.Discounted,
    "dcfr_pruning": minimizers.dcfr_pruning,
    "dcfr+": minimizers.discounted_plus,
    "hs_dcfr": minimizers.ScheduledDiscounted,
    "prm": minimizers.PredictiveRegretMatching,
    "prm+": minimizers.PredictiveRegretMatchingPlus,
    "pdcfr+": minimizers.PredictiveDiscounted,
    "sapcfr+": minimizers.simple_asymmetric,
    "apcfr+": minimizers.AsymmetricPredictive,
    "smooth_prm+": minimizers.SmoothPredictive,
    "rtcfr+": minimizers.RewardTransformation,
    "hedge": minimizers.Hedge,
    "ftrl": minimizers.FTRL,
    "omd": minimizers.OMD,
    "mmd": minimizers.MagneticMirrorDescent,
    "reg_cfr": minimizers.RegularizedMirrorDescent,
}

_METHODS = ("exact", "lazy", "stochastic", "sampled", "optimistic", "last")
AVERAGES: dict[str, Callable[..., PowerAverage]] = {
    "uniform": averages.uniform,
    "linear": averages.linear,
    "power": PowerAverage,
    "schedule": averages.ScheduledAverage,
    **{method: functools.partial(PowerAverage, gamma=0.0, method=method) for method in _METHODS},
}

_TABLES: dict[str, Mapping[str, Callable[..., Any]]] = {
    "estimator": ESTIMATORS,
    "minimizer": MINIMIZERS,
    "averaging": AVERAGES,
    "baseline": BASELINES,
}


def estimator_of(spec: Estimator | str) -> Estimator:
    """Returns the estimator itself or the one of a short name."""
    return _component("estimator", spec, Estimator)


def minimizer_of(spec: Minimizer | str) -> Minimizer:
    """Returns the minimizer itself or the one of a short name."""
    return _component("minimizer", spec, Minimizer)


def default_minimizer(estimator: Estimator) -> str:
    # Lowest after equal seconds on five of six games: docs/benchmarks/which-algorithm.md has the table and its command.
    return "pdcfr+" if isinstance(estimator, estimators.Full) else "rm"


def average_of(spec: PowerAverage | str | None, minimizer: Minimizer) -> PowerAverage:
    """Returns the average itself, the one of a short name, or for None the one of the minimizer's paper."""
    return _component("averaging", minimizer.default_average if spec is None else spec, PowerAverage)


def baseline_of(spec: Baseline | str | bool | None) -> Baseline | None:
    """Returns the baseline itself, the default one for True, the one of a short name, or None for None and False."""
    spec = as_python(spec)
    if spec is None or spec is False:
        return None
    return Baseline() if spec is True else _component("baseline", spec, Baseline)


def _component(what: str, spec: Any, kind: type[Component]) -> Component:
    if isinstance(spec, kind):
        return spec
    table = _TABLES[what]
    allowed = ", ".join(table)
    if not isinstance(spec, str):
        raise ConfigError(f"{what}={spec!r}: give one of {allowed}, or an object of the class {kind.__name__}.")
    name, has_parameters = spec.partition("(")[0].strip(), "(" in spec
    if name not in table:
        raise ConfigError(f"{what}={spec!r} is not known.{did_you_mean(name, table)} Give one of {allowed}.")
    try:
        return table[name](**parse_spec(spec).parameters) if has_parameters else table[name]()
    except SyntaxError:
        example = "write parameters as name=value, such as outcome(epsilon=0.6); infinity is 1e999"
        raise ConfigError(f"{what}={spec!r}: {example}.") from None
    except TypeError as error:
        raise ConfigError(f"{what}={spec!r}: {name} {str(error).partition('() ')[2] or error}.") from None


def spec_of(component: Any, what: str) -> str | None:
    """Returns the shortest text that stands for a component, such as ``"outcome(epsilon=0.3)"``.

    None of user-defined components, and of those that hold a strategy. `what` is a key of `_TABLES`.
    """
    if not is_dataclass(component) or isinstance(component, type):
        return None
    given = {field.name: getattr(component, field.name) for field in fields(component) if field.init}
    found, fewest = None, math.inf
    for name, factory in _TABLES[what].items():
        plain = factory()
        if type(plain) is not type(component):
            continue
        changed = {}
        for key, value in given.items():
            default, value = getattr(plain, key), as_python(value)
            if isinstance(default, float) and isinstance(value, int):
                value = float(value)
            if type(value) is not type(default) or value != default:
                changed[key] = value
        if not changed:
            return name
        has_text = all(value is None or isinstance(value, bool | int | float | str) for value in changed.values())
        is_possible = has_text and set(changed) <= set(inspect.signature(factory).parameters)
        if is_possible and len(changed) <= fewest:  # the last one: it is more special
            listed = ", ".join(f"{key}={_literal(value)}" for key, value in changed.items())
            found, fewest = f"{name}({listed})", len(changed)
    return found


def _literal(value: Any) -> str:
    if isinstance(value, float) and math.isinf(value):
        return "1e999" if value > 0 else "-1e999"  # which is read as infinity; inf is a name
    return repr(value)


# --- the config ---

# What may be missing: which part should provide it, and what to do.
MESSAGES = {
    needs.DRAWS: (
        "estimator",
        "it does not sample, so all its gradients would be equal: use a sampling estimator. Several threads share one "
        "gradient of full, without traversal=True or pruning, in thread_mode='deterministic'.",
    ),
    needs.GRADIENTS: (
        "estimator",
        "it estimates regrets up to a factor per information state, not gradients: use regret matching, such as rm.",
    ),
    needs.EXACT_GRADIENTS: (
        "estimator",
        "it samples, but exact gradients at all information states are needed: use estimator='full' or another "
        "minimizer.",
    ),
    needs.NO_VALUES: ("estimator", "it already learns values of histories: leave out the baseline."),
    needs.ONE_PLAYER: ("estimator", "with update_all_players=True one traversal serves all players: leave this out."),
    needs.BASELINES: ("estimator", "it has no kernel for baselines: leave out the baseline."),
    needs.FIXED_VALUES: (
        "values",
        "traversals change the values of histories, so results would depend on the timing of threads: give "
        "thread_mode='fast', or one thread.",
    ),
    needs.OPPONENTS_DRAWN: ("estimator", "it draws no opponents' actions to count: use another average."),
    needs.PUBLIC: ("estimator", "it has no kernel for public trees: use full or public_chance, or tree='compiled'."),
    needs.REGRETS: ("minimizer", "it keeps no negative regrets to prune by: use rm, linear, dcfr, prm or hedge."),
    needs.AVERAGE: ("averaging", "there is no average strategy to sample from: use another average."),
    needs.ALTERNATION: ("alternating", "it must update players in turn: leave out alternating."),
}

DETERMINISTIC, FAST = "deterministic", "fast"
TREES = ("auto", "compiled", "lazy", "rules", "public")
NO_SLOTS: Bindings = MappingProxyType({})


@dataclass(frozen=True)
class SolverConfig:
    """The components and options of a solver, which `Solver` explains; ConfigError if they do not go together."""

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
    dtype: str = "float64"

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
        """Returns a config. Components may be short names, as for `Solver`; minimizer=None: `default_minimizer`."""
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
        check_choice("tree", self.tree, TREES)
        check_choice("dtype", self.dtype, ("float64", "float32"))
        if self.symmetry and self.tree not in ("auto", "rules", "public"):
            raise ConfigError(
                f"symmetry=True does not work with tree={self.tree!r}: give tree='rules' or, for poker, tree='public'."
            )
        if self.memory is not None:
            bytes_of(self.memory)
        check_choice("thread_mode", self.thread_mode, (DETERMINISTIC, FAST))
        check_threads(self.threads)
        cores = os.cpu_count() or 1
        if self.threads > cores:
            logger.warning("threads=%s: this machine has %s cores, so more threads do not help.", self.threads, cores)
        provided = self.estimator.provides | self.minimizer.provides | self.averaging.provides
        provided |= {needs.ALTERNATION} if self.alternating else set()
        if self.baseline is not None:
            provided -= {needs.FIXED_VALUES}
        for who, needed in self.parts().items():
            for need, (provider, message) in MESSAGES.items():
                if need in needed and need not in provided:
                    raise ConfigError(f"{who} with {self._label(provider)}: {message}")

    def shares_parts(self, tree: Any) -> bool:
        """Whether each thread averages and updates its own part of a tree; ConfigError if the average cannot be so."""
        is_shared = self.is_team and needs.RULES not in tree.provides and needs.DRAWS not in self.estimator.provides
        if is_shared and tree.num_players != 2:
            raise ConfigError(
                f"threads={self.threads} does not work with {self._label('estimator')} and {tree.num_players} players: "
                "use an estimator that samples, or one thread."
            )
        if is_shared and (self.averaging.kernel is not None or self.averaging.method not in ("auto", "exact", "last")):
            label = self._label("averaging")
            raise ConfigError(
                f"{label} does not work with threads={self.threads} on one gradient: give method='exact' or threads=1."
            )
        return is_shared

    def parts(self) -> dict[str, frozenset[str]]:
        """Returns the needs of each component and option, by its name in messages."""
        has_parts = needs.PUBLIC in self.estimator.provides and self.tree in ("auto", "compiled")
        shares_gradient = self.is_team and (has_parts or self.symmetry or self.tree in ("rules", "public"))
        of_threads = {needs.DRAWS} if self.threads > 1 and not shares_gradient else set()
        adds_all = self.averaging.method == "exact" and needs.DRAWS in self.estimator.provides
        of_baseline = {needs.DRAWS, needs.NO_VALUES, needs.ONE_PLAYER, needs.BASELINES, needs.NODES}
        return {
            f"batch={self.batch}": frozenset({needs.DRAWS} if self.batch > 1 else set()),
            f"tree={self.tree!r}": frozenset({needs.PUBLIC} if self.tree == "public" else set()),
            f"threads={self.threads}": frozenset(of_threads | ({needs.FIXED_VALUES} if self.is_team else set())),
            "a baseline": frozenset(of_baseline if self.baseline is not None else set()),
            self._label("alternating"): frozenset({needs.ONE_PLAYER} if self.alternating else set()),
            **{self._label(name): getattr(self, name).needs for name in ("estimator", "minimizer")},
            self._label("averaging"): self.averaging.needs | ({needs.HISTORIES} if adds_all else set()),
        }

    def _label(self, part: str) -> str:
        """Returns the name of a component or option in messages; ``"values"``: of what learns values of histories."""
        if part == "values":
            return "a baseline" if self.baseline is not None else self._label("estimator")
        value = getattr(self, part)
        if part == "averaging":
            return f"averaging={value.method!r}"
        return f"{part}={value if isinstance(value, bool) else value.short_name!r}"

    def who_needs(self, *words: str) -> str | None:
        """Returns the name of a part that needs one of these; None if none does."""
        return next((who for who, needed in self.parts().items() if needed.intersection(words)), None)

    @property
    def is_team(self) -> bool:
        """Whether several threads make one gradient together."""
        return self.threads > 1 and self.thread_mode == DETERMINISTIC

    def check_game(self, tree: Any) -> None:
        """Raises GameError or ConfigError if the components are wrong for a game."""
        if self.dtype != "float64" and needs.PUBLIC not in tree.provides:
            raise ConfigError(f"dtype={self.dtype!r} needs a public tree: give tree='public', or leave out dtype.")
        for who, needed in self.parts().items():
            if needs.TWO_PLAYERS in needed and tree.num_players != 2:
                raise ConfigError(
                    f"{who} on a game with {tree.num_players} players: visits to an opponent's information set also "
                    "depend on the other players' strategies, so the average would be biased. Use averaging='lazy'."
                )
            if needs.ZERO_SUM in needed and needs.HISTORIES in tree.provides:
                require_zero_sum(tree)
            if not tree.perfect_recall and needs.PERFECT_RECALL in needed:
                tree.require_perfect_recall(who)
        if not tree.perfect_recall:
            if self.threads > 1 and needs.DRAWS not in self.estimator.provides:
                raise ConfigError(
                    f"threads={self.threads} with {self._label('estimator')} on {tree.game}: with imperfect recall, "
                    "threads cannot share a traversal. Give threads=1, or an estimator that samples."
                )
            logger.info("%s has imperfect recall, so CFR need not converge.", tree.game.get_type().short_name)
            method = self.average_method(tree.num_players, False).mechanism
            if self.averaging.method in ("exact", "per_history") and method is Mechanism.EXACT:
                raise ConfigError(
                    f"{tree.game} has imperfect recall, and {self.estimator.short_name} visits only some histories of "
                    "an information set, so the exact average is unknown: use averaging='stochastic'."
                )

    def average_method(self, num_players: int, perfect_recall: bool, *, by_rules: bool = False) -> AverageMethod:
        """Returns how the average is formed in a game, which may be traversed with compiled rules."""
        return average_method(self.averaging, self.estimator, num_players, perfect_recall, by_rules=by_rules)

    def describe(self) -> dict[str, Any]:
        """Returns the specs of the components by name, with None where no text stands for one; see `spec_of`."""
        return {name: spec_of(getattr(self, name), name) for name in _TABLES}

    def __str__(self) -> str:
        """Returns the combination as in messages, such as ``"external + rm"``."""
        return f"{self.estimator.short_name} + {self.minimizer.short_name}"


def check_threads(threads: int) -> None:
    cores = os.cpu_count() or 1
    check_whole("threads", threads)
    if threads > max(2 * cores, 8):  # small machines may still try what larger ones run
        raise ConfigError(f"threads={threads}: give at most {cores}, the number of cores of this machine.")


# --- the kernel ---


def estimate_with(
    estimator: Estimator,
    baseline: Baseline | None = None,
    *,
    list_visit: Callable = traversal.list_nothing,
    tree_slots: Bindings = NO_SLOTS,
) -> Callable:
    """Returns the kernel of an estimator; ConfigError if it has none, or none that uses baselines.

    `list_visit` lists visits of opponents' infosets; `tree_slots` fill slots of `trees.scratch`.
    """
    if baseline is None:
        kernel = estimator.kernel_for(by_rules=FIRST_NODE in tree_slots, tied=TIED in tree_slots)
        what = "no kernel: define one in its class; see mccfr_plus.Estimator"
    else:
        kernel = estimator.kernel_with_baseline(baseline.backup == "expected")
        what = "no kernel that uses baselines; see mccfr_plus.Estimator.kernel_with_baseline"
    if kernel is None:
        raise ConfigError(f"{estimator!r} has {what}.")
    # A kernel need not use all of these: a user-defined one uses none.
    bindings = {
        **tree_slots,
        traversal.LIST_VISIT: list_visit,
        traversal.DRAW_FOR_OPPONENT: traversal.draw_per_infoset
        if estimator.sample_per_infoset
        else traversal.draw_at_node,
        ENTERS_OPPONENTS: list_visit is not traversal.list_nothing or estimator.sample_per_infoset,
    }
    return bind(kernel, bindings, partial=True)


def composed(
    kernel: Callable,
    config: SolverConfig,
    average: AverageMethod,
    *,
    tree_slots: Bindings = NO_SLOTS,
    may_end: bool = False,
    shared: bool = False,
    partial: bool = False,
) -> Callable:
    """Returns a kernel, such as the loop, with a config's components in its slots, all of them unless `partial`."""
    if FIRST_NODE in tree_slots:  # the game is not stored
        tree_slots = {**tree_slots, traversal.DRAW_AT_CHANCE: traversal.draw_listed_outcome}
    estimator, list_visit = config.estimator, average.list_visit
    share_of_gradient = shared_gradient if IS_PUBLIC in tree_slots else shared_full_gradient
    components = {
        loop.ESTIMATE: bind(share_of_gradient, tree_slots, partial=True)
        if shared
        else estimate_with(estimator, config.baseline, list_visit=list_visit, tree_slots=tree_slots),
        loop.MINIMIZE: bind(minimize_with(config.minimizer), tree_slots, partial=True),
        loop.ACCUMULATE: accumulate_part if shared else bind(average.accumulate, tree_slots, partial=True),
        loop.SHARED: shared,
        loop.LISTS_VISITS: list_visit is not traversal.list_nothing,
        loop.ALTERNATING: config.alternating,
        loop.UPDATE_ALL_PLAYERS: estimator.update_all_players,
        loop.TEAM: config.is_team,
        loop.MAY_END: may_end,
        **{slot: tree_slots.get(slot, False) for slot in (TIED, IS_LAZY, IS_PUBLIC)},
    }
    if shared:
        components[loop.MINIMIZE] = bind(minimize, {UPDATE_INFOSET: config.minimizer.kernel})
        components |= {} if config.minimizer.prepare is None else {loop.PREPARE_PART: config.minimizer.prepare}
    return bind(kernel, components, partial=partial)
