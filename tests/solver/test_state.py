"""Setting a solver's strategy and tables, making one from a config, and runs that end within an iteration."""

import numpy as np
import pytest
from lazy_trees import beside_this_process

from mccfr_plus import ConfigError, Solver
from mccfr_plus.solver.config import SolverConfig


def test_a_strategy_is_set_and_played():
    start = Solver("kuhn_poker", "full").run(100)
    solver = Solver("kuhn_poker", "full").set_strategy(start.average_policy())
    np.testing.assert_array_equal(solver.current_strategy(), start.average_strategy())
    solver.set_strategy(start.current_strategy())
    np.testing.assert_array_equal(solver.current_strategy(), start.current_strategy())


def test_averages_go_on_from_what_was_played_before():
    """The lazy average has pending updates of the strategy before, and must be the exact one all the same."""
    lazy, exact = (Solver("kuhn_poker", "external", "rm", method, seed=2) for method in ("lazy", "exact"))
    other = Solver("kuhn_poker", "full").run(3).current_strategy()
    for solver in (lazy, exact):
        solver.run(57).set_strategy(other).run(31)
    np.testing.assert_array_equal(lazy.current_strategy(), exact.current_strategy())
    np.testing.assert_allclose(lazy.average_strategy(), exact.average_strategy(), atol=1e-12)


def test_tables_carry_over():
    """A solver with the tables and the strategy of another one goes on as that one does."""
    first = Solver("kuhn_poker", "full", "rm").run(20)
    second = Solver("kuhn_poker", "full", "rm").set_tables(first.tables()).set_strategy(first.current_strategy())
    np.testing.assert_array_equal(second.run(5).current_strategy(), first.run(5).current_strategy())


@pytest.mark.parametrize("change", [lambda s: s[:-1], lambda s: s * 2, lambda s: -s, lambda s: s * np.nan])
def test_what_is_no_strategy_is_refused(change):
    solver = Solver("kuhn_poker", "full")
    before = solver.current_strategy()
    with pytest.raises(ConfigError, match="strategy"):
        solver.set_strategy(change(before))
    np.testing.assert_array_equal(solver.current_strategy(), before)


def test_a_solver_of_a_config_is_the_same_solver():
    config = SolverConfig.from_specs("outcome(epsilon=0.3)", "rm+", batch=2)
    made = Solver.from_config("kuhn_poker", config, seed=3)
    named = Solver("kuhn_poker", "outcome(epsilon=0.3)", "rm+", batch=2, seed=3)
    assert made.config == named.config
    np.testing.assert_array_equal(made.run(50).average_strategy(), named.run(50).average_strategy())
    with pytest.raises(AttributeError):
        config.batch = 3


def test_a_large_batch_ends_with_the_time_and_goes_on():
    endless = Solver("kuhn_poker", "external", batch=10**18, seed=1)
    endless.run(seconds=0.01)  # compiles
    endless.run(seconds=0.2)  # and not for a thousand years
    assert endless.iterations == 0
    cut, whole = (Solver("kuhn_poker", "outcome", "rm", "stochastic", batch=300_000, seed=1) for _ in range(2))
    for done in range(1, 100):
        cut.run(1)
        if cut.run(seconds=0.01).iterations == done:  # less than an iteration takes: its gradient was thrown away
            break
    else:
        pytest.fail("all iterations ended in time")
    cut.run(1)
    whole.run(cut.iterations)
    assert cut.nodes_touched == whole.nodes_touched
    np.testing.assert_array_equal(cut.average_strategy(), whole.average_strategy())
    np.testing.assert_array_equal(cut.current_strategy(), whole.current_strategy())


def test_a_long_traversal_ends_with_the_time():
    """One traversal of external sampling on connect four would visit billions of nodes."""
    solver = Solver("connect_four", "external", tree="lazy", memory=beside_this_process(2e9), seed=1)
    for _ in range(2):
        solver.run(seconds=0.1)
    assert solver.iterations == 0
    assert solver.stopped is None
