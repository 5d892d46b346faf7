"""What two solvers are compared by."""

import numpy as np


def bits(solver):
    """Returns the bits of all that results are made of."""
    state = solver._engine.state()
    names = [name for name in state if name.startswith(("strategy", "average", "tables", "minimizer", "stream"))]
    found = {name: np.array(state[name]).tobytes() for name in names}
    counts = (solver.iterations, solver.nodes_touched)
    return found | {"policy": solver.average_strategy().tobytes(), "counts": counts}
