"""Where networks are trained: on the CPU, or on an accelerator that borrows their numbers for a while."""

from __future__ import annotations

from typing import Any

from mccfr_plus.errors import ConfigError
from mccfr_plus.neural.adam import Adam
from mccfr_plus.neural.backend import torch
from mccfr_plus.neural.network import MLP

CPU = torch.device("cpu")


def device_of(name: Any) -> torch.device:
    """Returns where to train.

    Args:
        name: As torch calls it, such as ``"cpu"`` or ``"cuda:1"``; None: the first GPU if there is one.

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


class Guest:
    """A network and its moments on a device, which work in place of those of the CPU.

    What carries over are the CPU's numbers alone: they are fetched before the work and given back after it, so that
    checkpoints, and what undoes an iteration, need not know of devices.

    Args:
        network: Whose numbers are borrowed.
        optimizer: The same.
        device: Where the work is done.
    """

    def __init__(self, network: MLP, optimizer: Adam, device: torch.device):
        self.device = device
        self._host = network, optimizer
        self.network = network.copy(device)
        self.optimizer = optimizer.copy(self.network)

    def fetch(self) -> None:
        """Takes over the CPU's numbers."""
        network, optimizer = self._host
        self.network.parameters.copy_(network.parameters)
        self.optimizer.take(optimizer)

    def give_back(self) -> None:
        """Hands over what has become of them."""
        network, optimizer = self._host
        network.parameters.copy_(self.network.parameters)
        optimizer.take(self.optimizer)
