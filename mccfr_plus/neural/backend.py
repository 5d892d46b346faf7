"""Imports torch, the only module that does: its version, its threads, its devices."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from mccfr_plus.errors import ConfigError

OLDEST = (2, 4)  # Adam in one pass on the CPU

try:
    import torch
except ImportError:
    raise ConfigError("neural solvers need torch: pip install 'mccfr_plus[neural]'.") from None


def check_version(version: str) -> None:
    """Raises ConfigError if a version of torch, such as ``"2.1.0+cpu"``, is too old."""
    numbers = version.split("+")[0].split(".")[:2]
    if tuple(int("".join(c for c in number if c.isdigit()) or 0) for number in numbers) < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise ConfigError(
            f"neural solvers need torch {oldest} or newer, and this is {version}: "
            "pip install --upgrade 'mccfr_plus[neural]'."
        )


check_version(torch.__version__)
from torch.optim.adam import adam as adam  # noqa: E402 - for `learner`

CPU = torch.device("cpu")


@contextlib.contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Sets torch's global number of threads within a ``with`` block."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def device_of(name: Any) -> torch.device:
    """Returns a device for training.

    Args:
        name: A name of torch, such as ``"cpu"`` or ``"cuda:1"``; None: the first GPU if there is one, else the CPU.

    Raises:
        ConfigError: If torch does not know it, or has no such device.
    """
    if name is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).cpu()
    except (AssertionError, NotImplementedError, RuntimeError, TypeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise ConfigError(
            f"device={name!r}: torch cannot compute there ({reason}). Give 'cpu', 'cuda', or None for a GPU if there "
            "is one."
        ) from None
    return device
