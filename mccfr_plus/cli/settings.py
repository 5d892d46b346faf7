"""``--set NAME=VALUE``: fields of a config by name, those of a config within it by ``NAME.NAME=VALUE``."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Sequence
from typing import Any

from mccfr_plus.errors import ConfigError


def config_with(base: Any, settings: Sequence[tuple[str, Any]]) -> Any:
    """Returns a config with some fields changed.

    Args:
        base: A frozen dataclass, perhaps with others as fields.
        settings: Names and values.

    Raises:
        ConfigError: If there is no such field, one is given twice, or a value is not allowed.
    """
    kinds = fields_of(base)
    changes: dict[str, Any] = {}
    inner: dict[str, list[tuple[str, Any]]] = {}
    seen: set[str] = set()
    for name, value in settings:
        if name not in kinds:
            raise ConfigError(_unknown(name, type(base).__name__, list(kinds)))
        if name in seen:
            raise ConfigError(f"--set {name}=... is given twice: give it once.")
        seen.add(name)
        part, dot, rest = name.partition(".")
        if dot:
            inner.setdefault(part, []).append((rest, value))
        else:
            changes[name] = _whole(value) if kinds[name] == "int" else value
    for part, some in inner.items():
        try:
            changes[part] = config_with(getattr(base, part), some)
        except ConfigError as error:
            raise ConfigError(f"{part}: {error}") from None
    return dataclasses.replace(base, **changes)


def fields_of(config: Any) -> dict[str, str]:
    """Returns the names of all settings, and the types of their values as the class says them."""
    kinds: dict[str, str] = {}
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if dataclasses.is_dataclass(value):
            kinds |= {f"{field.name}.{name}": kind for name, kind in fields_of(value).items()}
        else:
            kinds[field.name] = str(field.type)
    return kinds


def value_of(config: Any, name: str) -> Any:
    """Returns the value of a setting."""
    for part in name.split("."):
        config = getattr(config, part)
    return config


def changed(config: Any, base: Any) -> str:
    """Returns the settings in which a config differs from another, as ``--set`` takes them."""
    names = [name for name in fields_of(config) if value_of(config, name) != value_of(base, name)]
    return ", ".join(f"{name}={value_of(config, name)}" for name in names)


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value  # 1e6, as --iterations takes it


def _unknown(name: str, what: str, allowed: list[str]) -> str:
    near = difflib.get_close_matches(name, allowed, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return f"{what} has no setting {name!r}.{hint} Give one of {', '.join(allowed)}."
