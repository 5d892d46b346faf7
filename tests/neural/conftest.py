"""Fixtures of the tests of neural solvers."""

import importlib.util

import numpy as np
import pytest

from mccfr_plus.neural.features import Features


@pytest.fixture
def three_rows():
    """Three information sets with 2, 3 and 1 of a game's 4 actions, with their numbers as tensors."""
    actions = np.array([[1, 3, 0], [0, 1, 2], [2, 0, 0]], np.int32)
    return Features(np.arange(3, dtype=np.float32)[:, None], actions, np.array([2, 3, 1], np.int32))


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    """Sets one thread for torch: at these sizes a second one gains nothing."""
    if importlib.util.find_spec("torch"):
        import torch

        torch.set_num_threads(1)
