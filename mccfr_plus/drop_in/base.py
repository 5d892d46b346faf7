"""What all drop-in classes share: the methods of OpenSpiel's solvers on top of `Solver`'s."""

from __future__ import annotations

from typing import Any

import pyspiel

from mccfr_plus.solver.solver import Solver


class DropInSolver(Solver):
    """A `Solver` that also answers to the method names of OpenSpiel's Python and C++ solvers.

    A class of this family only chooses the parts. Being a `Solver`, it also has `run`, which takes thousands of
    iterations in one call and is the fast way, `exploitability`, `regrets` and so on. All take one argument more than
    OpenSpiel's, ``seed``: an integer for a repeatable run, a numpy generator, or None for entropy.

    Differs from OpenSpiel's classes in that

    * policies are snapshots: iterations that follow do not change a policy that was asked for earlier;
    * numpy's global random state is neither read nor changed;
    * a pickled solver goes on bit for bit where it was;
    * simultaneous games are accepted, through OpenSpiel's own conversion to turn-based ones;
    * a game that is small enough is traversed once, when the solver is built; in larger ones a history is asked for when
      a sampled traversal first comes there.
    """

    def __init__(self, *parts: Any, **options: Any):
        # OpenSpiel's policies are tables of texts, which a tree that is_lazy must keep for that.
        super().__init__(*parts, **{"keys": "text", **options})

    # Aliases and not wrappers: a call costs what `iteration` costs.
    run_iteration = Solver.iteration
    evaluate_and_update_policy = Solver.iteration

    def tabular_average_policy(self) -> pyspiel.TabularPolicy:
        """Returns the average policy as a C++ policy. It owns its numbers."""
        return Solver.average_policy(self).to_pyspiel()

    def tabular_current_policy(self) -> pyspiel.TabularPolicy:
        """Returns the policy that the next iteration will play as a C++ policy. It owns its numbers."""
        return Solver.current_policy(self).to_pyspiel()
