"""Runs all runs of comparisons, in processes of this machine or on a cluster."""

import contextlib
import logging
import multiprocessing
import os
import pickle
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import connection
from queue import Empty
from typing import Any

from mccfr_plus.cluster.cluster import Cluster
from mccfr_plus.errors import ConfigError, RecordError
from mccfr_plus.experiments.cluster_runs import run_on_cluster
from mccfr_plus.experiments.comparison import Directory
from mccfr_plus.experiments.record import read_record
from mccfr_plus.experiments.run_loop import DONE, STOPPED, Run, RunEvent, Runs, drop_prepared_games, outcome_of, warm_up
from mccfr_plus.kernels.compile import is_no_notice
from mccfr_plus.kernels.interrupts import SIGNALS
from mccfr_plus.trees.game_tree import GameTree
from mccfr_plus.user_modules import import_user_module, imported_modules

Show = Callable[[RunEvent], None]

_POLL_SECONDS = 0.2


def run_all(
    directory: Directory,
    about: dict[str, Any],
    show: Show,
    processes: int | None = None,
    cluster: Cluster | None = None,
) -> None:
    """Runs everything that is not recorded yet in a comparison's directory; see `mccfr_plus.experiments.compare`.

    On KeyboardInterrupt all runs write a checkpoint and end; then it is raised again. A second KeyboardInterrupt kills
    processes that do not respond.
    """
    runs = dict(enumerate(directory.runs()))
    local = next((run for run in runs.values() if _stays_here(run.game_object) or _stays_here(run.definition)), None)
    if local is not None and (cluster is not None or processes not in (None, 1)):
        raise ConfigError(
            f"{local} cannot be sent to other processes: give a module's function or a game's text, or leave out "
            "processes and cluster."
        )
    for number, run in list(runs.items()):
        with contextlib.suppress(RecordError):  # the run will raise it again
            if run.record.exists() and read_record(run.record)[2] is not None:
                del runs[number]
                show(RunEvent(number, 1.0, DONE))
    if not runs:
        return
    if cluster is not None:
        for event in run_on_cluster(runs, about, cluster):
            show(event)
    elif processes == 1 or len(runs) == 1 or local is not None:
        _run_here(runs, about, show)
    else:
        _run_in_processes(runs, about, show, processes)


def _stays_here(given: Any) -> bool:
    """Returns whether a game or an algorithm cannot be loaded by other processes."""
    if isinstance(given, GameTree):
        return True
    try:
        return b"__main__" in pickle.dumps(given)
    except Exception:  # whatever the object raises
        return True


def _run_here(runs: Runs, about: dict[str, Any], show: Show) -> None:
    try:
        for number, run in runs.items():

            def tell(progress: float, number: int = number) -> None:
                show(RunEvent(number, progress, None))

            show(RunEvent(number, 1.0, outcome_of(run, about, tell, lambda: False)))
    finally:
        drop_prepared_games()


def _run_in_processes(runs: Runs, about: dict[str, Any], show: Show, processes: int | None) -> None:
    warm_up()
    context = multiprocessing.get_context("spawn")
    queue: Any = context.Queue()
    stopped, stop = context.Pipe(duplex=False)  # closing it waits for no worker, Event.set() for all
    count, arguments = min(processes or os.cpu_count() or 1, len(runs)), (queue, stopped, imported_modules())
    pool = ProcessPoolExecutor(count, mp_context=context, initializer=_begin, initargs=arguments)
    others = set(multiprocessing.active_children())
    with pool, stop:
        try:
            futures = {pool.submit(_work, number, run, about): number for number, run in runs.items()}
            waiting: set[Future] = set(futures)
            while waiting:
                ended, waiting = wait(waiting, timeout=_POLL_SECONDS, return_when=FIRST_COMPLETED)
                with contextlib.suppress(Empty):
                    while True:
                        number, progress = queue.get_nowait()
                        show(RunEvent(number, progress, None))
                for future in sorted(ended, key=futures.__getitem__):
                    show(RunEvent(futures[future], 1.0, future.result()))
        except BaseException as error:
            pool.shutdown(wait=False, cancel_futures=True)
            stop.close()
            workers = set(multiprocessing.active_children()) - others
            try:
                for worker in workers:
                    worker.join()
            except KeyboardInterrupt:  # OpenSpiel's C++ code does not respond to `stop`
                for worker in workers:
                    worker.kill()
            if isinstance(error, BrokenProcessPool):
                raise RecordError(
                    "a process of the comparison ended: what was recorded is kept. If it was killed because memory was "
                    "short, repeat the same call with fewer processes. In a script, call `compare` under "
                    "if __name__ == '__main__':"
                ) from None
            raise


# --- in the processes ---

_queue: Any = None
_stopped: Any = None


def _begin(queue: Any, stopped: connection.Connection, imports: tuple[str, ...]) -> None:
    global _queue, _stopped
    _queue, _stopped = queue, stopped
    for number in SIGNALS:  # a terminal sends them to all processes; the first one closes `stop` then
        signal.signal(number, signal.SIG_IGN)
    for name in imports:
        import_user_module(name)
    logging.getLogger("mccfr_plus").addFilter(is_no_notice)  # each process would tell what it compiles
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """Ends this process when the first one was killed: another program may continue its runs."""
    if parent := multiprocessing.parent_process():
        parent.join()
        os._exit(1)


def _work(number: int, run: Run, about: dict[str, Any]) -> str:
    last = 0.0

    def tell(progress: float) -> None:
        nonlocal last
        if time.monotonic() - last > _POLL_SECONDS:
            last = time.monotonic()
            _queue.put((number, progress))

    return STOPPED if _stopped.poll() else outcome_of(run, about, tell, _stopped.poll)
