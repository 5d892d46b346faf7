"""Ray, which is optional, and how it is started so that nobody else can reach it."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from collections.abc import Iterator
from typing import Any

from mccfr_plus.errors import ConfigError

# Ray asks this before it looks for the machine's address: without it, what it starts listens on every interface.
_LOCALHOST_SWITCH = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"


def ray_module() -> Any:
    """Returns the module ``ray``.

    Raises:
        ConfigError: If it is not installed.
    """
    try:
        return importlib.import_module("ray")
    except ImportError as error:
        raise ConfigError(
            f"running on a cluster needs Ray, which cannot be imported ({error}): pip install 'mccfr_plus[ray]'"
        ) from None


@contextlib.contextmanager
def on_localhost() -> Iterator[None]:
    """Makes what Ray starts in a ``with`` block listen on localhost only, and report nothing to anybody."""
    before, was_imported = os.environ.get(_LOCALHOST_SWITCH), "ray" in sys.modules
    os.environ[_LOCALHOST_SWITCH] = "0"
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    ray_module()
    constants = sys.modules.get("ray._private.ray_constants")  # has read the switch when it was imported
    was_enabled = getattr(constants, "ENABLE_RAY_CLUSTER", None)
    if not was_imported and before is None:  # what it would have read without the switch
        was_enabled = sys.platform.startswith("linux")
    if constants is not None:
        constants.ENABLE_RAY_CLUSTER = False  # type: ignore[attr-defined]
    try:
        yield
    finally:
        if constants is not None:
            constants.ENABLE_RAY_CLUSTER = was_enabled  # type: ignore[attr-defined]
        if before is None:
            del os.environ[_LOCALHOST_SWITCH]
        else:
            os.environ[_LOCALHOST_SWITCH] = before


def messages_to_stderr() -> None:
    """Makes Ray write what it has to say, of lost workers for example, on standard error.

    Its thread prints it on standard output, whatever `log_to_driver` says: in the middle of a program's results.
    """
    worker: Any = sys.modules.get("ray._private.worker")
    write = getattr(worker, "print_to_stdstream", None)
    if write is None or getattr(write, "is_ours", False):
        return

    def write_on_stderr(data: dict[str, Any], *arguments: Any, **named: Any) -> None:
        write({**data, "is_err": True}, *arguments, **named)

    write_on_stderr.is_ours = True  # type: ignore[attr-defined]
    worker.print_to_stdstream = write_on_stderr
