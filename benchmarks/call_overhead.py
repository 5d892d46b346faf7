"""What `Solver.iteration()` costs from Python beyond the iteration that runs inside `Solver.run()`."""

import statistics
import time

from absl import app, flags

import mccfr_plus

_GAME = flags.DEFINE_string("game", "kuhn_poker", "A game string; the smaller, the clearer the overhead.")
_ITERATIONS = flags.DEFINE_integer("iterations", 100_000, "Iterations per measurement.", lower_bound=1)
_ROUNDS = flags.DEFINE_integer("rounds", 9, "How often each side is measured.", lower_bound=1)


def measure(solver: mccfr_plus.Solver, iterations: int) -> tuple[float, float]:
    """Returns microseconds per iteration called one by one and inside a run."""
    begin = time.perf_counter()
    for _ in range(iterations):
        solver.iteration()
    middle = time.perf_counter()
    solver.run(iterations)
    end = time.perf_counter()
    return (middle - begin) / iterations * 1e6, (end - middle) / iterations * 1e6


def main(_):
    print(f"{_GAME.value}, median of {_ROUNDS.value} rounds of {_ITERATIONS.value:,} iterations, microseconds each")
    for estimator in ("full", "external", "outcome"):
        solver = mccfr_plus.Solver(_GAME.value, estimator, "rm", seed=1).run(1000)
        pairs = [measure(solver, _ITERATIONS.value) for _ in range(_ROUNDS.value)]
        one_by_one, inside = (statistics.median(side) for side in zip(*pairs, strict=True))
        overhead = statistics.median(a - b for a, b in pairs)
        print(f"{estimator:9} overhead {overhead:5.2f}   iteration() {one_by_one:5.2f}   inside run() {inside:5.2f}")


if __name__ == "__main__":
    app.run(main)
