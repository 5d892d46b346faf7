"""A driver: ``python driver.py ADDRESS CHECKPOINT ITERATIONS [killed]`` goes on until so many, and prints JSON.

With ``killed`` it kills itself when it has gone on beyond its first checkpoint.
"""

import json
import os
import signal
import sys
from pathlib import Path

from mccfr_plus.cluster import Cluster, DistributedSolver

PLAN = {"num_batches": 4, "traversals": 2000, "seed": 7}


def main(address, file, iterations, killed=""):
    def kill(_):
        if killed and Path(file).exists():
            os.kill(os.getpid(), signal.SIGKILL)

    with Cluster(address) as cluster:
        if Path(file).exists():
            solver = DistributedSolver.from_checkpoint(file, workers=2, cluster=cluster)
        else:
            solver = DistributedSolver("leduc_poker", workers=2, cluster=cluster, **PLAN)
        with solver:
            solver.run(iterations - solver.iterations, checkpoint=file, checkpoint_interval=0.01, callback=kill)
            nodes = {cluster.ray.get(actor.where.remote())[0] for actor in solver._engine._worker_pool.actors}
            print(json.dumps({"policy": solver.average_strategy().tobytes().hex(), "nodes": len(nodes)}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), *sys.argv[4:])
