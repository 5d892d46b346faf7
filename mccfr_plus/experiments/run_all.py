"""Runs all runs of comparisons, in processes of this machine or on a cluster."""

import _thread
import contextlib
import logging
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import connection, resource_tracker
from multiprocessing.process import BaseProcess
from queue import Empty
from typing import Any

from tqdm import tqdm

from mccfr_plus.cluster.cluster import Cluster
from mccfr_plus.errors import RecordError
from mccfr_plus.experiments.cluster_runs import run_on_cluster
from mccfr_plus.experiments.comparison import Directory
from mccfr_plus.experiments.record import read_record
from mccfr_plus.experiments.run_loop import DONE, STOPPED, Run, RunEvent, Runs, outcome_of, warm_up
from mccfr_plus.kernels.compile import is_no_notice
from mccfr_plus.kernels.interrupts import SIGNALS
from mccfr_plus.user_modules import import_user_module, imported_modules

_POLL_SECONDS = 0.2
_INTERRUPT_SECONDS = 1.0
_PATIENCE_SECONDS = 60.0  # with runs that were stopped: a checkpoint may take gigabytes
_SAME_SIGNAL_SECONDS = 2.0  # `timeout` and terminals that are closed send a signal twice


def in_order(directories: Sequence[Directory]) -> list[Run]:
    """Returns all runs of comparisons in the order in which they are started.

    Runs on one game follow each other, so that a process builds its tree once.
    """
    games = list(dict.fromkeys(game for directory in directories for game in directory.comparison.games))
    runs = [run for directory in directories for run in directory.runs()]
    return sorted(runs, key=lambda run: games.index(run.game))


def run_all(
    directories: Sequence[Directory],
    about: dict[str, Any],
    processes: int | None = None,
    cluster: Cluster | None = None,
) -> Iterator[RunEvent]:
    """Runs everything that is not recorded yet, and yields what happens.

    On KeyboardInterrupt all runs write a checkpoint and end; it is raised again then. Processes that are left after a
    minute, or at the next KeyboardInterrupt, are killed.

    Args:
        directories: One or more comparisons', entered.
        about: See `about_here`.
        processes: How many at a time; None: as many as there are cores.
        cluster: Where to run, entered; None: in processes of this machine.

    Raises:
        RecordError: If a process was killed: the points recorded are kept, and another call continues.
        ClusterError: If the cluster is lost: likewise.
    """
    runs = dict(enumerate(in_order(directories)))
    for number, run in list(runs.items()):
        with contextlib.suppress(RecordError):  # the run will raise it again
            if run.record.exists() and read_record(run.record)[2] is not None:
                del runs[number]
                yield RunEvent(number, 1.0, DONE)
    if runs:
        events = _run_in_processes(runs, about, processes) if cluster is None else run_on_cluster(runs, about, cluster)
        yield from events


def _run_in_processes(runs: Runs, about: dict[str, Any], processes: int | None) -> Iterator[RunEvent]:
    warm_up()
    _start_resource_tracker()
    context = multiprocessing.get_context("spawn")
    queue: Any = context.Queue()
    stopped, stop = context.Pipe(duplex=False)  # closing it waits for no worker, Event.set() for all
    others = set(multiprocessing.active_children())
    count = min(processes or os.cpu_count() or 1, len(runs))
    arguments = (queue, stopped, imported_modules())
    pool = ProcessPoolExecutor(count, mp_context=context, initializer=_begin, initargs=arguments)
    with pool, stop:
        try:
            futures = {pool.submit(_work, number, run, about): number for number, run in runs.items()}
            waiting: set[Future] = set(futures)
            while waiting:
                ended, waiting = wait(waiting, timeout=_POLL_SECONDS, return_when=FIRST_COMPLETED)
                latest: dict[int, float] = {}
                with contextlib.suppress(Empty):
                    while True:
                        latest.update([queue.get_nowait()])
                yield from (RunEvent(number, progress, None) for number, progress in latest.items())
                for future in sorted(ended, key=futures.__getitem__):
                    yield RunEvent(futures[future], 1.0, future.result())
        except BaseException as error:
            pool.shutdown(wait=False, cancel_futures=True)
            _end(stop, set(multiprocessing.active_children()) - others)
            if isinstance(error, BrokenProcessPool):
                raise RecordError(
                    "a process of the comparison was killed, perhaps for want of memory: what was recorded is kept. "
                    "Give the same command again to go on, with fewer --processes if memory was short."
                ) from None
            raise


def _end(stop: connection.Connection, workers: set[BaseProcess]) -> None:
    """Ends workers: waits for their checkpoints, until a second signal, and kills those that are left.

    A worker inside OpenSpiel's C++ hears of nothing.
    """
    begin = time.monotonic()
    left: dict[Any, BaseProcess] = {worker.sentinel: worker for worker in workers}
    while left and (seconds := begin + _PATIENCE_SECONDS - time.monotonic()) > 0:
        try:
            stop.close()
            for ended in connection.wait(list(left), timeout=seconds):
                del left[ended]
        except KeyboardInterrupt:
            if time.monotonic() - begin > _SAME_SIGNAL_SECONDS:
                break
    for worker in left.values():
        worker.kill()


def _start_resource_tracker() -> None:
    """Starts the process that looks after semaphores: it outlives SIGHUP, which a closed terminal sends to all.

    By itself it outlives Ctrl-C and SIGTERM only.
    """
    if hasattr(signal, "SIGHUP"):
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGHUP])
        try:
            resource_tracker.ensure_running()
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGHUP])


# --- in the processes ---

_queue: Any = None
_stopped: Any = None
_is_stopping = threading.Event()  # in this process
_is_working = threading.Event()


def _begin(queue: Any, stopped: connection.Connection, imports: tuple[str, ...]) -> None:
    global _queue, _stopped
    _queue, _stopped = queue, stopped
    for number in SIGNALS:  # a terminal, or a batch system, sends them to all processes, and the first one says `stop`
        signal.signal(number, _interrupt)
    tqdm.set_lock(threading.RLock())  # its own is a semaphore of the system, which a killed process leaves behind
    for name in imports:
        import_user_module(name)
    logging.getLogger("mccfr_plus").addFilter(is_no_notice)  # each process would tell what it compiles
    threading.Thread(target=_end_with_parent, daemon=True).start()
    threading.Thread(target=_interrupt_when_stopped, daemon=True).start()


def _interrupt(*_: Any) -> None:
    """Ends the run of this process, wherever it is, if the first process has said so."""
    if _is_stopping.is_set() and _is_working.is_set():
        raise KeyboardInterrupt


def _interrupt_when_stopped() -> None:
    connection.wait([_stopped])
    _is_stopping.set()
    while True:  # a library may catch what the handler raises
        _thread.interrupt_main()
        time.sleep(_INTERRUPT_SECONDS)


def _end_with_parent() -> None:
    """Ends this process when the first one was killed: another program may continue its runs."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _work(number: int, run: Run, about: dict[str, Any]) -> str:
    last = 0.0

    def tell(progress: float) -> None:
        nonlocal last
        if time.monotonic() - last > _POLL_SECONDS:
            last = time.monotonic()
            _queue.put((number, min(progress, 1.0)))

    _is_working.set()
    try:
        return STOPPED if _is_stopping.is_set() else outcome_of(run, about, tell, _is_stopping.is_set)
    except KeyboardInterrupt:  # before the run began, or for the second time
        return STOPPED
    finally:
        _is_working.clear()
