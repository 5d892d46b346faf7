"""Short names: what is shown of a component is what a user can type for it."""

import inspect
import math

import pytest

from mccfr_plus.errors import ConfigError
from mccfr_plus.minimizers import RegretMatching
from mccfr_plus.solver import config
from mccfr_plus.solver.config import SolverConfig

TABLES = {
    "estimator": (config.ESTIMATORS, config.estimator_of),
    "minimizer": (config.MINIMIZERS, config.minimizer_of),
    "averaging": (config.AVERAGES, lambda spec: config.average_of(spec, RegretMatching())),
    "baseline": (config.BASELINES, config.baseline_of),
}
NAMES = [pytest.param(kind, name, id=f"{kind}={name}") for kind, (table, _) in TABLES.items() for name in table]

# One of these is another value of each parameter that there is.
VALUES = (
    True, False, None, 2, 0.25, 20.0, -3.5, math.inf, -math.inf,
    "sampled", "learned", "uniform", "balanced", "stochastic", "constant",
    "kroer",
)  # fmt: skip


def variants(factory):
    """Yields a component for each value that each parameter can have, with the text that names it."""
    for parameter in inspect.signature(factory).parameters.values():
        accepted = []
        for value in VALUES:
            try:
                component = factory(**{parameter.name: value})
            except (ConfigError, TypeError, ValueError):
                continue
            if component != factory():
                accepted.append((component, f"{parameter.name}={value!r}"))
        yield parameter.name, accepted


@pytest.mark.parametrize(("kind", "name"), NAMES)
def test_what_is_shown_can_be_typed(kind, name):
    table, read = TABLES[kind]
    factory = table[name]
    assert config.spec_of(factory(), kind) == name
    assert read(name) == factory()
    for parameter, accepted in variants(factory):
        assert accepted or (name, parameter) == ("outcome", "sampling"), f"no other value for {parameter}: add one"
        for component, text in accepted:
            shown = config.spec_of(component, kind)
            assert read(shown) == component, (text, shown)
            assert len(shown) <= len(f"{name}({text})".replace("inf", "1e999")) + len(".0")


@pytest.mark.parametrize(
    "spec",
    [
        "uniform", "stochastic(gamma=1.0)", "lazy(gamma=2.0)", "exact(gamma=1.0)", "optimistic(gamma=0.5)",
        "sampled(gamma=1.0)", "power(gamma=1.5)", "last",
    ],
)  # fmt: skip
def test_averages_are_shown_as_they_are_typed(spec):
    config = SolverConfig.from_specs("external", "rm", spec)
    assert config.describe()["averaging"] == spec
    assert SolverConfig.from_specs(**config.describe()) == config
