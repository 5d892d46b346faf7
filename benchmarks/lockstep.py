"""DREAM, ESCHER or NFSP on a game that is not enumerated: its average policy against uniform play, as it trains.

    python benchmarks/batched.py --algorithm=dream --seconds=600
    python benchmarks/batched.py --algorithm=escher --game="dark_hex(num_rows=3,num_cols=3)"

After marks of CPU seconds --games are played, half of them in each seat: mean payoff and share of games won, each with
a 95 % confidence interval (normal; Wilson 1927). At the end, histories/s of sampling alone, with the forward passes of
the networks that were trained. Peak memory is that of the process.

Needs: pip install 'mccfr_plus[neural]'
"""

import ast
import math
import resource
import time

import numpy as np
import torch
from absl import app, flags

from mccfr_plus.neural import (
    BatchedDREAM,
    BatchedDREAMConfig,
    BatchedESCHER,
    BatchedESCHERConfig,
    BatchedNFSP,
    BatchedNFSPConfig,
)
from mccfr_plus.neural.batched.paths import sample_paths

FLAGS = flags.FLAGS

flags.DEFINE_string("game", "phantom_ttt", "Game")
flags.DEFINE_enum("algorithm", "dream", ["dream", "escher", "nfsp"], "Which")
flags.DEFINE_float("seconds", 600.0, "CPU seconds of training")
flags.DEFINE_integer("marks", 8, "How often it is looked at; each is twice as late as the one before")
flags.DEFINE_integer("games", 4000, "Games per look")
flags.DEFINE_integer("seed", 1, "Of the run")
flags.DEFINE_list("set", [], "Fields of the config, as in --set=traversals=1000")

SOLVERS = {
    "dream": (BatchedDREAM, BatchedDREAMConfig),
    "escher": (BatchedESCHER, BatchedESCHERConfig),
    "nfsp": (BatchedNFSP, BatchedNFSPConfig),
}


def uniform(player, tensors, masks):
    return masks / masks.sum(1, keepdims=True)


def against_uniform(solver, policy, games):
    """Returns payoffs of a policy, ``[games]``, in the first seat and then in the second."""
    payoffs = []
    for seat in range(2):

        def strategies(player, tensors, masks, seat=seat):
            return (policy.probabilities if player == seat else uniform)(player, tensors, masks)

        rng = np.random.default_rng(1000 + seat)
        paths = sample_paths(solver.game, solver._observer, strategies, None, 0.0, games // 2, rng)
        payoffs.append(paths.returns[:, seat])
    return np.concatenate(payoffs)


def wilson(wins, games):
    share, z = wins / games, 1.96
    middle = (share + z**2 / (2 * games)) / (1 + z**2 / games)
    half = z / (1 + z**2 / games) * math.sqrt(share * (1 - share) / games + z**2 / (4 * games**2))
    return middle - half, middle + half


def look(solver, spent, policy):
    payoffs = against_uniform(solver, policy, FLAGS.games)
    error = 1.96 * payoffs.std() / math.sqrt(len(payoffs))
    low, high = wilson(int((payoffs > 0).sum()), len(payoffs))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"{spent:6.0f} s, iteration {solver.iterations:4d}, {solver.nodes_touched:9,d} histories: payoff "
        f"{payoffs.mean():+.3f} +- {error:.3f}, won {(payoffs > 0).mean():.1%} ({low:.1%} to {high:.1%}), peak "
        f"{memory:.2f} GiB",
        flush=True,
    )


def main(_):
    torch.set_num_threads(1)
    kind, config = SOLVERS[FLAGS.algorithm]
    fields = dict(pair.split("=", 1) for pair in FLAGS.set)
    solver = kind(FLAGS.game, config(**{k: ast.literal_eval(v) for k, v in fields.items()}), seed=FLAGS.seed)
    solver._prepare()
    print(f"{FLAGS.game}, {FLAGS.algorithm}, {solver.config}", flush=True)
    look(solver, 0.0, solver.average_policy())
    spent = 0.0
    for mark in [FLAGS.seconds / 2**k for k in range(FLAGS.marks - 1, -1, -1)]:
        while spent < mark:
            begin = time.process_time()
            solver.iteration()
            spent += time.process_time() - begin
        look(solver, spent, solver.average_policy())
    policy, begin = solver.current_policy().probabilities, time.process_time()
    paths = sample_paths(solver.game, solver._observer, policy, 0, 0.5, 1000, np.random.default_rng(1))
    print(f"sampling alone: {paths.nodes / (time.process_time() - begin):,.0f} histories/s")


if __name__ == "__main__":
    app.run(main)
