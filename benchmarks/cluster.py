"""What a round of a distributed solver costs: ``python benchmarks/cluster.py SUBJECT``.

rounds  seconds per iteration over those of `Solver` with the same batch (4 minutes)
"""

import time

from absl import flags
from measuring import FLAGS, run, spread, timed

import mccfr_plus
from mccfr_plus.cluster import Cluster, DistributedSolver

flags.DEFINE_string("game", "liars_dice", "game")
flags.DEFINE_string("estimator", "external", "estimator")
flags.DEFINE_float("round", 1.0, "seconds of a round, that is of one player's traversals")
flags.DEFINE_list("num_batches", ["4", "8", "16"], "batches of a round")
flags.DEFINE_integer("rounds", 5, "how often")


def batch_of(tree, seconds):
    """Returns how many traversals take so many seconds for one player."""
    batch = 256
    while True:
        solver = mccfr_plus.Solver(tree, FLAGS.estimator, batch=batch, seed=1)
        solver.iteration()
        spent = min(timed(solver.iteration) for _ in range(3)) / tree.num_players
        if spent > seconds / 8:
            return int(batch * seconds / spent)
        batch *= 4


def rounds():
    """The last column is by CPU time: on a shared machine, both sides vary more than they differ."""
    tree = mccfr_plus.compile_game(FLAGS.game)
    traversals = batch_of(tree, FLAGS.round)
    print(f"{FLAGS.game}, {tree.num_slots:,} slots, {FLAGS.estimator}, {traversals:,} traversals a round")
    print(f"{'batches':>8}  {'one worker over Solver':<24}{'local over Solver, CPU':<24}")
    with Cluster() as cluster:
        for num_batches in map(int, FLAGS.num_batches):
            plan = {"num_batches": num_batches, "traversals": traversals // num_batches, "seed": 1}
            batch = num_batches * plan["traversals"]
            inside = mccfr_plus.Solver(tree, FLAGS.estimator, batch=batch, seed=1).run(1)
            with (
                DistributedSolver(tree, FLAGS.estimator, **plan, workers=1, cluster=cluster) as outside,
                DistributedSolver(tree, FLAGS.estimator, **plan, cluster="local") as local,
            ):
                outside.run(1)
                local.run(1)
                wall, cpu, clock = [], [], time.process_time
                for _ in range(FLAGS.rounds):
                    wall.append(timed(outside.iteration) / timed(inside.iteration))
                    cpu.append(timed(local.iteration, clock) / timed(inside.iteration, clock))
                print(f"{num_batches:>8}  {spread(wall):<24}{spread(cpu):<24}", flush=True)


if __name__ == "__main__":
    run(__doc__, {"rounds": rounds})
