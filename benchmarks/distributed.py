"""What a distributed solver's rounds cost: beside the solver in one process, and piece by piece.

    python benchmarks/distributed.py
    python benchmarks/distributed.py --game=leduc_poker --round=0.25

First, seconds per iteration of `DistributedSolver` with one worker on a cluster of this machine over those of
`Solver` with the same batch, in turn in this process; rounds take about as long as asked. On a shared machine both
vary more than they differ: so the iteration is also given over the time that its traversals took, by the worker's own
clock, which other work slows down alike, and traversals over those of `Solver` by CPU time. Then what the sizing table
of docs/cluster.md is computed from: what chunks send, and what merging, updating and sending cost.
"""

import os
import statistics
import time

import numpy as np
from absl import app, flags
from mccfr_plus.cluster.chunk import add_sums, as_read

import mccfr_plus
from mccfr_plus.cluster import Cluster, DistributedSolver
from mccfr_plus.cluster.sampler import Sampler
from mccfr_plus.kernels.scratch import begin_gradient

FLAGS = flags.FLAGS

flags.DEFINE_string("game", "liars_dice", "Game")
flags.DEFINE_string("scheme", "external", "Scheme")
flags.DEFINE_float("round", 1.0, "Seconds of a round, that is of one player's traversals")
flags.DEFINE_list("chunks", ["4", "8", "32"], "Chunks of a round")
flags.DEFINE_integer("rounds", 5, "How often")


def seconds_of(solver):
    """Returns seconds per iteration."""
    begin = time.perf_counter()
    solver.iteration()
    return time.perf_counter() - begin


def cpu_seconds_of(solver):
    """Returns CPU seconds per iteration."""
    begin = time.process_time()
    solver.iteration()
    return time.process_time() - begin


def batch_of(tree, seconds):
    """Returns how many traversals take so many seconds for one player."""
    batch = 256
    while True:
        solver = mccfr_plus.Solver(tree, FLAGS.scheme, batch=batch, seed=1)
        solver.iteration()
        spent = min(seconds_of(solver) for _ in range(3)) / tree.num_players
        if spent > seconds / 8:
            return int(batch * seconds / spent)
        batch *= 4


def main(_):
    tree = mccfr_plus.compile_game(FLAGS.game)
    batch = batch_of(tree, FLAGS.round)
    print(
        f"{FLAGS.game}, {tree.num_slots:,} slots, {FLAGS.scheme}, {batch:,} traversals a round; "
        f"load average {os.getloadavg()[0]:.2f}, {os.cpu_count()} cores"
    )
    print(
        f"{'chunks':>7}{'Solver, s':>11}{'one worker, s':>15}{'ratio':>7}{'least..most':>14}"
        f"{'over its traversals':>16}{'least..most':>14}{'MB a round':>12}"
    )
    with Cluster() as cluster:
        for chunks in map(int, FLAGS.chunks):
            traversals = batch // chunks
            inside = mccfr_plus.Solver(tree, FLAGS.scheme, batch=traversals * chunks, seed=1)
            inside.iteration()
            plan = {"chunks": chunks, "traversals": traversals, "seed": 1, "workers": 1, "cluster": cluster}
            with DistributedSolver(tree, FLAGS.scheme, **plan) as outside:
                outside.run(1)
                pairs, walking = [], []
                for _ in range(FLAGS.rounds):
                    before = outside._engine.sampling_seconds
                    pairs.append((seconds_of(inside), seconds_of(outside)))
                    walking.append(pairs[-1][1] / (outside._engine.sampling_seconds - before))
                ratios = [b / a for a, b in pairs]
                middle = [statistics.median(x) for x in zip(*pairs, strict=True)]
                sent = outside._engine.bytes_received / (outside.iterations * tree.num_players)
                print(
                    f"{chunks:>7}{middle[0]:>11.3f}{middle[1]:>15.3f}{statistics.median(ratios):>7.3f}"
                    f"{f'{min(ratios):.2f}..{max(ratios):.2f}':>14}{statistics.median(walking):>16.3f}"
                    f"{f'{min(walking):.3f}..{max(walking):.3f}':>14}{sent / 1e6:>12.2f}",
                    flush=True,
                )
            with DistributedSolver(tree, FLAGS.scheme, **plan | {"cluster": "local"}) as local:
                local.run(1)
                times = [(cpu_seconds_of(inside), cpu_seconds_of(local)) for _ in range(FLAGS.rounds)]
                print(
                    f"{'':>7}CPU time of all chunks in this process over that of Solver: "
                    f"{statistics.median(b / a for a, b in times):.3f}",
                    flush=True,
                )
        _print_pieces(tree, cluster)
    print(f"load average at the end {os.getloadavg()[0]:.2f}")


def _print_pieces(tree, cluster):
    """Prints what the steps of a round cost."""
    print(
        f"\n{'traversals':>9}{'of the slots touched':>22}{'bytes':>12}{'bytes/slot touched':>20}"
        f"{'merge, ns/slot':>16}{'update':>8}"
    )
    for traversals in (1, 100, 10_000, 100_000):
        with DistributedSolver(tree, FLAGS.scheme, chunks=1, traversals=traversals, seed=1, cluster="local") as solver:
            solver.iteration()
            engine = solver._engine
            sampler = Sampler(tree.arrays, engine._task())
            chunk = sampler.sample(engine.strategy, np.zeros(0), (0,), 2, 0)
            values = chunk.sums[0].values
            times = [_merge_seconds(tree, engine, chunk.sums[0]) for _ in range(5)]
            merge, update = (1e9 * min(x) / len(values) for x in zip(*times, strict=True))
            share = len(values) / int(tree.arrays.slot_range[1])
            print(
                f"{traversals:>9,}{share:>22.4f}{chunk.nbytes:>12,}{chunk.nbytes / len(values):>20.1f}"
                f"{merge:>16.2f}{update:>8.2f}"
            )
    print(f"\n{'bytes':>13}{'put, s':>10}{'get by a worker, s':>20}{'GB/s':>8}")
    reader = cluster.ray.remote(_Reader).remote()
    cluster.ray.get(reader.read.remote(np.zeros(1)))
    for size in (10_000, 1_000_000, 100_000_000):
        array = np.random.default_rng(1).random(size // 8)
        times = [_send_seconds(cluster, reader, array) for _ in range(5)]
        put, get = (statistics.median(x) for x in zip(*times, strict=True))
        print(f"{size:>13,}{put:>10.5f}{get:>20.5f}{size / (put + get) / 1e9:>8.2f}")


def _merge_seconds(tree, engine, sums):
    """Returns the seconds of adding a chunk's sums up, and of averaging and updating what they have touched."""
    begin_gradient(tree.arrays, engine.scratches[0], 0)
    begin = time.perf_counter()
    of_slot = as_read(tree.infoset_of_slot)
    add_sums(tree.arrays, engine.scratches[0], of_slot, 0, sums.firsts, sums.values)
    middle = time.perf_counter()
    engine._update((0,), 2)
    return middle - begin, time.perf_counter() - middle


class _Reader:
    def read(self, array):
        """Returns the sum, so that all of it is read."""
        return float(array.sum())


def _send_seconds(cluster, reader, array):
    begin = time.perf_counter()
    reference = cluster.ray.put(array)
    middle = time.perf_counter()
    cluster.ray.get(reader.read.remote(reference))
    return middle - begin, time.perf_counter() - middle


if __name__ == "__main__":
    app.run(main)
