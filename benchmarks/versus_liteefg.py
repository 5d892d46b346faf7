"""Speed beside LiteEFG (C++ behind a graph of update rules), with the average strategy kept on both sides.

LiteEFG's iteration is what its own training loop does: `update_graph` of its CFR baseline, which updates both players
at once, then `update_strategy`, which adds to the average. So ours updates at the end of the iteration as well. Needs
`pip install LiteEFG`; it writes its game files into ~/game_instances.
"""

import contextlib
import io
import statistics
import time
from collections.abc import Callable

import LiteEFG
import pyspiel
from absl import app, flags
from LiteEFG.baselines.CFR import graph as CfrGraph

import mccfr_plus

_ROUNDS = flags.DEFINE_integer("rounds", 5, "How often each side is measured.", lower_bound=1)
_SECONDS = flags.DEFINE_float("seconds", 0.5, "About how long a measurement takes.", lower_bound=0.01)

# game, our estimator, LiteEFG's traversal
_CASES = (
    ("leduc_poker", "external", "External"),
    ("leduc_poker", "full", "Enumerate"),
    ("liars_dice", "full", "Enumerate"),
)


def liteefg(game: str, traversal: str) -> tuple[Callable[[int], None], Callable[[], float]]:
    """Returns what runs iterations of LiteEFG, and its exploitability in OpenSpiel's sense."""
    with contextlib.redirect_stdout(io.StringIO()):
        graph = CfrGraph()
        environment = LiteEFG.OpenSpielEnv(pyspiel.load_game(game), traverse_type=traversal)
        environment.set_graph(graph)
    strategy = graph.current_strategy()

    def runs(iterations: int) -> None:
        for _ in range(iterations):
            graph.update_graph(environment)
            environment.update_strategy(strategy)

    return runs, lambda: sum(environment.exploitability(strategy, "avg-iterate")) / 2


def rate(runs: Callable[[int], object], iterations: int) -> float:
    """Returns iterations per second."""
    begin = time.perf_counter()
    runs(iterations)
    return iterations / (time.perf_counter() - begin)


def main(_):
    LiteEFG.set_threads(1)
    print(f"iterations per second, median of {_ROUNDS.value} rounds")
    for game, estimator, traversal in _CASES:
        solver = mccfr_plus.Solver(game, estimator, "rm", alternating=False, seed=1)
        theirs, their_exploitability = liteefg(game, traversal)
        both = (solver.run, theirs)
        solver.run(3)  # compiles
        chunks = [max(1, round(rate(runs, 5) * _SECONDS.value)) for runs in both]
        pairs = [[rate(runs, n) for runs, n in zip(both, chunks, strict=True)] for _ in range(_ROUNDS.value)]
        ratio = statistics.median(a / b for a, b in pairs)
        ours, liteefg_rate = (statistics.median(side) for side in zip(*pairs, strict=True))
        print(
            f"{game:12} {estimator:9} ratio {ratio:5.0f}x   ours {ours:11,.0f}   LiteEFG {liteefg_rate:9,.1f}   "
            f"exploitability at the end: {solver.exploitability():.1e}, {their_exploitability():.1e}"
        )


if __name__ == "__main__":
    app.run(main)
