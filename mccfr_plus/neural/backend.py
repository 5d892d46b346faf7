"""Imports torch, the only module that does: its version, its threads, its devices."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Any

from mccfr_plus.errors import ConfigError

try:
    import torch
except ImportError:
    raise ConfigError("neural solvers need torch: pip install 'mccfr_plus[neural]'.") from None

if tuple(map(int, re.findall(r"\d+", torch.__version__)[:2])) < (2, 4):  # without fused Adam on the CPU
    raise ConfigError(
        f"neural solvers need torch 2.4 or newer, and this is {torch.__version__}: "
        "pip install --upgrade 'mccfr_plus[neural]'."
    )

CPU = torch.device("cpu")
_DENORMAL = 1e-310


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
    """Rounds denormal numbers to 0 within a ``with`` block: Adam's moments of units without gradients shrink to such,
    with which steps take 1.4 times as long.
    """
    was_set = _DENORMAL * 0.5 == 0.0
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(was_set)


def device_of(name: Any) -> torch.device:
    """Returns a device for training, or a ConfigError if torch has none of that name. None: a GPU if there is one."""
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


def summary_writer(directory: str) -> Any:
    """Returns TensorBoard's writer, or a ConfigError if TensorBoard is not installed."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise ConfigError("TensorBoardLogger needs TensorBoard: pip install tensorboard.") from None
    return SummaryWriter(directory)
