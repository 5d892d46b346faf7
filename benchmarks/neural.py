"""Neural solvers: ``python benchmarks/neural.py SUBJECT``. They need the extra neural, and dm-tree for OpenSpiel's.

deep_cfr  Deep CFR beside OpenSpiel's with the same hyper-parameters: CPU time and exploitability at iterations
nfsp      NFSP beside OpenSpiel's with the same hyper-parameters: episodes per CPU second
escher    ESCHER beside OpenSpiel's, each with its defaults: exploitability after CPU seconds
sampling  histories/s of sampling alone, on a tree and batched, over OpenSpiel's Deep CFR; with --nopeer batched alone

One thread. Evaluations are not counted, nor the training of OpenSpiel's average-policy networks, whose policies are
masked and renormalized before they are measured.
"""

import itertools
import statistics
import time

import numpy as np
import torch
from absl import flags
from measuring import FLAGS, run, settings, spread, timed

import mccfr_plus
from mccfr_plus import neural
from mccfr_plus.neural.paths import Trajectories, uniform
from mccfr_plus.trees.batches import Observer
from mccfr_plus.trees.order import representative_states

flags.DEFINE_string("game", None, "Game. Default: leduc_poker")
flags.DEFINE_integer("seeds", 3, "How many runs")
flags.DEFINE_list("marks", None, "When to evaluate: CPU seconds; deep_cfr: iterations. Default: the subject's")
flags.DEFINE_multi_string("set", [], "A field of our config, such as values='exact'; may be given several times")
flags.DEFINE_bool("peer", True, "Run OpenSpiel's too, which takes most of the time")
flags.DEFINE_integer("rounds", 5, "nfsp, sampling: how often both sides take turns")

CPU = time.process_time


def tree_of(default="leduc_poker"):
    torch.set_num_threads(1)
    return mccfr_plus.compile_game(FLAGS.game or default)


def marks(default):
    return [float(mark) for mark in FLAGS.marks or default]


def new(name, tree, seed, representation="tree", **fields):
    """Returns a solver whose kernels are compiled."""
    network = layer_normed if fields.pop("layer_norm", False) else None
    config = getattr(neural, f"{name}Config")(**(fields | settings(FLAGS.set)))
    solver = getattr(neural, name)(tree, config, representation=representation, seed=seed, network=network)
    solver._prepare()
    return solver


def layer_normed(num_inputs, num_outputs):
    """Returns OpenSpiel's network."""
    sizes, layers = (num_inputs, *DEEP_CFR["hidden_layers"]), []
    for pair in itertools.pairwise(sizes):
        layers += [torch.nn.Linear(*pair), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers, torch.nn.LayerNorm(sizes[-1]), torch.nn.Linear(sizes[-1], num_outputs))


def advance(iteration, spent, target):
    """Runs iterations until they have taken so many CPU seconds; returns how many they have."""
    while spent < target:
        spent += timed(iteration, CPU)
    return spent


def exploitability_of(tree, probabilities):
    """Returns the exploitability of a policy of OpenSpiel's, masked and renormalized."""
    strategy = np.zeros(tree.num_slots)
    for infoset, state in enumerate(representative_states(tree)):
        answer = probabilities(state)
        row = np.array([answer[action] for action in tree.legal_actions(infoset)], np.float64)
        strategy[tree.slots(infoset)] = row / row.sum()
    return mccfr_plus.exploitability(tree, mccfr_plus.TreePolicy(tree, strategy))


# --- beside OpenSpiel's ---


# Hyper-parameters of both sides, as ours are called.
DEEP_CFR = {
    **{"traversals": 375, "hidden_layers": (64, 64, 64), "layer_norm": True, "learning_rate": 1e-3},
    **{"batch_size": 256, "train_steps": 375, "warm_start": False, "scale_targets": False},
    **{"memory": "reservoir", "memory_capacity": 1_000_000},
}
NFSP = {  # those of OpenSpiel's Leduc example
    **{"episodes": 5000, "hidden_layers": (128,), "batch_size": 128, "learn_every": 64, "parallel_episodes": 250},
    **{"target_every": 300, "min_samples": 200, "transition_capacity": 200_000, "decision_capacity": 2_000_000},
    **{"anticipatory": 0.1, "epsilon_start": 0.06, "epsilon_end": 0.001, "epsilon_decay": 20_000_000},
    **{"value_learning_rate": 0.01, "learning_rate": 0.01, "scale_targets": False},
}


