"""Neural algorithms by short name, and their settings as texts name them. Without torch."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Sequence
from typing import Any

from mccfr_plus import neural
from mccfr_plus.errors import ConfigError

# The classes of `mccfr_plus.neural`; each has a config of that name and "Config".
ALGORITHMS = {
    "deep_cfr": "DeepCFR",
    "dream": "DREAM",
    "escher": "ESCHER",
    "nfsp": "NFSP",
    "batched_deep_cfr": "BatchedDeepCFR",
    "batched_dream": "BatchedDREAM",
    "batched_escher": "BatchedESCHER",
    "batched_nfsp": "BatchedNFSP",
}
WITHOUT_TREE = tuple(name for name in ALGORITHMS if name.startswith("batched_"))


def default_config(algorithm: str) -> Any:
    """Returns the default config of one of `ALGORITHMS`."""
    return getattr(neural, f"{ALGORITHMS[algorithm]}Config")()


def flatten(config: Any) -> dict[str, Any]:
    """Returns the settings of a config by name; those of a config within it are called ``NAME.NAME``."""
    settings: dict[str, Any] = {}
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if dataclasses.is_dataclass(value):
            settings |= {f"{field.name}.{name}": inner for name, inner in flatten(value).items()}
        else:
            settings[field.name] = value
    return settings


def config_with(base: Any, settings: Sequence[tuple[str, Any]]) -> Any:
    """Returns a config with some fields changed.

    Args:
        base: A frozen dataclass, perhaps with others as fields.
        settings: Names, as `flatten` has them, and values.

    Raises:
        ConfigError: If there is no such field, one is given twice, or a value is not allowed.
    """
    known = flatten(base)
    changes: dict[str, Any] = {}
    inner: dict[str, list[tuple[str, Any]]] = {}
    for name, value in settings:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise ConfigError(f"{type(base).__name__} has no setting {name!r}.{hint} Give one of {', '.join(known)}.")
        if [given for given, _ in settings].count(name) > 1:
            raise ConfigError(f"the setting {name} is given twice: give it once.")
        outer, dot, rest = name.partition(".")
        if dot:
            inner.setdefault(outer, []).append((rest, value))
        else:
            is_whole = isinstance(value, float) and value.is_integer() and type(known[name]) is int
            changes[name] = int(value) if is_whole else value  # 1e6, as --iterations takes it
    for name, some in inner.items():
        try:
            changes[name] = config_with(getattr(base, name), some)
        except ConfigError as error:
            raise ConfigError(f"{name}: {error}") from None
    return dataclasses.replace(base, **changes)
