"""Short names of components, as text for `Solver` and the command line: ``"external"``, ``"outcome(epsilon=0.3)"``.

A further built-in component is its own file and one line here.
"""

import difflib
import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

from mccfr_plus import averages, estimators, minimizers
from mccfr_plus.averages import PowerAverage
from mccfr_plus.errors import ConfigError
from mccfr_plus.estimators import Baseline, Estimator
from mccfr_plus.minimizers import Minimizer
from mccfr_plus.parameters import as_python
from mccfr_plus.specs import parse_spec

Component = TypeVar("Component")

BASELINES: dict[str, Callable[..., Baseline]] = {"mean": Baseline}

ESTIMATORS: dict[str, Callable[..., Estimator]] = {
    "full": estimators.Full,
    "chance": estimators.ChanceSampling,
    "opponent": estimators.OpponentSampling,
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


def _average_by(method: str) -> Callable[..., PowerAverage]:
    return lambda gamma=0.0: PowerAverage(gamma, method)


AVERAGES: dict[str, Callable[..., PowerAverage]] = {
    "uniform": averages.uniform,
    "linear": averages.linear,
    "power": PowerAverage,
    "schedule": averages.ScheduledAverage,
    **{method: _average_by(method) for method in ("exact", "lazy", "stochastic", "sampled", "optimistic")},
    "last": lambda: PowerAverage(0.0, "last"),
}

_TABLES: dict[str, Mapping[str, Callable[..., Any]]] = {
    "estimator": ESTIMATORS,
    "minimizer": MINIMIZERS,
    "averaging": AVERAGES,
    "baseline": BASELINES,
}


def estimator_of(spec: Estimator | str) -> Estimator:
    """Returns the estimator itself or the one of a short name."""
    return _component("estimator", spec, ESTIMATORS, Estimator)


def minimizer_of(spec: Minimizer | str) -> Minimizer:
    """Returns the minimizer itself or the one of a short name."""
    return _component("minimizer", spec, MINIMIZERS, Minimizer)


def default_minimizer(estimator: Estimator) -> str:
    """Returns the short name of the minimizer for an estimator, where a user leaves it open."""
    # Lowest after equal seconds on five of six games: docs/benchmarks/which-algorithm.md has the table and its command.
    return "pdcfr+" if isinstance(estimator, estimators.Full) else "rm"


def average_of(spec: PowerAverage | str | None, minimizer: Minimizer) -> PowerAverage:
    """Returns the average itself, the one of a short name, or for None the one of the minimizer's paper."""
    return _component("averaging", minimizer.default_average if spec is None else spec, AVERAGES, PowerAverage)


def baseline_of(spec: Baseline | str | bool | None) -> Baseline | None:
    """Returns the baseline itself, the default one for True, the one of a short name, or None for None and False."""
    spec = as_python(spec)
    if spec is None or spec is False:
        return None
    return Baseline() if spec is True else _component("baseline", spec, BASELINES, Baseline)


def spec_of(component: Any, what: str) -> str | None:
    """Returns the shortest text that stands for a component, as in ``"outcome(epsilon=0.3)"``; None if there is none.

    There is no text for a user-defined component, nor for a strategy that a component holds. `what` is estimator,
    minimizer, averaging or baseline.
    """
    if not is_dataclass(component) or isinstance(component, type):
        return None
    given = {field.name: getattr(component, field.name) for field in fields(component) if field.init}
    found, fewest = None, math.inf
    for name, factory in _TABLES[what].items():
        if isinstance(factory, type) and factory is not type(component):
            continue
        plain = factory()
        if type(plain) is not type(component):
            continue
        changed = _changed(plain, given)
        if not changed:
            return name
        has_text = all(value is None or isinstance(value, bool | int | float | str) for value in changed.values())
        is_possible = has_text and set(changed) <= set(inspect.signature(factory).parameters)
        if is_possible and len(changed) <= fewest:  # the last one: it is more special
            listed = ", ".join(f"{key}={_literal(value)}" for key, value in changed.items())
            found, fewest = f"{name}({listed})", len(changed)
    return found


def _changed(plain: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Returns the parameters that differ from a component's; whole numbers as floats where the other is one."""
    changed = {}
    for name, value in given.items():
        default = getattr(plain, name)
        value = as_python(value)
        if isinstance(default, float) and isinstance(value, int):
            value = float(value)
        if type(value) is not type(default) or value != default:
            changed[name] = value
    return changed


def _literal(value: Any) -> str:
    if isinstance(value, float) and math.isinf(value):
        return "1e999" if value > 0 else "-1e999"  # which is read as infinity; inf is a name
    return repr(value)


def _component(
    what: str, spec: Component | str, table: Mapping[str, Callable[..., Component]], kind: type[Component]
) -> Component:
    if isinstance(spec, kind):
        return spec
    allowed = ", ".join(table)
    if not isinstance(spec, str):
        raise ConfigError(f"{what}={spec!r}: give one of {allowed}, or an object of class {kind.__name__}.")
    name, has_parameters = spec.partition("(")[0].strip(), "(" in spec
    if name not in table:
        near = difflib.get_close_matches(name, table, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ConfigError(f"{what}={spec!r} is not known.{hint} Give one of {allowed}.")
    try:
        return table[name](**parse_spec(spec).parameters) if has_parameters else table[name]()
    except SyntaxError:
        example = "write parameters as name=value, such as outcome(epsilon=0.6); infinity is 1e999"
        raise ConfigError(f"{what}={spec!r}: {example}.") from None
    except TypeError as error:
        raise ConfigError(f"{what}={spec!r}: {name} {str(error).partition('() ')[2] or error}.") from None
