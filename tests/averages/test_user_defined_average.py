"""An estimator whose stochastic average is formed by own traversals, although its traversals could list visits."""

import pytest

from mccfr_plus import ExternalSampling, Solver
from mccfr_plus.estimators.traversal import max_visits
from mccfr_plus.trees.needs import OPPONENTS_DRAWN


class WithOwnTraversal(ExternalSampling):
    """External sampling that never averages at opponents' visits."""

    gives = ExternalSampling.gives - {OPPONENTS_DRAWN}


@pytest.mark.parametrize("game", ["matrix_rps", "kuhn_poker", "leduc_poker"])
def test_there_is_room_for_its_visits_alone(game, interpreted_loops):
    solver = Solver(game, WithOwnTraversal(), "rm", "stochastic", seed=1).run(100)
    most = max(max_visits(solver.tree.arrays.nodes, p, True, False, True) for p in range(2))
    assert len(solver._engine.scratches[0].visits) == most > 0
