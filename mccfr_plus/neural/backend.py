"""The one place that imports torch, and says what to install where it is missing or too old."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from mccfr_plus.errors import ConfigError

OLDEST = (2, 0)

try:
    import torch
except ImportError:
    raise ConfigError("neural solvers need torch: pip install 'mccfr_plus[neural]'.") from None


def check_version(version: str) -> None:
    """Raises ConfigError if a version of torch is too old.

    Args:
        version: As ``torch.__version__`` has it, such as ``"2.1.0+cpu"``.
    """
    parts = version.split("+")[0].split(".")[:2]
    if tuple(int("".join(c for c in part if c.isdigit()) or 0) for part in parts) < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise ConfigError(
            f"neural solvers need torch {oldest} or newer, and this is {version}: "
            "pip install --upgrade 'mccfr_plus[neural]'."
        )


check_version(torch.__version__)


@contextlib.contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Has torch use so many threads within a ``with`` block; its setting, which is global, is put back afterwards."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
