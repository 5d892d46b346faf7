"""The networks of an average policy: cross-entropy on strategies that were played, weighted by iteration."""

from __future__ import annotations

import math

import numpy as np

from mccfr_plus.errors import TrainingError
from mccfr_plus.neural.adam import Adam
from mccfr_plus.neural.backend import torch
from mccfr_plus.neural.batched.reservoir import TensorReservoir
from mccfr_plus.neural.config import TrainingConfig
from mccfr_plus.neural.network import MLP


def trained_policy(
    memory: TensorReservoir, num_actions: int, config: TrainingConfig, seed: int, iteration: int, what: str
) -> MLP:
    """Returns a network whose masked softmax is the weighted mean of the strategies in a memory, as far as it can be.

    Args:
        memory: Of strategies; if it is empty, the network stays as it was drawn.
        num_actions: Of the game.
        config: Shape of the network and how it is trained.
        seed: Of initial parameters and batches.
        iteration: The current one.
        what: What error messages call the loss.

    Raises:
        TrainingError: If the loss is no finite number.
    """
    sizes = (memory.tensors.shape[1], *config.hidden_layers, num_actions)
    rng = np.random.default_rng(seed)
    network = MLP(sizes, layer_norm=config.layer_norm, skip=config.skip, rng=rng)
    optimizer = Adam(network, config.learning_rate, config.gradient_clip)
    tensors = torch.from_numpy(memory.tensors)
    batches = memory.batches(config.batch_size, iteration, rng.integers(1, 2**63, 1, np.uint64))
    for step, batch in zip(range(config.train_steps), batches, strict=False):
        rows, targets, weights = (torch.from_numpy(array) for array in batch)
        loss = network.differentiate(tensors.index_select(0, rows).float(), cross_entropy(targets, weights))
        if not math.isfinite(loss):
            raise TrainingError(
                f"training diverged in iteration {iteration}: the {what} is {loss} at training step {step + 1} of "
                f"{config.train_steps}. Lower policy_training's learning_rate (it is {config.learning_rate:g})."
            )
        optimizer.step()
    return network


def cross_entropy(targets: torch.Tensor, weights: torch.Tensor):  # type: ignore[no-untyped-def]
    """Returns the loss -sum_k w_k sum_a y_ka log softmax_a(f(x_k)) / n and its derivative, for `MLP.differentiate`.

    Args:
        targets: ``[n, num_actions]``, distributions over legal actions.
        weights: ``[n, num_actions]``, the row's weight at legal actions and 0 at others.
    """
    legal = weights > 0
    row_weights = weights.max(1, keepdim=True).values / len(targets)

    def loss(outputs: torch.Tensor) -> tuple[float, torch.Tensor]:
        logs = torch.log_softmax(outputs.masked_fill(~legal, -torch.inf), 1)
        value = -float((row_weights * targets * logs.masked_fill(~legal, 0.0)).sum())
        return value, row_weights * (logs.exp() - targets)

    return loss