class PeerDeepCFR:
    """OpenSpiel's Deep CFR."""

    def __init__(self, tree, seed):
        from open_spiel.python.pytorch import deep_cfr

        self.tree, given = tree, DEEP_CFR
        self.solver = deep_cfr.DeepCFRSolver(
            tree.game,
            policy_network_layers=given["hidden_layers"],
            advantage_network_layers=given["hidden_layers"],
            num_traversals=given["traversals"],
            learning_rate=given["learning_rate"],
            batch_size_advantage=given["batch_size"],
            batch_size_strategy=given["batch_size"],
            memory_capacity=given["memory_capacity"],
            policy_network_train_steps=2500,  # its example's,
            advantage_network_train_steps=given["train_steps"],
            seed=seed,
        )

    def iteration(self):  # the body of its solve()
        for player in range(self.tree.num_players):
            for _ in range(DEEP_CFR["traversals"]):
                self.solver._traverse_game_tree(self.solver._root_node, player)
            self.solver._reinitialize_advantage_network(player)
            self.solver._learn_advantage_network(player)
        self.solver._iteration += 1

    def exploitability(self):
        self.solver._reinitialize_policy_network()
        self.solver._learn_strategy_network()
        return exploitability_of(self.tree, self.solver.action_probabilities)


def deep_cfr():
    tree, iterations, results = tree_of(), [int(mark) for mark in marks(["10", "20", "30"])], []
    for seed in range(FLAGS.seeds):
        solvers = [new("DeepCFR", tree, seed, **DEEP_CFR)]
        solvers += [PeerDeepCFR(tree, seed)] if FLAGS.peer else []
        spent, row = [0.0] * len(solvers), []
        for iteration in range(1, iterations[-1] + 1):
            for side, solver in enumerate(solvers):
                spent[side] += timed(solver.iteration, CPU)
            if iteration in iterations:
                row.append([solver.exploitability() for solver in solvers])
                cells = ", OpenSpiel ".join(f"{v:.3f} in {s:.1f} s" for v, s in zip(row[-1], spent, strict=True))
                print(f"{tree.game}, seed {seed}, iteration {iteration}: here {cells}", flush=True)
        results.append(row)
        print(f"  {solvers[0].nodes_touched / spent[0]:,.0f} histories/s here, training included", flush=True)
    for column, iteration in enumerate(iterations):
        found = np.median([row[column] for row in results], axis=0)
        print(f"medians at iteration {iteration}: " + ", OpenSpiel ".join(f"{value:.3f}" for value in found))


class PeerNFSP:
    """OpenSpiel's NFSP in the loop of its example."""

    def __init__(self, tree, seed):
        from open_spiel.python import rl_environment
        from open_spiel.python.pytorch import nfsp

        self.environment = rl_environment.Environment(str(tree.game))
        given = {
            "state_representation_size": self.environment.observation_spec()["info_state"][0],
            "num_actions": self.environment.action_spec()["num_actions"],
            "hidden_layers_sizes": list(NFSP["hidden_layers"]),
            "replay_buffer_capacity": NFSP["transition_capacity"],
            "reservoir_buffer_capacity": NFSP["decision_capacity"],
            "min_buffer_size_to_learn": NFSP["min_samples"],
            "anticipatory_param": NFSP["anticipatory"],
            "rl_learning_rate": NFSP["value_learning_rate"],
            "sl_learning_rate": NFSP["learning_rate"],
            "update_target_network_every": NFSP["target_every"] * NFSP["learn_every"],
            "epsilon_decay_duration": NFSP["epsilon_decay"],
            **{name: NFSP[name] for name in ("batch_size", "learn_every", "epsilon_start", "epsilon_end")},
            **{"optimizer_str": "adam", "loss_str": "mse", "discount_factor": 1.0},
        }
        self.agents = [nfsp.NFSP(player, **given, seed=seed + player) for player in range(tree.num_players)]

    def play(self, episodes):
        for _ in range(episodes):
            time_step = self.environment.reset()
            while not time_step.last():
                output = self.agents[time_step.observations["current_player"]].step(time_step)
                time_step = self.environment.step([output.action])
            for agent in self.agents:
                agent.step(time_step)


def nfsp():
    """Training begins when a memory has some samples, to which both are brought before the clock starts."""
    tree, warm_up, peer_episodes = tree_of(), 2500, 500
    ours, theirs, ratios = new("NFSP", tree, 0, **NFSP), PeerNFSP(tree, 0), []
    while ours.iterations * NFSP["episodes"] < warm_up:
        ours.iteration()
    theirs.play(warm_up)
    for number in range(FLAGS.rounds):
        here = NFSP["episodes"] / timed(ours.iteration, CPU)
        there = peer_episodes / timed(lambda: theirs.play(peer_episodes), CPU)
        ratios.append(here / there)
        print(f"  turn {number + 1}: here {here:,.0f} episodes/s, OpenSpiel {there:,.0f}", flush=True)
    print(f"{tree.game}: {spread(ratios, '.1f')} times as fast")


