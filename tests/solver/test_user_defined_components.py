"""Parts that are not built in: what goes wrong if one is incomplete, and what the loop must leave alone."""

import numba
import numpy as np
import pytest

from mccfr_plus import ConfigError, Estimator, Minimizer, Solver


class NoKernelEstimator(Estimator):
    short_name = "none"


class NoKernelMinimizer(Minimizer):
    short_name = "none"


@pytest.mark.parametrize("parts", [(NoKernelEstimator(), "rm"), ("external", NoKernelMinimizer())])
def test_a_part_without_a_kernel_is_refused(parts):
    with pytest.raises(ConfigError, match="has no kernel"):
        Solver("kuhn_poker", *parts)


@numba.njit
def stay(values, strategy, tables, first, last, iteration, parameters):
    value = 0.0
    for slot in range(first, last):
        value += strategy[slot] * values[slot]
    return value


class Stay(Minimizer):
    """A rule with parameters, which it does not write to."""

    short_name = "stay"
    kernel = staticmethod(stay)

    def parameters(self):
        return np.arange(9.0)


def test_the_loop_does_not_write_to_the_parameters_of_a_user_defined_rule():
    minimizer = Stay()
    solver = Solver("kuhn_poker", "external", minimizer, seed=1).run(10)
    np.testing.assert_array_equal(solver._engine.parameters[0], minimizer.parameters())


@pytest.mark.parametrize("every", [-1.0, float("nan"), "often"])
def test_bad_intervals_of_evaluation(every):
    with pytest.raises(ConfigError, match="evaluate_every"):
        Solver("kuhn_poker").run(1, evaluate_every=every)
