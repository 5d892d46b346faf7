"""The base class of configs: frozen dataclasses, checked when they are built."""

from __future__ import annotations

import dataclasses
import difflib
import math
import types
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self, TypeAlias, get_args, get_origin, get_type_hints

import numpy as np

from mccfr_plus.errors import ConfigError
from mccfr_plus.estimators.base import check_whole
from mccfr_plus.solver.config import check_threads


def _checked(is_allowed: Callable[[Any], bool], allowed: str) -> Callable[[str, Any], None]:
    def check(name: str, value: Any) -> None:
        if not is_allowed(value):
            raise ConfigError(f"{name}={value!r}: must be {allowed}.")

    return check


def _check_layers(name: str, value: Any) -> None:
    if not isinstance(value, tuple | list):
        raise ConfigError(f"{name}={value!r}: give a tuple of widths, such as (128, 128), or () for a linear model.")
    for width in value:
        check_whole(f"a width in {name}", width)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


# By the type of a field; `Annotated` ones have a check of their own.
_CHECKS: dict[Any, Callable[[str, Any], None]] = {
    int: check_whole,
    bool: _checked(lambda value: isinstance(value, bool), "True or False"),
    float: _checked(lambda value: _is_number(value) and 0 < value < math.inf, "a positive number"),
    tuple: _check_layers,
}
Probability: TypeAlias = Annotated[
    float, _checked(lambda value: _is_number(value) and 0 <= value <= 1, "a probability, from 0 to 1")
]
Threads: TypeAlias = Annotated[int, lambda name, value: check_threads(value)]


def _check(name: str, value: Any, kind: Any) -> None:
    """Raises ConfigError if a value is not of a field's type."""
    if isinstance(kind, types.UnionType):  # with None
        if value is not None:
            _check(name, value, get_args(kind)[0])
    elif get_origin(kind) is Literal:
        if value not in get_args(kind):
            raise ConfigError(f"{name}={value!r}: give one of {', '.join(get_args(kind))}.")
    elif isinstance(kind, type) and issubclass(kind, Settings):
        if not isinstance(value, kind):
            raise ConfigError(f"{name}={value!r}: give a {kind.__name__}.")
    else:
        check, *_ = getattr(kind, "__metadata__", None) or [_CHECKS[get_origin(kind) or kind]]
        check(name, value)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Base of all configs: checks of fields by their types, and conversion to plain values and back.

    Whole numbers are at least 1, floating-point numbers positive; None is allowed where the type says so.
    """

    def __post_init__(self) -> None:
        kinds = get_type_hints(type(self), include_extras=True)
        for each in dataclasses.fields(self):
            value = getattr(self, each.name)
            _check(each.name, value, kinds[each.name])
            if isinstance(value, list):
                object.__setattr__(self, each.name, tuple(value))

    def as_dict(self) -> dict[str, Any]:
        """Returns the settings by name; those of a config within this one are called ``NAME.NAME``."""
        settings: dict[str, Any] = {}
        for each in dataclasses.fields(self):
            value = getattr(self, each.name)
            inner = value.as_dict() if isinstance(value, Settings) else {}
            settings |= {f"{each.name}.{name}": one for name, one in inner.items()} or {each.name: value}
        return settings

    def changed(self, settings: Iterable[tuple[str, Any]]) -> Self:
        """Returns the config with other values of some settings, named as in `as_dict`.

        Raises:
            ConfigError: If there is no such setting, one is given twice, or a value is not allowed.
        """
        known, changes, seen = self.as_dict(), dict[str, Any](), set[str]()
        for name, value in settings:
            if name not in known:
                near = difflib.get_close_matches(name, known, n=1)
                hint = f" Did you mean {near[0]!r}?" if near else ""
                raise ConfigError(
                    f"{type(self).__name__} has no setting {name!r}.{hint} Give one of {', '.join(known)}."
                )
            if name in seen:
                raise ConfigError(f"the setting {name} is given twice: give it once.")
            seen.add(name)
            outer, dot, inner = name.partition(".")
            if dot:
                try:
                    changes[outer] = changes.get(outer, getattr(self, outer)).changed([(inner, value)])
                except ConfigError as error:
                    raise ConfigError(f"{outer}: {error}") from None
            else:
                is_whole = isinstance(value, float) and value.is_integer() and type(known[name]) is int
                changes[name] = int(value) if is_whole else value  # 1e6, as --iterations takes it
        return dataclasses.replace(self, **changes)
