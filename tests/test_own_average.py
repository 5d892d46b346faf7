"""An estimator whose average is made by a walk of its own, although its walk could list visits."""

import pytest

from mccfr_plus import ExternalSampling, Solver
from mccfr_plus.estimators import Average


class WithOwnWalk(ExternalSampling):
    """External sampling that never averages at opponents' visits."""

    def average(self, num_players):
        return Average.OWN_WALK


@pytest.mark.parametrize("game", ["matrix_rps", "kuhn_poker", "leduc_poker"])
def test_there_is_room_for_both_kinds_of_visits(game):
    solver = Solver(game, WithOwnWalk(), "rm", seed=1)
    plain = Solver(solver.tree, "external", "rm", seed=1)
    assert len(solver._workspace.visits) >= len(plain._workspace.visits) > 0


def test_its_average_converges():
    solver = Solver("kuhn_poker", WithOwnWalk(), "rm", seed=1)
    begin = solver.exploitability()
    assert solver.run(100_000).exploitability() < begin / 10
