"""The sizing table of docs/cluster.md: figures measured by benchmarks/distributed.py, extended on paper.

    python benchmarks/cluster_sizes.py
    python benchmarks/cluster_sizes.py --gigabytes=12.5 --merge=5

A round of one player: the strategy goes to every node, each worker makes one chunk, its sums go to those who own the
tables, are added up there, and the tables are updated. Sending and adding up is not overlapped with traversals: the
table says how long traversals must take for all that to be a tenth of them.
"""

import math

from absl import app, flags

FLAGS = flags.FLAGS

flags.DEFINE_float("bytes", 9.6, "Bytes that a chunk sends per slot touched")
flags.DEFINE_float("merge", 9.0, "Nanoseconds to add up a slot of a chunk")
flags.DEFINE_float("update", 12.0, "Nanoseconds to average and update a slot")
flags.DEFINE_float("fixed", 0.05, "Seconds of a round that do not depend on sizes")
flags.DEFINE_float("gigabytes", 1.25, "GB/s of a node's network")
flags.DEFINE_float("touched", 0.5, "Share of a player's slots that a long chunk touches")
flags.DEFINE_float("rate", 2e7, "Slots/s that a worker can touch at most")
flags.DEFINE_integer("per_node", 32, "Workers of a node")
flags.DEFINE_float("share", 0.1, "Of the traversals' time that all else may take")

CASES = [
    (5e4, 2, 0), (1e6, 16, 0), (1e7, 64, 0), (1e7, 64, 4), (1e8, 256, 0), (1e8, 256, 16), (1e9, 1000, 0),
    (1e9, 1000, 64), (1e9, 1000, 256),
]  # fmt: skip


def costs(slots, workers, owners, seconds):
    """Returns slots touched per chunk, and the seconds of the steps of a round whose traversals take so long."""
    touched = min(FLAGS.touched * slots / 2, FLAGS.rate * seconds)  # two players with half of the slots each
    holders = max(owners, 1)
    network = FLAGS.gigabytes * 1e9
    # A node fetches what the player's turn has changed, from all owners; an owner sends its part to all nodes, in a
    # tree of nodes that pass it on.
    nodes = math.ceil(workers / FLAGS.per_node)
    send = 8 * slots / 2 / network * max(1, math.ceil(math.log2(nodes + 1)) / holders)
    sums = FLAGS.bytes * touched * max(workers / holders, min(workers, FLAGS.per_node)) / network
    if nodes == 1 and not owners:
        send, sums = 0.0, 0.0  # in shared memory
    merge = FLAGS.merge * 1e-9 * touched * workers / holders
    update = FLAGS.update * 1e-9 * min(slots / 2, touched * workers) / holders
    return touched, send, sums, merge, update


def hidden(slots, workers, owners):
    """Returns for how long traversals must go on, so that the rest is the share of it; None if it never is."""
    seconds = FLAGS.fixed / FLAGS.share
    for _ in range(400):
        rest = FLAGS.fixed + sum(costs(slots, workers, owners, seconds)[1:])
        if rest <= FLAGS.share * seconds:
            return seconds
        seconds *= 1.05
    return None


def main(_):
    heading = ["slots", "workers", "owners", "table, GB", "chunk, MB", "round, GB", "send, s", "sums, s", "add, s",
               "update, s", "traversals, s", "worker, GB"]  # fmt: skip
    print("| " + " | ".join(heading) + " |")
    print("|" + "---:|" * len(heading))
    for slots, workers, owners in CASES:
        seconds = hidden(slots, workers, owners)
        touched, send, sums, merge, update = costs(slots, workers, owners, seconds or 0.0)
        chunk = FLAGS.bytes * touched
        row = [f"{slots:.0e}".replace("e+0", "e"), str(workers), str(owners), f"{56 * slots / 1e9:.3g}",
               f"{chunk / 1e6:.3g}", f"{chunk * workers / 1e9:.3g}"]  # fmt: skip
        row += [f"{number:.2g}" for number in (send, sums, merge, update)]
        row += ["-" if seconds is None else f"{seconds:.3g}", f"{42 * slots / 1e9:.3g}"]
        print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    app.run(main)
