"""Fixtures of the tests of neural solvers."""

import importlib.util

import numpy as np
import pytest
from neural_states import Features


@pytest.fixture
def three_rows():
    """Three information sets with 2, 3 and 1 of a game's 4 actions, with their numbers as tensors."""
    masks = np.array([[0, 1, 0, 1], [1, 1, 1, 0], [0, 0, 1, 0]], bool)
    return Features(np.arange(3, dtype=np.float32)[:, None], masks)


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    """Sets one thread for torch: at these sizes a second one gains nothing."""
    if importlib.util.find_spec("torch"):
        import torch

        torch.set_num_threads(1)
