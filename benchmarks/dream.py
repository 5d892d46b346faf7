"""DREAM with and without its learned baselines: the variance of regrets that traversals sample, and exploitability.

    python benchmarks/dream.py --seeds=3

After --seconds CPU seconds of each: without baselines it is outcome sampling with networks for regrets. Variance is
that of the sampled regrets at an information set under the strategy that was reached, summed over actions and weighted
by visits; once as the network is shown them, once times the samples' weights, which is what outcome sampling adds to a
table. Beside it the same with true values as baselines: no baselines can do better than that.

Needs: pip install 'mccfr_plus[neural]'
"""

import ast
import time

import numpy as np
import torch
from absl import app, flags

import mccfr_plus
from mccfr_plus.estimators.escher import refresh_values
from mccfr_plus.neural import DREAM, DREAMConfig

FLAGS = flags.FLAGS

flags.DEFINE_string("game", "leduc_poker", "Game")
flags.DEFINE_float("seconds", 60.0, "CPU seconds of each run")
flags.DEFINE_integer("seeds", 1, "How many runs")
flags.DEFINE_integer("traversals", 200_000, "Per player, for the variance")
flags.DEFINE_list("set", [], "Fields of DREAMConfig, as in --set=traversals=1000,epsilon=0.3")


def variances(solver, table):
    """Returns the variance of regrets, and of weight x regret, with a table of baselines."""
    plain, weighted, count = 0.0, 0.0, 0
    for player in range(solver.tree.num_players):
        rows, regrets, weights, left = [], [], [], FLAGS.traversals
        while left:
            done, samples = solver._sampler.sample_paths(solver._strategy, table, player, left, corrected=True)
            rows.append(samples.rows.copy())
            regrets.append(samples.regrets.copy())
            weights.append(samples.weights.copy())
            left -= done
        rows, regrets, weights = np.concatenate(rows), np.concatenate(regrets), np.concatenate(weights)
        arrays = solver.tree.arrays
        counts = arrays.infosets["num_actions"][arrays.infoset_range[player] :]
        for row in np.unique(rows):
            of_row = rows == row
            found = regrets[of_row][:, : counts[row]]
            plain += found.var(0).sum() * len(found)
            weighted += (found * weights[of_row, None]).var(0).sum() * len(found)
            count += len(found)
    return np.array([plain, weighted]) / count


def main(_):
    torch.set_num_threads(1)
    tree = mccfr_plus.compile_game(FLAGS.game)
    fields = dict(pair.split("=", 1) for pair in FLAGS.set)
    fields = {name: ast.literal_eval(value) for name, value in fields.items()}
    results = []
    for seed in range(FLAGS.seeds):
        solvers = [DREAM(tree, DREAMConfig(**fields, baseline=baseline), seed=seed) for baseline in (True, False)]
        spent = [0.0, 0.0]
        for solver in solvers:
            solver._prepare()
        while min(spent) < FLAGS.seconds:
            row = int(spent[1] < spent[0])
            begin = time.process_time()
            solvers[row].iteration()
            spent[row] += time.process_time() - begin
        found = [solver.exploitability() for solver in solvers]
        learned = variances(solvers[0], solvers[0].values.table)
        without = variances(solvers[0], np.zeros_like(solvers[0].values.table))
        true = np.zeros_like(solvers[0].values.table)
        for player in range(tree.num_players):
            refresh_values(tree.arrays, solvers[0]._strategy, true[player], player)
        best = without / variances(solvers[0], true)
        results.append([*found, *(without / learned)])
        print(
            f"{FLAGS.game}, seed {seed}, {FLAGS.seconds:g} CPU seconds: exploitability {found[0]:.4f} with baselines "
            f"({solvers[0].iterations} iterations), {found[1]:.4f} without ({solvers[1].iterations}); variance of "
            f"regrets {without[0] / learned[0]:.1f} times less with (true values: {best[0]:.1f}), weighted "
            f"{without[1] / learned[1]:.1f} times less (true values: {best[1]:.1f})",
            flush=True,
        )
    medians = np.median(results, axis=0)
    print(
        f"medians: {medians[0]:.4f} with, {medians[1]:.4f} without; variance {medians[2]:.1f} times less, weighted "
        f"{medians[3]:.1f}"
    )


if __name__ == "__main__":
    app.run(main)
