"""What a round of a distributed solver costs: ``python benchmarks/cluster.py SUBJECT``.

rounds  seconds per iteration over those of `Solver` with the same batch, and the cost of the steps (4 minutes)
sizes   sizes of larger games and clusters: the measured figures, extended on paper
"""

import math
import statistics
import time

import numpy as np
from absl import flags
from measuring import FLAGS, run, spread, timed

import mccfr_plus
from mccfr_plus.cluster import Cluster, DistributedSolver
from mccfr_plus.cluster.batch import Batch, add_sums, begin_sums
from mccfr_plus.kernels.loops.components import State
from mccfr_plus.trees.arrays import read_only

flags.DEFINE_string("game", "liars_dice", "rounds: game")
flags.DEFINE_string("estimator", "external", "rounds: estimator")
flags.DEFINE_float("round", 1.0, "rounds: seconds of a round, that is of one player's traversals")
flags.DEFINE_list("num_batches", ["4", "8", "16"], "rounds: batches of a round")
flags.DEFINE_integer("rounds", 5, "rounds: how often")
flags.DEFINE_float("bytes", 9.6, "sizes: bytes that a batch sends per slot touched")
flags.DEFINE_float("merge", 9.0, "sizes: nanoseconds to add up a slot of a batch")
flags.DEFINE_float("update", 12.0, "sizes: nanoseconds to average and update a slot")
flags.DEFINE_float("fixed", 0.05, "sizes: seconds of a round that do not depend on sizes")
flags.DEFINE_float("gigabytes", 1.25, "sizes: GB/s of a node's network")
flags.DEFINE_float("touched", 0.5, "sizes: share of a player's slots that a long batch touches")
flags.DEFINE_float("rate", 2e7, "sizes: slots/s that a worker can touch at most")
flags.DEFINE_integer("per_node", 32, "sizes: workers of a node")
flags.DEFINE_float("share", 0.1, "sizes: of the traversals' time that all else may take")


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
    """On a shared machine both sides vary more than they differ. So the iteration is also given over the time that its

    traversals took by the worker's own clock, and traversals over those of `Solver` by CPU time.
    """
    tree = mccfr_plus.compile_game(FLAGS.game)
    traversals = batch_of(tree, FLAGS.round)
    print(f"{FLAGS.game}, {tree.num_slots:,} slots, {FLAGS.estimator}, {traversals:,} traversals a round, one worker")
    print(f"{'batches':>8}  {'over Solver':<20}{'over its traversals':<24}{'CPU over Solver':<20}{'MB a round':>10}")
    with Cluster() as cluster:
        for num_batches in map(int, FLAGS.num_batches):
            plan = {"num_batches": num_batches, "traversals": traversals // num_batches, "seed": 1}
            inside = mccfr_plus.Solver(tree, FLAGS.estimator, batch=math.prod(list(plan.values())[:2]), seed=1).run(1)
            with (
                DistributedSolver(tree, FLAGS.estimator, **plan, workers=1, cluster=cluster) as outside,
                DistributedSolver(tree, FLAGS.estimator, **plan, cluster="local") as local,
            ):
                ratios, sampling, cpu, engine = [], [], [], outside.run(1)._engine
                local.run(1)
                for _ in range(FLAGS.rounds):
                    before, alone = engine.sampling_seconds, timed(inside.iteration)
                    spent = timed(outside.iteration)
                    ratios.append(spent / alone)
                    sampling.append(spent / (engine.sampling_seconds - before))
                    clock = time.process_time
                    cpu.append(timed(local.iteration, clock) / timed(inside.iteration, clock))
                sent = engine.bytes_received / (outside.iterations * tree.num_players) / 1e6
                cells = f"{spread(ratios):<20}{spread(sampling, '.3f'):<24}{spread(cpu):<20}{sent:>10.2f}"
                print(f"{num_batches:>8}  {cells}", flush=True)
        steps(tree)
        sending(cluster)


def steps(tree):
    """Prints what a batch sends, and what adding up and updating cost."""
    heading = f"\n{'traversals':>10}{'of the slots touched':>22}{'bytes':>12}{'bytes/slot':>12}"
    print(f"{heading}{'add, ns/slot':>14}{'update':>8}")
    of_slot = read_only(tree.infoset_of_slot)
    for traversals in (1, 100, 10_000, 100_000):
        plan = {"num_batches": 1, "traversals": traversals, "seed": 1, "cluster": "local"}
        with DistributedSolver(tree, FLAGS.estimator, **plan) as solver:
            solver.run(1)
            engine, times = solver._engine, []
            shared = engine.strategy, engine.sampling_weights()
            (result,) = solver._worker_pool.work(shared, [Batch(1, 2, (0,), 0)])
            sums = result.sums[0]
            for _ in range(5):
                begin_sums(tree.arrays, engine.scratches[0], 0, 0)
                given = (tree.arrays, engine.scratches[0], of_slot, 0, sums.first_slots, sums.values)
                state = State(engine.strategy, engine.tables, engine.average)
                settings = engine._settings(engine.parameters[0])
                updated = (tree.arrays, state, engine.scratches[0], settings, 0, 0, 2)
                adding = timed(lambda given=given: add_sums(*given))
                times.append((adding, timed(lambda e=engine, updated=updated: e.run(*updated))))
            add, update = (1e9 * min(side) / len(sums.values) for side in zip(*times, strict=True))
            share = len(sums.values) / int(tree.arrays.slot_range[1])
            each = result.nbytes / len(sums.values)
            print(f"{traversals:>10,}{share:>22.4f}{result.nbytes:>12,}{each:>12.1f}{add:>14.2f}{update:>8.2f}")


class Reader:
    def read(self, array):
        return float(array.sum())  # so that all of it is read


def sending(cluster):
    print(f"\n{'bytes':>13}{'put, s':>10}{'get by a worker, s':>20}{'GB/s':>8}")
    reader = cluster.ray.remote(Reader).remote()
    cluster.ray.get(reader.read.remote(np.zeros(1)))
    for size in (10_000, 1_000_000, 100_000_000):
        array, times = np.random.default_rng(1).random(size // 8), []
        for _ in range(5):
            begin = time.perf_counter()
            reference = cluster.ray.put(array)
            middle = time.perf_counter()
            cluster.ray.get(reader.read.remote(reference))
            times.append((middle - begin, time.perf_counter() - middle))
        put, get = (statistics.median(side) for side in zip(*times, strict=True))
        print(f"{size:>13,}{put:>10.5f}{get:>20.5f}{size / (put + get) / 1e9:>8.2f}")


def sizes():
    """A round of one player: the strategy goes to every node, each worker makes one batch, its sums go to the driver.

    Nothing is sent or added up while traversals go on: the table says how long these must take for the rest to be a
    tenth of them.
    """
    heading = ["slots", "workers", "table, GB", "batch, MB", "round, GB", "send, s", "sums, s", "add, s", "update, s"]
    heading += ["traversals, s", "worker, GB"]
    print("| " + " | ".join(heading) + " |\n|" + "---:|" * len(heading))
    for slots, workers in ((5e4, 2), (1e6, 16), (1e7, 64), (1e8, 256), (1e9, 1000)):
        seconds = FLAGS.fixed / FLAGS.share
        while FLAGS.fixed + sum(costs(slots, workers, seconds)[1:]) > FLAGS.share * seconds:
            seconds *= 1.05
        touched, *spent = costs(slots, workers, seconds)
        batch = FLAGS.bytes * touched
        row = [f"{slots:.0e}".replace("e+0", "e"), str(workers), f"{56 * slots / 1e9:.3g}", f"{batch / 1e6:.3g}"]
        row += [f"{batch * workers / 1e9:.3g}", *(f"{number:.2g}" for number in spent)]
        print("| " + " | ".join([*row, f"{seconds:.3g}", f"{42 * slots / 1e9:.3g}"]) + " |")


def costs(slots, workers, seconds):
    """Returns slots touched per batch, and the seconds of sending, of receiving, of adding up and of updating."""
    touched = min(FLAGS.touched * slots / 2, FLAGS.rate * seconds)  # two players with half of the slots each
    network, nodes = FLAGS.gigabytes * 1e9, math.ceil(workers / FLAGS.per_node)
    send = 8 * slots / 2 / network * math.ceil(math.log2(nodes + 1))  # nodes pass the strategy on to each other
    sums = FLAGS.bytes * touched * workers / network
    if nodes == 1:
        send, sums = 0.0, 0.0  # in shared memory
    merge = FLAGS.merge * 1e-9 * touched * workers
    return touched, send, sums, merge, FLAGS.update * 1e-9 * min(slots / 2, touched * workers)


if __name__ == "__main__":
    run(__doc__, {"rounds": rounds, "sizes": sizes})
