"""A program that solves on a cluster: ``python solve.py ADDRESS CHECKPOINT ITERATIONS [killed]``.

It resumes from the checkpoint and prints the average strategy. With ``killed`` it kills itself after the first one.
"""

import os
import signal
import sys
from pathlib import Path

from mccfr_plus.cluster import DistributedSolver

PLAN = {"num_batches": 4, "traversals": 2000, "seed": 7}


def main(address, file, iterations, killed=""):
    def kill(_):
        if killed and Path(file).exists():
            os.kill(os.getpid(), signal.SIGKILL)

    if Path(file).exists():
        solver = DistributedSolver.from_checkpoint(file, workers=2, cluster=address)
    else:
        solver = DistributedSolver("leduc_poker", workers=2, cluster=address, **PLAN)
    with solver:
        solver.run(int(iterations) - solver.iterations, checkpoint=file, checkpoint_interval=0.01, callbacks=[kill])
        print(solver.average_strategy().tobytes().hex())


if __name__ == "__main__":
    main(*sys.argv[1:])
