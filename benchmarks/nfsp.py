"""NFSP here and in OpenSpiel (torch): episodes per CPU second in turn, and exploitability against CPU seconds.

First both play and train in turn with the hyper-parameters of the flags, which are those of OpenSpiel's Leduc example,
and with as many updates per step of a player; Adam on both sides. Training begins when a memory has --min_samples,
here and there, which both sides are brought to before the clock starts. Then ours runs alone with its own defaults, or
with what --set says, for --seconds; with --peer_seconds OpenSpiel's runs for so long too. Its average policy is masked
and renormalized, as it does itself when it plays, and measured by the same evaluation.

Needs: pip install 'mccfr_plus[neural]' dm-tree
"""

import ast
import contextlib
import time

import numpy as np
import torch
from absl import app, flags

import mccfr_plus
from mccfr_plus.neural import NFSP, NFSPConfig
from mccfr_plus.neural.features import features_of

FLAGS = flags.FLAGS

flags.DEFINE_string("game", "leduc_poker", "Game")
flags.DEFINE_list("layers", ["128"], "Widths of the hidden layers")
flags.DEFINE_integer("batch_size", 128, "Samples per training step")
flags.DEFINE_integer("learn_every", 64, "Steps of a player between two updates")
flags.DEFINE_integer("min_samples", 200, "Samples in a memory before its network is trained")
flags.DEFINE_float("learning_rate", 0.01, "Of both networks")
flags.DEFINE_string("optimizer", "adam", "Of OpenSpiel's; ours has Adam only")
flags.DEFINE_integer("rounds", 5, "How often both sides take turns; 0: no comparison of speed")
flags.DEFINE_integer("peer_episodes", 500, "Episodes of OpenSpiel's per turn")
flags.DEFINE_integer("episodes", 5000, "Episodes of ours per turn")
flags.DEFINE_integer("warm_up", 2500, "Episodes of either side before the first turn")
flags.DEFINE_integer("seeds", 3, "How many runs against CPU seconds")
flags.DEFINE_integer("first_seed", 0, "Seed of the first run; the others count on")
flags.DEFINE_list("set", [], "Fields of NFSPConfig for these, as in --set=batch_size=256,learn_every=128")
flags.DEFINE_float("seconds", 120.0, "For how many CPU seconds ours runs")
flags.DEFINE_float("peer_seconds", 0.0, "For how many CPU seconds OpenSpiel's runs, with the flags' hyper-parameters")


class Peer:
    """OpenSpiel's agents in the loop of its example."""

    def __init__(self, tree, seed):
        from open_spiel.python import rl_environment
        from open_spiel.python.pytorch import nfsp

        self.tree, self.features = tree, features_of(tree)
        self.environment = rl_environment.Environment(str(tree.game))
        self.agents = [
            nfsp.NFSP(
                player,
                self.environment.observation_spec()["info_state"][0],
                self.environment.action_spec()["num_actions"],
                [int(width) for width in FLAGS.layers],
                replay_buffer_capacity=200_000,
                reservoir_buffer_capacity=2_000_000,
                min_buffer_size_to_learn=FLAGS.min_samples,
                anticipatory_param=0.1,
                batch_size=FLAGS.batch_size,
                learn_every=FLAGS.learn_every,
                rl_learning_rate=FLAGS.learning_rate,
                sl_learning_rate=FLAGS.learning_rate,
                optimizer_str=FLAGS.optimizer,
                loss_str="mse",
                update_target_network_every=300 * FLAGS.learn_every,
                discount_factor=1.0,
                epsilon_decay_duration=20_000_000,
                epsilon_start=0.06,
                epsilon_end=0.001,
                seed=seed + player,
            )
            for player in range(tree.num_players)
        ]

    def play(self, episodes):
        for _ in range(episodes):
            time_step = self.environment.reset()
            while not time_step.last():
                output = self.agents[time_step.observations["current_player"]].step(time_step)
                time_step = self.environment.step([output.action])
            for agent in self.agents:
                agent.step(time_step)

    def exploitability(self):
        strategy = np.zeros(self.tree.num_slots)
        for player, (agent, features) in enumerate(zip(self.agents, self.features, strict=True)):
            with torch.no_grad():
                logits = agent._avg_network(torch.from_numpy(features.tensors)).numpy().astype(np.float64)
            begin = int(self.tree.arrays.infoset_range[player])
            for row in range(len(logits)):
                legal = logits[row, self.tree.legal_actions(begin + row)]
                share = np.exp(legal - legal.max())
                strategy[self.tree.slots(begin + row)] = share / share.sum()
        return mccfr_plus.exploitability(self.tree, mccfr_plus.TreePolicy(self.tree, strategy))


