"""Step sizes eta / t^decay of the minimizers that play exponential weights."""

import math
from typing import Any

import numpy as np

from mccfr_plus.kernels.compile import inline_kernel, kernel
from mccfr_plus.parameters import LARGEST, check_number, check_switch

# Entries of the parameters.
ETA, DECAY, OPTIMISTIC, ETA_NOW, KEEP = range(5)  # the last: what earlier gradients are multiplied by

OPTIMISM = ("rakhlin2013online", "syrgkanis2015fast")  # keys of `mccfr_plus.citations`


@kernel
def step_size(parameters, iteration):
    """Returns eta / iteration^decay."""
    return parameters[ETA] * float(iteration) ** -parameters[DECAY]


@inline_kernel
def exponential(x):
    """Returns exp(x), and 0 where it would be denormal or less: that takes several times as long."""
    return math.exp(x) if x > -708.0 else 0.0


def step_size_parameters(eta: float, decay: float, optimistic: bool) -> np.ndarray:
    """Returns the parameters of a kernel, ``[5]`` float64."""
    return np.array([eta, decay, float(optimistic), 0.0, 1.0])


def check_step_size(eta: Any, decay: Any, optimistic: Any) -> None:
    """Raises ConfigError unless eta > 0, 0 <= decay <= 1 and `optimistic` is a bool."""
    check_number("eta", eta, 0, LARGEST, "the step size must be a finite number above 0")
    allowed = "must be a number from 0 (constant step size) to 1; 0.5 is eta / sqrt(t)"
    check_number("decay", decay, 0, 1, allowed, inclusive=True)
    check_switch("optimistic", optimistic)
