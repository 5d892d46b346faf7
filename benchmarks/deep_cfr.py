"""Deep CFR here and in OpenSpiel (torch), in turn: CPU seconds per iteration and exploitability at the same iterations.

Both have the hyper-parameters of the flags, a network trained from scratch in every iteration and a reservoir.
OpenSpiel's average policy comes from a network that is trained when it is asked for, which is not counted, and is
masked and renormalized before it is measured. With --defaults, ours with its own defaults runs alone, for --seconds.

Needs: pip install 'mccfr_plus[neural]' dm-tree
"""

import ast
import contextlib
import time

import numpy as np
import torch
from absl import app, flags

import mccfr_plus
from mccfr_plus.neural import DeepCFR, DeepCFRConfig
from mccfr_plus.tree.order import representative_states

FLAGS = flags.FLAGS

flags.DEFINE_string("game", "leduc_poker", "Game")
flags.DEFINE_list(
    "marks", ["10", "20", "30"], "Iterations at which exploitability is looked at; the last one ends a run"
)
flags.DEFINE_integer("traversals", 375, "Traversals per player and iteration")
flags.DEFINE_integer("batch_size", 256, "Samples per training step")
flags.DEFINE_integer(
    "train_steps", 375, "Training steps per player and iteration; as many for OpenSpiel's policy network"
)
flags.DEFINE_list("layers", ["64", "64", "64"], "Widths of the hidden layers")
flags.DEFINE_float("learning_rate", 1e-3, "Of Adam")
flags.DEFINE_integer("memory", 1_000_000, "Samples that a reservoir keeps")
flags.DEFINE_integer("seeds", 1, "How many runs")
flags.DEFINE_integer("first_seed", 0, "Seed of the first run; the others count on")
flags.DEFINE_bool("peer", True, "Run OpenSpiel's too, which takes most of the time")
flags.DEFINE_bool("defaults", False, "Run ours alone, with its defaults or with what --set says")
flags.DEFINE_list("set", [], "Fields of DeepCFRConfig for --defaults, as in --set=memory='reservoir',traversals=1000")
flags.DEFINE_float("seconds", 60.0, "For how many CPU seconds --defaults runs")


def peer_of(game, layers, seed):
    """Returns OpenSpiel's solver, and functions that run an iteration and give its masked policy's strategy."""
    from open_spiel.python.pytorch import deep_cfr

    solver = deep_cfr.DeepCFRSolver(
        game,
        policy_network_layers=layers,
        advantage_network_layers=layers,
        num_traversals=FLAGS.traversals,
        learning_rate=FLAGS.learning_rate,
        batch_size_advantage=FLAGS.batch_size,
        batch_size_strategy=FLAGS.batch_size,
        memory_capacity=FLAGS.memory,
        policy_network_train_steps=FLAGS.train_steps,
        advantage_network_train_steps=FLAGS.train_steps,
        seed=seed,
    )

    def iteration():  # the body of its solve()
        for player in range(game.num_players()):
            for _ in range(FLAGS.traversals):
                solver._traverse_game_tree(solver._root_node, player)
            solver._reinitialize_advantage_network(player)
            solver._learn_advantage_network(player)
        solver._iteration += 1

    def policy():
        solver._reinitialize_policy_network()
        solver._learn_strategy_network()

        tree = mccfr_plus.compile_game(game)
        strategy = np.zeros(tree.num_slots)
        for infoset, state in enumerate(representative_states(tree)):
            answer = solver.action_probabilities(state)
            row = np.array([answer[action] for action in tree.legal_actions(infoset)], np.float64)
            strategy[tree.slots(infoset)] = row / row.sum()
        return mccfr_plus.TreePolicy(tree, strategy)

    return iteration, policy


@contextlib.contextmanager
def timed(total):
    begin = time.process_time()
    yield
    total[0] += time.process_time() - begin


def side_by_side(tree, seed):
    """Prints exploitability and CPU seconds at each mark; returns exploitability, [2, len(marks)]."""
    layers = tuple(int(width) for width in FLAGS.layers)
    config = DeepCFRConfig(
        traversals=FLAGS.traversals,
        hidden_layers=layers,
        layer_norm=True,
        learning_rate=FLAGS.learning_rate,
        batch_size=FLAGS.batch_size,
        train_steps=FLAGS.train_steps,
        warm_start=False,
        memory="reservoir",
        memory_capacity=FLAGS.memory,
        scale_targets=False,
    )
    ours = DeepCFR(tree, config, seed=seed)
    ours._prepare()
    theirs = peer_of(tree.game, layers, seed) if FLAGS.peer else None
    our_time, their_time = [0.0], [0.0]
    marks = [int(mark) for mark in FLAGS.marks]
    result = np.full((2, len(marks)), np.nan)
    for iteration in range(1, marks[-1] + 1):
        with timed(our_time):
            ours.iteration()
        if theirs:
            with timed(their_time):
                theirs[0]()
        if iteration in marks:
            column = marks.index(iteration)
            result[0, column] = ours.exploitability()
            line = f"  iteration {iteration}: here {result[0, column]:.3f} in {our_time[0]:.1f} s"
            if theirs:
                result[1, column] = mccfr_plus.exploitability(tree, theirs[1]())
                line += f", OpenSpiel {result[1, column]:.3f} in {their_time[0]:.1f} s"
                line += f": {their_time[0] / our_time[0]:.1f} times as fast"
            print(line, flush=True)
    print(f"  {ours.nodes_touched / our_time[0]:,.0f} nodes/s here, training included", flush=True)
    return result


def alone(tree, seed):
    """Prints exploitability of our defaults against CPU seconds."""
    fields = dict(pair.split("=", 1) for pair in FLAGS.set)
    config = DeepCFRConfig(**{name: ast.literal_eval(value) for name, value in fields.items()})
    solver = DeepCFR(tree, config, seed=seed)
    solver._prepare()
    spent, due = [0.0], 1.0
    while spent[0] < FLAGS.seconds:
        with timed(spent):
            solver.iteration()
        if spent[0] >= due:
            due = spent[0] * 1.15
            print(f"  {spent[0]:6.1f} s, iteration {solver.iterations:4d}: {solver.exploitability():.4f}", flush=True)


def main(_):
    torch.set_num_threads(1)
    tree = mccfr_plus.compile_game(FLAGS.game)
    results = []
    for seed in range(FLAGS.first_seed, FLAGS.first_seed + FLAGS.seeds):
        print(f"{FLAGS.game}, seed {seed}: exploitability", flush=True)
        if FLAGS.defaults:
            alone(tree, seed)
        else:
            results.append(side_by_side(tree, seed))
    if len(results) > 1:
        print("medians: here", np.median(results, axis=0)[0], "OpenSpiel", np.median(results, axis=0)[1])


if __name__ == "__main__":
    app.run(main)