@contextlib.contextmanager
def timed(total):
    begin = time.process_time()
    yield
    total[0] += time.process_time() - begin


def in_turn(tree):
    """Prints episodes per CPU second of both sides, turn by turn, and the median of their ratios."""
    config = NFSPConfig(
        episodes=FLAGS.episodes,
        hidden_layers=tuple(int(width) for width in FLAGS.layers),
        batch_size=FLAGS.batch_size,
        learn_every=FLAGS.learn_every,
        refresh_every=1,
        target_every=300,
        min_samples=FLAGS.min_samples,
        transition_capacity=200_000,
        decision_capacity=2_000_000,
        anticipatory=0.1,
        epsilon_start=0.06,
        epsilon_end=0.001,
        epsilon_decay=20_000_000,
        value_learning_rate=FLAGS.learning_rate,
        policy_learning_rate=FLAGS.learning_rate,
        scale_targets=False,
    )
    ours, theirs = NFSP(tree, config, seed=0), Peer(tree, seed=0)
    ours._prepare()
    while ours.episodes < FLAGS.warm_up:
        ours.iteration()
    theirs.play(FLAGS.warm_up)
    stored = [len(agent._reservoir_buffer) for agent in theirs.agents]
    sizes = {name: len(memory) for name, memory in ours._memories().items()}
    print(f"reservoirs after warming up: OpenSpiel {stored}, here {sizes}", flush=True)
    ratios = []
    for number in range(FLAGS.rounds):
        our_time, their_time = [0.0], [0.0]
        updates = ours._updates.sum()
        with timed(our_time):
            ours.iteration()
        with timed(their_time):
            theirs.play(FLAGS.peer_episodes)
        rate, their_rate = FLAGS.episodes / our_time[0], FLAGS.peer_episodes / their_time[0]
        ratios.append(rate / their_rate)
        per_episode = (ours._updates.sum() - updates) / FLAGS.episodes
        print(
            f"  turn {number + 1}: here {rate:,.0f} episodes/s ({per_episode:.3f} updates each), "
            f"OpenSpiel {their_rate:,.0f}: {ratios[-1]:.1f} times as fast",
            flush=True,
        )
    steps = [agent.step_counter for agent in theirs.agents]
    print(f"  OpenSpiel's steps {steps}, an update every {FLAGS.learn_every}")
    print(f"median {np.median(ratios):.1f} times as fast ({min(ratios):.1f} to {max(ratios):.1f})", flush=True)


def against_seconds(advance, exploitability, seconds):
    """Prints exploitability now and then; returns the last one and the lowest."""
    spent, due, seen = [0.0], 2.0, []
    while spent[0] < seconds:
        with timed(spent):
            advance()
        if spent[0] >= due or spent[0] >= seconds:
            due = spent[0] * 1.3
            seen.append(exploitability())
            print(f"  {spent[0]:6.1f} s: {seen[-1]:.4f}", flush=True)
    return seen[-1], min(seen)


def main(_):
    torch.set_num_threads(1)
    tree = mccfr_plus.compile_game(FLAGS.game)
    if FLAGS.rounds:
        in_turn(tree)
    fields = dict(pair.split("=", 1) for pair in FLAGS.set)
    config = NFSPConfig(**{name: ast.literal_eval(value) for name, value in fields.items()})
    results = {"here": [], "OpenSpiel": []}
    for seed in range(FLAGS.first_seed, FLAGS.first_seed + FLAGS.seeds):
        if FLAGS.seconds:
            print(f"{FLAGS.game}, seed {seed}, here: exploitability", flush=True)
            solver = NFSP(tree, config, seed=seed)
            solver._prepare()
            results["here"].append(against_seconds(solver.iteration, solver.exploitability, FLAGS.seconds))
            print(f"  {solver.episodes:,} episodes, {solver._updates.sum():,} updates", flush=True)
        if FLAGS.peer_seconds:
            print(f"{FLAGS.game}, seed {seed}, OpenSpiel: exploitability", flush=True)
            peer = Peer(tree, seed)
            advance = lambda peer=peer: peer.play(100)  # noqa: E731
            results["OpenSpiel"].append(against_seconds(advance, peer.exploitability, FLAGS.peer_seconds))
    for who, rows in results.items():
        if rows:
            last, lowest = np.median(rows, axis=0)
            print(f"{who}: median of {len(rows)} at the end {last:.3f}, lowest on the way {lowest:.3f}")


if __name__ == "__main__":
    app.run(main)
