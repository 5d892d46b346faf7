"""Neural solvers: ``python benchmarks/neural.py SUBJECT``. They need the extra neural, and dm-tree for OpenSpiel's.

deep_cfr  Deep CFR beside OpenSpiel's with the same hyper-parameters: CPU time and exploitability at iterations
nfsp      NFSP beside OpenSpiel's with the same hyper-parameters: episodes per CPU second
escher    ESCHER beside OpenSpiel's, each with its defaults: exploitability after CPU seconds
dream     DREAM with and without baselines: exploitability, and the variance of sampled regrets
sampling  histories/s of sampling alone, on a tree and batched, over OpenSpiel's Deep CFR; with --nopeer batched alone
batched   batched DREAM, ESCHER or NFSP on a game that is not enumerated, against uniform play as it trains

One thread. Evaluations are not counted, nor the training of OpenSpiel's average-policy networks, whose policies are
masked and renormalized before they are measured.
"""

import math
import resource
import statistics
import time

import numpy as np
import torch
from absl import flags
from measuring import FLAGS, run, settings, spread, timed

import mccfr_plus
from mccfr_plus import neural
from mccfr_plus.estimators.escher import refresh_values
from mccfr_plus.neural.sampling.observer import Observer, uniform
from mccfr_plus.neural.sampling.paths import Trajectories, corrected_regrets
from mccfr_plus.trees.order import representative_states

flags.DEFINE_string("game", None, "Game. Default: leduc_poker; batched: phantom_ttt")
flags.DEFINE_integer("seeds", 3, "How many runs")
flags.DEFINE_list("marks", None, "When to evaluate: CPU seconds; deep_cfr: iterations. Default: the subject's")
flags.DEFINE_multi_string("set", [], "A field of our config, such as values='exact'; may be given several times")
flags.DEFINE_string("algorithm", "DREAM", "batched: DREAM, ESCHER, NFSP")
flags.DEFINE_bool("peer", True, "Run OpenSpiel's too, which takes most of the time")
flags.DEFINE_integer("rounds", 5, "nfsp, sampling: how often both sides take turns")
flags.DEFINE_integer("games", 4000, "batched: games of an evaluation")

CPU = time.process_time


def tree_of(default="leduc_poker"):
    torch.set_num_threads(1)
    return mccfr_plus.compile_game(FLAGS.game or default)


def marks(default):
    return [float(mark) for mark in FLAGS.marks or default]


def new(name, tree, seed, **fields):
    """Returns a solver whose kernels are compiled."""
    config = getattr(neural, f"{name}Config")(**(fields | settings(FLAGS.set)))
    solver = getattr(neural, name)(getattr(tree, "game", tree) if "Batched" in name else tree, config, seed=seed)
    solver._prepare()
    return solver


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


# --- ours alone ---


def variances(solver, table):
    """Returns the variance of sampled regrets, and of weight x regret, with a table of baselines; see `dream`."""
    plain, weighted, count, env = 0.0, 0.0, 0, solver._env
    for player in range(solver.tree.num_players):
        paths = next(env.sample(Trajectories(env.strategies(), (player,), 0.5), 200_000, 200_000))
        own = paths.players == player
        solver.values.table[:] = table
        values = solver.values.at(paths)
        rows, regrets = paths.infosets[own], corrected_regrets(paths, values[:, player], player)[own]
        weights = paths.importance((player,))[own]
        for row in np.unique(rows):
            of_row = regrets[rows == row]  # 0 at illegal actions
            plain += of_row.var(0).sum() * len(of_row)
            weighted += (of_row * weights[rows == row, None]).var(0).sum() * len(of_row)
            count += len(of_row)
    return np.array([plain, weighted]) / count


