"""Solves a game on a Ray cluster, whose workers run the traversals.

python examples/on_a_cluster.py --game=liars_dice --iterations=20
python examples/on_a_cluster.py --game=liars_dice --iterations=20 --workers=64 --cluster=ray://head:10001

If there is no running cluster, Ray is started on this machine for the duration of the run. The program needs Ray:
pip install 'mccfr_plus[ray]'.
"""

from absl import app, flags

from mccfr_plus.cluster import DistributedSolver

_GAME = flags.DEFINE_string("game", "leduc_poker", "An OpenSpiel game string.")
_CLUSTER = flags.DEFINE_string("cluster", "ray", "ray, HOST:PORT or ray://HOST:PORT.")
_WORKERS = flags.DEFINE_integer("workers", 2, "Number of processes that make traversals.", lower_bound=1)
_TRAVERSALS = flags.DEFINE_integer("traversals", 1000, "Number of traversals per batch.", lower_bound=1)
_ITERATIONS = flags.DEFINE_integer("iterations", 20, "Number of iterations.", lower_bound=1)


def main(_):
    with DistributedSolver(
        _GAME.value, num_batches=8, traversals=_TRAVERSALS.value, seed=1, workers=_WORKERS.value, cluster=_CLUSTER.value
    ) as solver:
        for part in range(1, min(_ITERATIONS.value, 4) + 1):
            solver.run(_ITERATIONS.value * part // min(_ITERATIONS.value, 4) - solver.iterations)
            print(f"{solver.iterations:6,} iterations  exploitability {solver.exploitability():.5f}", flush=True)


if __name__ == "__main__":
    app.run(main)
