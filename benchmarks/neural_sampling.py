"""Histories/s of sampling alone: OpenSpiel's Deep CFR (torch), and here by kernels and in batched, in turn.

    python benchmarks/neural_sampling.py

Networks of three layers of 64, as they were initialized, forward passes included; CPU seconds of one thread, medians of
--rounds. OpenSpiel's histories are its calls of `_traverse_game_tree`, memories included; ours are made without them.

Needs: pip install 'mccfr_plus[neural]' dm-tree
"""

import time

import numpy as np
import torch
from absl import app, flags

import mccfr_plus
from mccfr_plus.neural import BatchedDREAM, BatchedDREAMConfig, DeepCFR, DeepCFRConfig
from mccfr_plus.neural.batched.paths import sample_paths

FLAGS = flags.FLAGS

flags.DEFINE_string("game", "leduc_poker", "Game")
flags.DEFINE_integer("rounds", 5, "How often each is measured")
flags.DEFINE_integer("traversals", 1000, "Histories at once, in batched")

LAYERS = (64, 64, 64)


def theirs(game):
    """Returns a function that samples and returns how many histories there were."""
    from open_spiel.python.pytorch import deep_cfr

    solver = deep_cfr.DeepCFRSolver(game, policy_network_layers=LAYERS, advantage_network_layers=LAYERS)
    traverse, calls = solver._traverse_game_tree, [0]

    def counted(*arguments):
        calls[0] += 1
        return traverse(*arguments)

    solver._traverse_game_tree = counted

    def sample():
        before = calls[0]
        for _ in range(20):
            solver._traverse_game_tree(solver._root_node, 0)
        return calls[0] - before

    return sample


def kernels(tree):
    solver = DeepCFR(tree, DeepCFRConfig(hidden_layers=LAYERS, layer_norm=True), seed=1)
    solver._prepare()

    def sample():
        before, left = solver.nodes_touched, 4000
        solver._match(0, solver._players[0].learner.predict())  # the forward pass that fills the table
        while left:
            done, _ = solver._sampler.sample(solver._strategy, 0, left)
            left -= done
        return solver.nodes_touched - before

    return sample


def batched(game):
    solver = BatchedDREAM(game, BatchedDREAMConfig(hidden_layers=LAYERS, layer_norm=True), seed=1)
    solver._prepare()
    solver._trained[:] = 1
    rng = np.random.default_rng(1)

    def sample():
        return sample_paths(solver.game, solver._observer, solver._strategy_of, 0, 0.5, FLAGS.traversals, rng).nodes

    return sample


def main(_):
    torch.set_num_threads(1)
    tree = mccfr_plus.compile_game(FLAGS.game)
    samplers = {"OpenSpiel": theirs(tree.game), "kernels": kernels(tree), "batched": batched(tree.game)}
    speeds = {name: [] for name in samplers}
    for _ in range(FLAGS.rounds):
        for name, sample in samplers.items():
            begin, nodes = time.process_time(), 0
            while time.process_time() - begin < 1.0:
                nodes += sample()
            speeds[name].append(nodes / (time.process_time() - begin))
    base = np.median(speeds["OpenSpiel"])
    for name, found in speeds.items():
        speed = np.median(found)
        print(f"{FLAGS.game}, {name}: {speed:,.0f} histories/s, {speed / base:.0f} times OpenSpiel's")


if __name__ == "__main__":
    app.run(main)