def dream():
    """Variance: of the sampled regrets at an infoset, summed over actions, weighted by visits.

    Once as the network gets them, and once times the samples' weights, as outcome sampling adds them to a table. True
    values as baselines are the limit.
    """
    tree, (seconds,) = tree_of(), marks(["60"])
    results = []
    for seed in range(FLAGS.seeds):
        solvers = [new("DREAM", tree, seed, baseline=baseline) for baseline in (True, False)]
        for solver in solvers:
            advance(solver.iteration, 0.0, seconds)
        learned = solvers[0].values.table.copy()
        true = np.zeros_like(learned)
        for player in range(tree.num_players):
            refresh_values(tree.arrays, solvers[0]._env.strategy, true[player], player)
        exploitabilities = [solver.exploitability() for solver in solvers]
        without = variances(solvers[0], np.zeros_like(learned))
        ratios = [without / variances(solvers[0], table) for table in (learned, true)]
        results.append([*exploitabilities, *ratios[0], *ratios[1]])
    names = (
        "exploitability with baselines",
        "without",
        "variance without / with",
        "weighted",
        "true values",
        "weighted",
    )
    for name, values in zip(names, zip(*results, strict=True), strict=True):
        print(f"{tree.game}, {seconds:g} CPU seconds, {name}: {spread(values, '.4g')}")


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
        return next(ours._env.sample(ours._histories(0), 4000, 4000)).nodes

    return {"OpenSpiel": theirs, "on a tree": on_tree}


def sampling():
    """Networks as they were initialized, forward passes included. OpenSpiel's memories are included, ours are not.

    The last one plays uniformly, without networks.
    """
    torch.set_num_threads(1)
    game, layers = mccfr_plus.load_game(FLAGS.game or "leduc_poker"), DEEP_CFR["hidden_layers"]
    solver = new("BatchedDREAM", game, 1, hidden_layers=layers, layer_norm=True)
    solver._trained[:] = 1
    observer, strategies = solver._env.observer, solver._env.strategies()

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


# --- a game that is not enumerated ---


def against_uniform(solver, policy):
    """Returns payoffs of a policy, ``[games]``, in the first seat and then in the second."""
    payoffs = []
    for seat in range(2):

        def strategies(player, tensors, masks, seat=seat):
            return (policy.probabilities if player == seat else uniform)(player, tensors, masks)

        rng = np.random.default_rng(1000 + seat)
        paths = Trajectories(strategies).sample(solver._env.observer, FLAGS.games // 2, rng)
        payoffs.append(paths.returns[:, seat])
    return np.concatenate(payoffs)


def wilson(wins, games):
    share, z = wins / games, 1.96
    middle = (share + z**2 / (2 * games)) / (1 + z**2 / games)
    half = z / (1 + z**2 / games) * math.sqrt(share * (1 - share) / games + z**2 / (4 * games**2))
    return middle - half, middle + half


def batched():
    """Mean payoff and share of games won, each with a 95 % confidence interval (normal; Wilson 1927)."""
    torch.set_num_threads(1)
    solver, spent = new(f"Batched{FLAGS.algorithm}", FLAGS.game or "phantom_ttt", 1), 0.0
    for mark in [0.0, *marks([600.0 / 2**k for k in reversed(range(8))])]:
        spent = advance(solver.iteration, spent, mark)
        payoffs = against_uniform(solver, solver.average_policy())
        error = 1.96 * payoffs.std() / math.sqrt(len(payoffs))
        low, high = wilson(int((payoffs > 0).sum()), len(payoffs))
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(
            f"{spent:6.0f} s, iteration {solver.iterations:4d}, {solver.nodes_touched:9,d} histories: payoff "
            f"{payoffs.mean():+.3f} +- {error:.3f}, won {(payoffs > 0).mean():.1%} ({low:.1%} to {high:.1%}), peak "
            f"{memory:.2f} GiB",
            flush=True,
        )
    policy, begin = solver.current_policy().probabilities, CPU()
    paths = Trajectories(policy, (0,), 0.5).sample(solver._env.observer, 1000, np.random.default_rng(1))
    print(f"sampling alone: {paths.nodes / (CPU() - begin):,.0f} histories/s")


if __name__ == "__main__":
    subjects = (deep_cfr, nfsp, escher, dream, sampling, batched)
    run(__doc__, {function.__name__: function for function in subjects})
