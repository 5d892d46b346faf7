"""One run in a process that does nothing else, here or on another machine: what it comes to is a word or an error."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from mccfr_plus.errors import MccfrPlusError
from mccfr_plus.experiments.comparison import Directory
from mccfr_plus.experiments.progress_events import DONE, STOPPED
from mccfr_plus.experiments.run import Run
from mccfr_plus.experiments.run_loop import Tell, race
from mccfr_plus.experiments.run_records import FileLedger, Ledger
from mccfr_plus.experiments.runner import Stop
from mccfr_plus.solver.solver import Solver
from mccfr_plus.tree.game_tree import GameTree, compile_game

Key = tuple[str, str, int]  # game, algorithm, seed


def warm_up() -> None:
    """Compiles the kernels once, rather than in every process of a machine at the same time."""
    solver = Solver("kuhn_poker", "external", seed=1).run(1)
    solver.evaluate()
    Solver("kuhn_poker", "full").run(1)


@functools.lru_cache(maxsize=1)  # trees may take gigabytes, and runs on one game follow each other
def _tree(game: str) -> GameTree:
    return compile_game(game)


def outcome_of(
    directory: Directory,
    key: Key,
    about: dict[str, Any],
    tell: Tell,
    stop: Stop,
    open_ledger: Callable[[Run, dict[str, Any]], Ledger] = FileLedger,
) -> str:
    """Runs a run, and returns what has come of it: DONE, STOPPED, or what went wrong.

    Args:
        directory: Where it belongs.
        key: What to run.
        about: See `about_here`.
        tell: Told how far the run is.
        stop: Asked whether to stop.
        open_ledger: See `race`.
    """
    try:
        tree = _tree(key[0])
        tree.require_perfect_recall("an exploitability")
        run = directory.run_of(*key, directory.comparison.points_of(tree))
        return DONE if race(run, tree, about, tell, stop, open_ledger) else STOPPED
    except MccfrPlusError as error:
        return " ".join(str(error).split())
