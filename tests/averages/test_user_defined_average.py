"""An estimator whose stochastic average is formed by own traversals, although its traversals could list visits."""

import pytest

from mccfr_plus import ExternalSampling, Solver
from mccfr_plus.trees.needs import OPPONENTS_DRAWN


class WithOwnTraversal(ExternalSampling):
    """External sampling that never averages at opponents' visits."""

    gives = ExternalSampling.gives - {OPPONENTS_DRAWN}


@pytest.mark.parametrize("game", ["matrix_rps", "kuhn_poker", "leduc_poker"])
def test_there_is_room_for_its_visits_alone(game, interpreted_loops):
    solver = Solver(game, WithOwnTraversal(), "rm", "stochastic", seed=1).run(100)
    scratch = solver._engine.scratches[0]
    assert 0 < scratch.counts[0]["num_visits"] <= len(scratch.visits)
