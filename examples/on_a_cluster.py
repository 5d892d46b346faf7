"""Solves a game on a Ray cluster: traversals, evaluations and a match at the end are made by its workers.

python examples/on_a_cluster.py --game=liars_dice --workers=2 --iterations=20
python examples/on_a_cluster.py --game=liars_dice --workers=64 --cluster=ray://head:10001

Without a cluster one is started on this machine, for the length of the run. The numbers depend on --seed,
--num_batches and --traversals, not on how many workers there are. Needs the extra ray: pip install 'mccfr_plus[ray]'.
"""

from absl import app, flags
from open_spiel.python.policy import UniformRandomPolicy

from mccfr_plus.cluster import Cluster, DistributedEvaluator, DistributedSolver, head_to_head

_GAME = flags.DEFINE_string("game", "leduc_poker", "An OpenSpiel game string.")
_CLUSTER = flags.DEFINE_string("cluster", "ray", "ray, HOST:PORT or ray://HOST:PORT.")
_WORKERS = flags.DEFINE_integer("workers", 2, "How many processes make traversals.", lower_bound=1)
_NUM_BATCHES = flags.DEFINE_integer("num_batches", 8, "Batches of a round.", lower_bound=1)
_TRAVERSALS = flags.DEFINE_integer("traversals", 1000, "Traversals of a batch.", lower_bound=1)
_ITERATIONS = flags.DEFINE_integer("iterations", 20, "Each of one round per player.", lower_bound=1)
_NUM_EVALUATIONS = flags.DEFINE_integer("num_evaluations", 4, "How often to evaluate.", lower_bound=1)
_GAMES = flags.DEFINE_integer("games", 1000, "Of the match against a uniform player.", lower_bound=2)
_SEED = flags.DEFINE_integer("seed", 1, "Makes the run repeatable.", lower_bound=0)


def main(_):
    with (
        Cluster(_CLUSTER.value) as cluster,
        DistributedSolver(
            _GAME.value,
            num_batches=_NUM_BATCHES.value,
            traversals=_TRAVERSALS.value,
            seed=_SEED.value,
            workers=_WORKERS.value,
            cluster=cluster,
        ) as solver,
        DistributedEvaluator(solver.tree, cluster) as evaluator,
    ):
        print(f"{'iterations':>10} {'nodes touched':>14} {'seconds':>8} {'exploitability':>15}")
        for evaluation in range(1, _NUM_EVALUATIONS.value + 1):
            solver.run(_ITERATIONS.value * evaluation // _NUM_EVALUATIONS.value - solver.iterations)
            quality = evaluator.evaluate(solver.average_policy())
            print(
                f"{solver.iterations:10,} {solver.nodes_touched:14,} {solver.seconds:8.1f} "
                f"{quality.exploitability:15.5f}",
                flush=True,
            )
        game = solver.tree.game
        match = head_to_head(
            game, solver.average_policy(), UniformRandomPolicy(game), cluster=cluster, num_games=_GAMES.value
        )
        won = match.estimate
        print(f"against a uniform player: {won.value:+.3f} a game ({won.low:+.3f} to {won.high:+.3f})")


if __name__ == "__main__":
    app.run(main)
