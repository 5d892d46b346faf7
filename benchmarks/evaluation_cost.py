"""What an exact evaluation costs, in visits of a run per history and player: what `compare` chooses its points by.

    python benchmarks/evaluation_cost.py
    python benchmarks/evaluation_cost.py --games=latent_tic_tac_toe

CPU seconds of one thread; a run of at least --seconds per game and algorithm, and the median of five evaluations.
"""

import statistics
import time

from absl import app, flags

import mccfr_plus

FLAGS = flags.FLAGS

flags.DEFINE_list(
    "games", ["leduc_poker", "liars_dice", "princess_and_monster(horizon=8)", "latent_tic_tac_toe"], "Games"
)
flags.DEFINE_float("seconds", 2.0, "Of the run whose visits are timed")

ESTIMATORS = ("full", "full(pruning=True)", "external", "outcome")


def timed(work):
    begin = time.process_time()
    work()
    return time.process_time() - begin


def main(_):
    print(f"{'game':34} {'estimator':20} {'ns a visit':>10} {'s an evaluation':>16} {'visits':>7}")
    for game in FLAGS.games:
        tree = mccfr_plus.compile_game(game)
        for estimator in ESTIMATORS:
            solver = mccfr_plus.Solver(tree, estimator, seed=1).run(1)
            solver.exploitability()  # builds the leaf tables
            before, count, spent = solver.nodes_touched, 1, 0.0
            while spent < FLAGS.seconds:
                spent += timed(lambda solver=solver, count=count: solver.run(count))
                count *= 2
            visit = spent / (solver.nodes_touched - before)
            evaluation = statistics.median(timed(solver.exploitability) for _ in range(5))
            cost = evaluation / (visit * tree.num_nodes * tree.num_players)
            print(f"{game:34} {estimator:20} {1e9 * visit:10.1f} {evaluation:16.3g} {cost:7.3f}", flush=True)


if __name__ == "__main__":
    app.run(main)
