"""Runs all runs of a comparison: in this process, in several, or as tasks of a Ray cluster."""

import contextlib
import dataclasses
import logging
import multiprocessing
import os
import pickle
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import connection
from pathlib import Path
from queue import Empty
from typing import Any

from mccfr_plus.cluster.cluster import Cluster
from mccfr_plus.errors import ClusterError, ConfigError, RecordError
from mccfr_plus.experiments.comparison import Run, about_here
from mccfr_plus.experiments.runs import DONE, STOPPED, RunEvent, Runs, outcome_of, prepared_games, read_record
from mccfr_plus.files.atomic_write import atomic_write
from mccfr_plus.kernels.compile import is_no_notice
from mccfr_plus.kernels.interrupts import SIGNALS, deferred_signals
from mccfr_plus.solver.solver import Solver
from mccfr_plus.trees.game_tree import given_tree
from mccfr_plus.user_modules import import_user_module, imported_modules

Show = Callable[[RunEvent], None]

_POLL_SECONDS, _TELL_SECONDS = 0.2, 0.5
_MOST_ATTEMPTS = 10  # per run on a cluster

logger = logging.getLogger("mccfr_plus")


def run_all(
    all_runs: Sequence[Run], about: dict[str, Any], show: Show, processes: int | None, cluster: Cluster | None
) -> None:
    """Runs everything that is not recorded yet; see `mccfr_plus.experiments.compare`.

    On KeyboardInterrupt all runs write a checkpoint and end; a second one kills processes that do not respond.
    """
    runs = dict(enumerate(all_runs))
    local = next((run for run in runs.values() if _stays_here(run)), None)
    if local is not None and (cluster is not None or processes not in (None, 1)):
        raise ConfigError(
            f"{local} cannot be sent to other processes: give a game string or a function defined in a module, or "
            "leave out processes and cluster."
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


def _stays_here(run: Run) -> bool:
    """Returns whether a run's game or algorithm cannot be loaded by other processes."""
    game, algorithm = run.comparison.games[run.game], run.comparison.algorithms[run.algorithm]
    try:
        return given_tree(game) is not None or b"__main__" in pickle.dumps((game, algorithm))
    except Exception:  # whatever the object raises
        return True


def _run_here(runs: Runs, about: dict[str, Any], show: Show) -> None:
    try:
        for number, run in runs.items():

            def tell(progress: float, number: int = number) -> None:
                show(RunEvent(number, progress, None))

            show(RunEvent(number, 1.0, outcome_of(run, about, tell, lambda: False)))
    finally:
        prepared_games.clear()


def warm_up() -> None:
    """Compiles the kernels once, rather than in every process of a machine at the same time."""
    Solver("leduc_poker", "external", seed=1).run(1).evaluate()  # kernels for tables run as Python in tiny games
    Solver("leduc_poker", "full").run(1)


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
                    "a process of the comparison ended unexpectedly, perhaps for lack of memory: completed records are "
                    "kept. Use fewer processes. In a script, call `compare` under `if __name__ == '__main__':`."
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
    """Ends this process when its parent was killed: another program may continue its runs."""
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


# --- on a cluster: each run is a task, which is submitted again if its worker is lost ---
# A worker writes a run's files into a temporary folder and sends them when they change. This program writes them into
# its own directory, from which a run continues. Machines therefore need not share a directory.

_Files = dict[str, bytes | None]  # changed files of a run, by name; None: the file was removed


class _Mailbox:
    """An actor that carries messages from runs to the program, and the signal to stop back to the runs."""

    def __init__(self) -> None:
        self._messages: list[tuple[int, float, _Files]] = []
        self._is_stopping = False

    def put(self, number: int, progress: float, files: _Files) -> bool:
        """Takes a run's progress and changed files; returns whether the run must stop."""
        self._messages.append((number, progress, files))
        return self._is_stopping

    def take(self) -> list[tuple[int, float, _Files]]:
        found, self._messages = self._messages, []
        return found

    def stop(self) -> None:
        self._is_stopping = True


def run_on_cluster(runs: Runs, about: dict[str, Any], cluster: Cluster) -> Iterator[RunEvent]:
    """Executes runs on a connected cluster and yields their events.

    The versions and the machine of `about` become those of the worker that starts a run.
    """
    tasks: _Tasks | None = None
    try:
        cluster.on_every_node("Its kernels could not be compiled.", warm_up)
        tasks = _Tasks(runs, about, cluster)
        while tasks.numbers:
            yield from tasks.wait()
    except (cluster.ray.exceptions.RayError, ConnectionError) as error:
        raise ClusterError(
            f"the cluster was lost ({type(error).__name__}): completed records are kept. Repeat the command to "
            "continue."
        ) from None
    except BaseException:
        if tasks is not None:
            with contextlib.suppress(cluster.ray.exceptions.RayError, ConnectionError):
                tasks.end()
        raise


class _Tasks:
    def __init__(self, runs: Runs, about: dict[str, Any], cluster: Cluster):
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        self._runs, self._about, self._imports, self._ray = runs, about, cluster.imports, cluster.ray
        self._attempts = dict.fromkeys(runs, 0)
        here = NodeAffinitySchedulingStrategy(self._ray.get_runtime_context().get_node_id(), soft=False)
        self._mailbox = self._ray.remote(_Mailbox).options(num_cpus=0, scheduling_strategy=here).remote()
        self.numbers: dict[Any, int] = {}  # of runs that have not ended, by their tasks
        for number in runs:
            self._submit(number)

    def _submit(self, number: int) -> None:
        run = self._runs[number]
        files = {path.name: path.read_bytes() for path in (run.record, run.checkpoint) if path.exists()}
        self._attempts[number] += 1
        task = self._ray.remote(_work_on_cluster).options(max_retries=0, name=str(run))
        self.numbers[task.remote(number, run, self._about, self._imports, files, self._mailbox)] = number

    def wait(self) -> list[RunEvent]:
        """Waits for a moment, writes the files that have arrived, and returns the events."""
        ended, _ = self._ray.wait(list(self.numbers), num_returns=len(self.numbers), timeout=_POLL_SECONDS)
        # Runs have sent their files before they end or are lost.
        events = self._receive()
        for reference in ended:
            number = self.numbers.pop(reference)
            try:
                events.append(RunEvent(number, 1.0, self._ray.get(reference)))
            except self._ray.exceptions.RayTaskError as error:
                raise error.cause from None
            except self._ray.exceptions.RayError:  # its worker was lost
                if self._attempts[number] == _MOST_ATTEMPTS:
                    lost = f"{_MOST_ATTEMPTS} workers were lost while they executed it, perhaps for lack of memory."
                    events.append(RunEvent(number, 1.0, lost))
                else:
                    logger.warning("%s: a worker was lost; another worker continues the run", self._runs[number])
                    self._submit(number)
        return events

    def _receive(self) -> list[RunEvent]:
        """Writes all files that have arrived, and returns the progress of their runs."""
        events = []
        with deferred_signals():  # messages that were taken must be written
            for number, progress, files in self._ray.get(self._mailbox.take.remote()):
                events.append(RunEvent(number, progress, None))
                for name, content in files.items():
                    path = self._runs[number].folder / name
                    if content is None:
                        path.unlink(missing_ok=True)
                    else:
                        with atomic_write(path, RecordError) as file:
                            file.write(content)
        return events

    def end(self) -> None:
        """Waits until all runs have saved a checkpoint and ended."""
        self._ray.get(self._mailbox.stop.remote())
        if self.numbers:
            self._ray.wait(list(self.numbers), num_returns=len(self.numbers))
        self._receive()


class _Sender:
    """Sends the changed files and the progress of a run from a worker; `is_stopping` is the program's answer."""

    def __init__(self, number: int, run: Run, mailbox: Any):
        self._number, self._mailbox = number, mailbox
        self._files = (run.policy, run.record, run.checkpoint)  # the record tells the end: after the policy
        self._sent = self._times()
        self._put(0.0, {})

    def _times(self) -> dict[Path, int]:
        return {path: path.stat().st_mtime_ns for path in self._files if path.exists()}

    def tell(self, progress: float) -> None:
        """Sends changed files, and waits until they have arrived; else sends the progress twice a second."""
        before, self._sent = self._sent, self._times()
        changed = [path for path in self._files if self._sent.get(path) != before.get(path)]
        if changed or time.monotonic() - self._told > _TELL_SECONDS:
            self._put(progress, {path.name: path.read_bytes() if path in self._sent else None for path in changed})

    def _put(self, progress: float, files: _Files) -> None:
        import ray

        self.is_stopping = ray.get(self._mailbox.put.remote(self._number, progress, files))
        self._told = time.monotonic()


def _work_on_cluster(
    number: int, run: Run, about: dict[str, Any], imports: tuple[str, ...], files: dict[str, bytes], mailbox: Any
) -> str:
    for name in imports:
        import_user_module(name)
    here = about_here(about["command"])
    about = about | {name: here[name] for name in ("versions", "machine")}
    with tempfile.TemporaryDirectory(prefix="mccfr_plus_") as folder:
        moved = dataclasses.replace(run, folder=Path(folder))
        for name, content in files.items():
            (moved.folder / name).write_bytes(content)
        sender = _Sender(number, moved, mailbox)
        if sender.is_stopping:
            return STOPPED
        return outcome_of(moved, about, sender.tell, lambda: sender.is_stopping).replace(folder, str(run.folder))
