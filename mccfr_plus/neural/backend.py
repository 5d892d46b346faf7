"""Imports torch, the only module that does: its threads and devices."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from mccfr_plus.errors import ConfigError

try:
    import torch
except ImportError:
    raise ConfigError("neural solvers need torch: pip install 'mccfr_plus[neural]'.") from None

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


@contextlib.contextmanager
def denormals_flushed() -> Iterator[None]:
    """Rounds denormal numbers to 0 within a ``with`` block: Adam's steps on such moments take 1.4 times as long."""
    was_set = 1e-310 * 0.5 == 0.0
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(was_set)


def device_of(name: Any) -> torch.device:
    """Returns a device for training, or a ConfigError if torch has none of that name. None: a GPU if there is one."""
    try:
        device = torch.device(name or ("cuda" if torch.cuda.is_available() else "cpu"))
        torch.zeros(1, device=device).cpu()
    except (AssertionError, NotImplementedError, RuntimeError, TypeError):
        raise ConfigError(f"device={name!r}: torch cannot compute there. Give 'cpu', 'cuda' or None.") from None
    return device


def summary_writer(directory: str) -> Any:
    """Returns TensorBoard's writer, or a ConfigError if TensorBoard is not installed."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise ConfigError("TensorBoardLogger needs TensorBoard: pip install tensorboard.") from None
    return SummaryWriter(directory)
