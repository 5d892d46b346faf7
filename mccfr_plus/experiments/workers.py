"""Runs the runs of comparisons in processes, as many at a time as there are cores."""

from __future__ import annotations

import contextlib
import functools
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from queue import Empty
from typing import Any, NamedTuple

from mccfr_plus.errors import MccfrPlusError, RecordError
from mccfr_plus.experiments.comparison import Directory
from mccfr_plus.experiments.race import Run, race
from mccfr_plus.experiments.record import read_record
from mccfr_plus.solver import Solver
from mccfr_plus.tree.game_tree import GameTree, compile_game

DONE, STOPPED = "done", "stopped"  # other outcomes are errors, as text

_POLL_SECONDS = 0.2


class News(NamedTuple):
    """What has happened to a run."""

    number: int  # of the run, in the order of `in_order`
    progress: float  # 0 .. 1
    outcome: str | None  # DONE, STOPPED, what went wrong, or None: it is under way


def in_order(directories: Sequence[Directory]) -> list[tuple[Directory, tuple[str, str, int]]]:
    """Returns game, algorithm and seed of all runs and where they belong, in the order in which they are begun.

    Runs on one game follow each other, so that a process builds its tree once.
    """
    games = list(dict.fromkeys(game for directory in directories for game in directory.comparison.games))
    runs = [(directory, key) for directory in directories for key in directory.comparison.runs()]
    return sorted(runs, key=lambda run: games.index(run[1][0]))


def run_all(directories: Sequence[Directory], about: dict[str, Any], processes: int | None = None) -> Iterator[News]:
    """Runs everything that is not recorded yet, and yields what happens.

    On KeyboardInterrupt all runs write a checkpoint and end; it is raised again then.

    Args:
        directories: One or more comparisons', entered.
        about: See `about_here`.
        processes: How many at a time; None: as many as there are cores.

    Raises:
        RecordError: If a process was killed: the points recorded are kept, and another call goes on.
    """
    found = in_order(directories)
    runs = [directory.run_of(*key) for directory, key in found]
    missing = [number for number, run in enumerate(runs) if not _has_ended(run)]
    yield from (News(number, 1.0, DONE) for number in range(len(runs)) if number not in missing)
    if not missing:
        return
    _warm_up()
    context = multiprocessing.get_context("spawn")
    queue: Any = context.Queue()
    stop = context.Event()
    count = min(processes or os.cpu_count() or 1, len(missing))
    pool = ProcessPoolExecutor(count, mp_context=context, initializer=_begin, initargs=(queue, stop))
    with pool:
        futures: dict[Future, int] = {
            pool.submit(_work, number, runs[number], found[number][0], about): number for number in missing
        }
        waiting = set(futures)
        try:
            while waiting:
                ended, waiting = wait(waiting, timeout=_POLL_SECONDS, return_when=FIRST_COMPLETED)
                yield from _told(queue)
                for future in sorted(ended, key=futures.__getitem__):
                    yield News(futures[future], 1.0, _outcome(future))
        except BaseException:
            stop.set()
            for future in waiting:
                future.cancel()
            raise  # leaving the pool waits for the runs under way


def _has_ended(run: Run) -> bool:
    try:
        return run.record.exists() and read_record(run.record)[2] is not None
    except RecordError:
        return False  # it says why when it is run


def _told(queue: Any) -> Iterator[News]:
    latest: dict[int, float] = {}
    with contextlib.suppress(Empty):
        while True:
            number, progress = queue.get_nowait()
            latest[number] = progress
    for number, progress in latest.items():
        yield News(number, progress, None)


def _outcome(future: Future) -> str:
    try:
        return future.result()
    except BrokenProcessPool:
        raise RecordError(
            "a process of the comparison was killed, perhaps for want of memory: what was recorded is kept. Give the "
            "same command again to go on, with fewer --processes if memory was short."
        ) from None


def _warm_up() -> None:
    """Compiles the kernels once, rather than in every process at the same time."""
    solver = Solver("kuhn_poker", "external", seed=1).run(1)
    solver.evaluate()
    Solver("kuhn_poker", "full").run(1)


# --- in the processes ---

_queue: Any = None
_stop: Any = None


def _begin(queue: Any, stop: Any) -> None:
    global _queue, _stop
    _queue, _stop = queue, stop
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process decides, and tells by `stop`
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """Ends this process when the first one is gone, which if killed tells nobody: another may go on with its runs."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@functools.lru_cache(maxsize=1)  # trees may take gigabytes, and runs on one game follow each other
def _tree(game: str) -> GameTree:
    return compile_game(game)


def _work(number: int, run: Run, directory: Directory, about: dict[str, Any]) -> str:
    last = 0.0

    def tell(progress: float) -> None:
        nonlocal last
        if time.monotonic() - last > _POLL_SECONDS:
            last = time.monotonic()
            _queue.put((number, min(progress, 1.0)))

    if _stop.is_set():
        return STOPPED
    try:
        tree = _tree(run.game)
        tree.require_perfect_recall("an exploitability")
        whole = directory.run_of(run.game, run.algorithm, run.seed, directory.comparison.points_of(tree))
        return DONE if race(whole, tree, about, tell, _stop.is_set) else STOPPED
    except MccfrPlusError as error:
        return " ".join(str(error).split())
