"""ESCHER with networks here and in OpenSpiel (torch), in turn: exploitability after as many CPU seconds.

    python benchmarks/escher_networks.py --seeds=3
    python benchmarks/escher_networks.py --seeds=3 --nopeer --set=values='exact' --marks=5,10,25

Each has its own defaults, which in OpenSpiel are meant for Kuhn poker. Its average policy comes from a network that is
trained when it is asked for, which is not counted, and is masked and renormalized before it is measured.

Needs: pip install 'mccfr_plus[neural]'
"""

import ast
import time

import numpy as np
import torch
from absl import app, flags

import mccfr_plus
from mccfr_plus.neural import ESCHER, ESCHERConfig
from mccfr_plus.tree.order import representative_states

FLAGS = flags.FLAGS

flags.DEFINE_string("game", "leduc_poker", "Game")
flags.DEFINE_list("marks", ["10", "20", "40", "60"], "CPU seconds after which exploitability is looked at")
flags.DEFINE_integer("seeds", 1, "How many runs")
flags.DEFINE_bool("peer", True, "Run OpenSpiel's too")
flags.DEFINE_list("set", [], "Fields of ESCHERConfig, as in --set=values='exact',traversals=1000")


class Ours:
    def __init__(self, tree, seed):
        fields = dict(pair.split("=", 1) for pair in FLAGS.set)
        config = ESCHERConfig(**{name: ast.literal_eval(value) for name, value in fields.items()})
        self._solver = ESCHER(tree, config, seed=seed)
        self._solver._prepare()
        self.iteration = self._solver.iteration
        self.exploitability = self._solver.exploitability


class Theirs:
    def __init__(self, tree, seed):
        from open_spiel.python.pytorch import escher

        torch.manual_seed(seed)
        np.random.seed(seed)  # noqa: NPY002 - which it draws from
        self._escher, self._tree = escher, tree
        self._config = escher.TrainConfig(tree.game)
        self._agent = escher.Agent(tree.game, escher.Config())

    def iteration(self):  # the body of its train()
        self._escher._train_regret(self._config, self._agent)

    def exploitability(self):
        self._escher._train_avg_policy(self._agent)
        strategy = np.zeros(self._tree.num_slots)
        for infoset, state in enumerate(representative_states(self._tree)):
            answer = self._agent.action_probabilities(state)
            row = np.array([answer[action] for action in self._tree.legal_actions(infoset)], np.float64)
            strategy[self._tree.slots(infoset)] = row / row.sum()
        return mccfr_plus.exploitability(self._tree, mccfr_plus.TreePolicy(self._tree, strategy))


def main(_):
    torch.set_num_threads(1)
    tree = mccfr_plus.compile_game(FLAGS.game)
    marks = [float(mark) for mark in FLAGS.marks]
    kinds = [Ours, Theirs] if FLAGS.peer else [Ours]
    results = np.zeros((FLAGS.seeds, len(kinds), len(marks)))
    for seed in range(FLAGS.seeds):
        solvers, spent = [kind(tree, seed) for kind in kinds], [0.0] * len(kinds)
        for column, mark in enumerate(marks):
            line = []
            for row, solver in enumerate(solvers):
                while spent[row] < mark:
                    begin = time.process_time()
                    solver.iteration()
                    spent[row] += time.process_time() - begin
                results[seed, row, column] = solver.exploitability()
                name = "here" if row == 0 else "OpenSpiel"
                line.append(f"{name} {results[seed, row, column]:.4f} at {spent[row]:.1f} s")
            print(f"{FLAGS.game}, seed {seed}, {mark:g} s: {', '.join(line)}", flush=True)
    for row, kind in enumerate(kinds):
        medians = ", ".join(f"{value:.4f}" for value in np.median(results[:, row], axis=0))
        print(f"medians, {kind.__name__.lower()}: {medians}")


if __name__ == "__main__":
    app.run(main)
