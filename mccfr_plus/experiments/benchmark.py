"""Speed beside OpenSpiel's C++ solvers: in one process, on one thread, taking turns.

On a shared machine absolute rates vary twofold within minutes. So both sides run in turn, every round gives one ratio
of neighbouring measurements, and the median of the ratios is what counts.
"""

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import pyspiel

from mccfr_plus.errors import ConfigError, GameError
from mccfr_plus.experiments.algorithm import algorithm_of
from mccfr_plus.experiments.solvers import openspiel_errors, solver_of
from mccfr_plus.solver.solver import Solver
from mccfr_plus.trees.game_tree import GameTree, compile_game

GAMES = (
    "kuhn_poker",
    "leduc_poker",
    "liars_dice",
    "goofspiel(num_cards=5,imp_info=True,points_order=descending,returns_type=win_loss)",
)

ALGORITHMS = ("external", "outcome", "cfr", "cfr+", "exploitability")

Runs = Callable[[int], object]  # runs so many iterations


class Row(NamedTuple):
    """What was measured for a game and an algorithm: medians over the rounds."""

    game: str
    algorithm: str
    ours: float  # iterations (for exploitability: evaluations) per second
    openspiel: float  # likewise
    ratio: float  # median over rounds of ours / openspiel; not the quotient of the two medians
    ratio_min: float
    ratio_max: float
    rounds: int


class Failure(NamedTuple):
    """What could not be measured for a game and an algorithm."""

    game: str
    algorithm: str
    why: str


def compare(
    games: Sequence[str] = GAMES,
    algorithms: Sequence[str] = ALGORITHMS,
    *,
    rounds: int = 5,
    seconds: float = 0.5,
) -> Iterator[Row | Failure]:
    """Yields a row for each game and algorithm as soon as it is measured, or why a solver cannot play the game.

    Raises:
        GameError: If a game cannot be compiled or has imperfect recall. All games are compiled first.
        ConfigError: If an algorithm is not known.
    """
    for algorithm in algorithms:
        if algorithm not in ALGORITHMS:
            raise ConfigError(f"algorithm {algorithm!r} is not known: give one of {', '.join(ALGORITHMS)}.")
    trees = {game: compile_game(game) for game in games}
    for game, tree in trees.items():
        tree.require_perfect_recall(f"the comparison on {game}")
    return (_row(game, tree, algorithm, rounds, seconds) for game, tree in trees.items() for algorithm in algorithms)


def _row(game: str, tree: GameTree, algorithm: str, rounds: int, seconds: float) -> Row | Failure:
    try:
        return _measure(game, algorithm, *_sides(tree, algorithm), rounds, seconds)
    except GameError as error:
        return Failure(game, algorithm, " ".join(str(error).split()))


def _sides(tree: GameTree, algorithm: str) -> tuple[Runs, Runs]:
    """Returns what runs iterations of ours and of OpenSpiel's."""
    if algorithm == "exploitability":
        solver = Solver(tree, "external", "rm", seed=1).run(1000)
        table = solver.average_policy().to_pyspiel()
        # The same work under two names; the first refuses games that are not two-player constant-sum.
        function = pyspiel.exploitability if tree.num_players == 2 and tree.is_constant_sum else pyspiel.nash_conv
        theirs = openspiel_errors(algorithm, tree.game)(_repeated(lambda: function(tree.game, table)))
        return _repeated(solver.exploitability), theirs
    ours, theirs = (solver_of(tree, algorithm_of(f"{prefix}{algorithm}"), 1).run for prefix in ("", "openspiel:"))
    return ours, theirs


def _repeated(step: Callable[[], object]) -> Runs:
    def runs(iterations: int) -> None:
        for _ in range(iterations):
            step()

    return runs


def _measure(game: str, algorithm: str, ours: Runs, theirs: Runs, rounds: int, seconds: float) -> Row:
    ours(1)  # compiles
    iterations = [_calibrated(runs, seconds) for runs in (ours, theirs)]
    pairs = [
        [n / max(_time(runs, n), 1e-9) for runs, n in zip((ours, theirs), iterations, strict=True)]
        for _ in range(rounds)
    ]
    ratios = [a / b for a, b in pairs]
    rate, other_rate, ratio = map(statistics.median, (*zip(*pairs, strict=True), ratios))
    return Row(game, algorithm, rate, other_rate, ratio, min(ratios), max(ratios), rounds)


def _calibrated(runs: Runs, seconds: float) -> int:
    """Returns how many iterations take about so many seconds; also fills caches and hash tables."""
    iterations = 1
    while True:
        spent = _time(runs, iterations)
        if spent >= seconds / 4:
            return max(1, round(iterations * seconds / spent))
        iterations *= 4


def _time(runs: Runs, iterations: int) -> float:
    begin = time.perf_counter()
    runs(iterations)
    return time.perf_counter() - begin