class PeerESCHER:
    """OpenSpiel's ESCHER with its defaults, which are meant for Kuhn poker."""

    def __init__(self, tree, seed):
        from open_spiel.python.pytorch import escher

        torch.manual_seed(seed)
        np.random.seed(seed)  # noqa: NPY002 - which it draws from
        self.module, self.tree = escher, tree
        self.config, self.agent = escher.TrainConfig(tree.game), escher.Agent(tree.game, escher.Config())

    def iteration(self):  # the body of its train()
        self.module._train_regret(self.config, self.agent)

    def exploitability(self):
        self.module._train_avg_policy(self.agent)
        return exploitability_of(self.tree, self.agent.action_probabilities)


def escher():
    tree, times = tree_of(), marks(["10", "20", "40", "60"])
    results = []
    for seed in range(FLAGS.seeds):
        solvers = [new("ESCHER", tree, seed)] + ([PeerESCHER(tree, seed)] if FLAGS.peer else [])
        spent, row = [0.0] * len(solvers), []
        for mark in times:
            spent = [advance(solver.iteration, s, mark) for solver, s in zip(solvers, spent, strict=True)]
            row.append([solver.exploitability() for solver in solvers])
        results.append(row)
    for column, mark in enumerate(times):
        found = np.median([row[column] for row in results], axis=0)
        cells = ", OpenSpiel ".join(f"{value:.4f}" for value in found)
        print(f"{tree.game}, {mark:g} CPU seconds, medians of {FLAGS.seeds}: here {cells}", flush=True)


def of_trees():
    """Returns what samples with OpenSpiel's Deep CFR and on a tree, each returning a number of histories."""
    tree = tree_of()
    peer, calls = PeerDeepCFR(tree, 1).solver, [0]
    traverse = peer._traverse_game_tree

    def counted(*arguments):
        calls[0] += 1
        return traverse(*arguments)

    peer._traverse_game_tree = counted

    def theirs():
        before = calls[0]
        for _ in range(20):
            counted(peer._root_node, 0)
        return calls[0] - before

    ours = new("DeepCFR", tree, 1, hidden_layers=DEEP_CFR["hidden_layers"], layer_norm=True)

    def on_tree():
        ours._use_network(0, 1)  # the forward pass that fills the table
        return next(ours.representation.sample(ours._histories(0), 4000, 4000)).nodes

    return {"OpenSpiel": theirs, "on a tree": on_tree}


def sampling():
    """Networks as they were initialized, forward passes included. OpenSpiel's memories are included, ours are not.

    The last one plays uniformly, without networks.
    """
    torch.set_num_threads(1)
    game, layers = mccfr_plus.load_game(FLAGS.game or "leduc_poker"), DEEP_CFR["hidden_layers"]
    solver = new("DREAM", game, 1, "batched", hidden_layers=layers, layer_norm=True)
    solver._trained[:] = 1
    observer, strategies = solver.representation.observer, solver.representation.strategies()

    def batched(observer, strategies):
        return lambda: Trajectories(strategies, (0,), 0.5).sample(observer, 1000, np.random.default_rng(1)).nodes

    through_pyspiel = Observer(game, "sampling", by_rules=False)
    speeds = {"batched, pyspiel": batched(through_pyspiel, strategies)}
    speeds |= {"batched": batched(observer, strategies), "without networks": batched(observer, uniform)}
    speeds = (of_trees() if FLAGS.peer else {}) | speeds
    found = {name: [] for name in speeds}
    for _ in range(FLAGS.rounds):
        for name, sample in speeds.items():
            begin, nodes = CPU(), 0
            while CPU() - begin < 1.0:
                nodes += sample()
            found[name].append(nodes / (CPU() - begin))
    first, base = next((name, statistics.median(rates)) for name, rates in found.items())
    for name, rates in found.items():
        speed = statistics.median(rates)
        print(f"{game}, {name}: {speed:,.0f} histories/s, {speed / base:.1f} times {first}")


if __name__ == "__main__":
    subjects = (deep_cfr, nfsp, escher, sampling)
    run(__doc__, {function.__name__: function for function in subjects})
