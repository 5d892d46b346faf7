"""Runs of comparisons on a Ray cluster: each is a task, which is submitted again if its worker is lost.

A worker writes a run's files into a temporary folder, and puts them into a queue when they change. This program writes
them into its own directory, from which a run goes on. So machines need not share a directory, and this one need not be
a node (``ray://``).
"""

import contextlib
import dataclasses
import logging
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from mccfr_plus.cluster.cluster import WORK_SECONDS, Cluster
from mccfr_plus.errors import ClusterError, MccfrPlusError, RecordError
from mccfr_plus.experiments.comparison import about_here
from mccfr_plus.experiments.record import record_errors
from mccfr_plus.experiments.run_loop import STOPPED, Run, RunEvent, Runs, outcome_of, warm_up
from mccfr_plus.files.atomic_write import atomic_write
from mccfr_plus.kernels.interrupts import deferred_signals
from mccfr_plus.user_modules import import_user_module

logger = logging.getLogger("mccfr_plus")

_POLL_SECONDS = 0.2
_TELL_SECONDS = 0.5
_PATIENCE_SECONDS = 60.0  # with runs that were stopped and send nothing more
_MOST_LOSSES = 10  # of workers, without a change of the record


class Message(NamedTuple):
    """What a worker sends."""

    run: int
    attempt: int  # of the run, from 1
    progress: float  # 0 .. 1
    files: dict[str, bytes | None]  # those that have changed, by name; None: it was removed


# --- in the program ---


def run_on_cluster(runs: Runs, about: dict[str, Any], cluster: Cluster) -> Iterator[RunEvent]:
    """Runs all, and yields what happens; see `run_all`.

    Args:
        runs: What to run, none of which has ended.
        about: See `about_here`; versions and machine are those of the worker that started the run.
    """
    ray = cluster.ray
    tasks: Tasks | None = None
    try:
        _warm_up(cluster)
        tasks = Tasks(runs, about, cluster)
        heard = time.monotonic()
        while tasks.numbers:
            events = tasks.wait()
            if events:
                heard = time.monotonic()
            elif time.monotonic() - heard > WORK_SECONDS:
                raise ClusterError(
                    f"no run has told anything for {WORK_SECONDS / 60:.0f} minutes: look at `ray status` whether a CPU "
                    "is free. What was recorded is kept: give the same command again to go on."
                )
            yield from events
    except BaseException as error:
        if isinstance(error, ray.exceptions.RayError | ConnectionError):
            raise ClusterError(
                f"the cluster was lost ({type(error).__name__}): what was recorded is kept. Give the same command "
                "again to go on."
            ) from None
        if tasks is not None:
            with contextlib.suppress(ray.exceptions.RayError, ConnectionError):
                tasks.end()
        raise


def _warm_up(cluster: Cluster) -> None:
    """Compiles the kernels on each node that will run something."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    task = cluster.ray.remote(warm_up)
    nodes = [node["NodeID"] for node in cluster.nodes if node["Resources"].get("CPU", 0)]
    places = [NodeAffinitySchedulingStrategy(node_id=node, soft=True) for node in nodes]
    with cluster.worker_errors("compiling the kernels on all nodes"):
        references = [task.options(num_cpus=0, scheduling_strategy=place).remote() for place in places]
        cluster.ray.get(references, timeout=WORK_SECONDS)


class Tasks:
    """The tasks of runs, and the files that they send.

    Attributes:
        numbers: Of the runs that have not ended, by their tasks.
        messages: The queue of `Message`, on this program's node or, if it is on none, on the node that it is connected
            to.
        stop: A queue that holds something once all runs shall end.
    """

    def __init__(self, runs: Runs, about: dict[str, Any], cluster: Cluster):
        from ray.util.queue import Queue
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        self._runs, self._about, self._imports, self._ray = runs, about, cluster.imports, cluster.ray
        self._attempts, self._losses = dict.fromkeys(runs, 0), dict.fromkeys(runs, 0)
        self._started: set[int] = set()  # runs that have sent something
        self._failed: dict[int, str] = {}  # runs whose files cannot be written: why
        here = NodeAffinitySchedulingStrategy(self._ray.get_runtime_context().get_node_id(), soft=False)
        options = {"num_cpus": 0, "scheduling_strategy": here}
        self.messages, self.stop = Queue(actor_options=options), Queue(actor_options=options)
        self.numbers: dict[Any, int] = {}
        for number in runs:
            self._submit(number)

    def _submit(self, number: int) -> None:
        """Starts a run with the files that there are."""
        run = self._runs[number]
        with record_errors(run.record, "read"):
            files = {path.name: path.read_bytes() for path in (run.record, run.checkpoint) if path.exists()}
        self._attempts[number] += 1
        name = f"{run.game} {run.algorithm} seed {run.seed}"
        task = self._ray.remote(_work).options(num_cpus=1, max_retries=0, name=name)
        sender = Sender(number, self._attempts[number], self.messages, self.stop)
        self.numbers[task.remote(run, self._about, self._imports, files, sender)] = number

    def wait(self) -> list[RunEvent]:
        """Waits for a moment, writes what has arrived, and returns what has happened."""
        tasks = list(self.numbers)
        ended, _ = self._ray.wait(tasks, num_returns=len(tasks), timeout=_POLL_SECONDS)
        # Files of the ended runs are written now: they were sent before the ends.
        events = [RunEvent(number, progress, None) for number, progress in self.receive().items()]
        for reference in ended:
            number = self.numbers.pop(reference)
            outcome = self._outcome(reference, number)
            if outcome is not None:
                events.append(RunEvent(number, 1.0, outcome))
        return events

    def _outcome(self, reference: Any, number: int) -> str | None:
        """Returns how a task has ended; None: its worker was lost, and another one goes on with the run."""
        if number in self._failed:
            return self._failed[number]
        try:
            return self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from None
        except self._ray.exceptions.RayError:
            self._losses[number] += 1
        if self._losses[number] > _MOST_LOSSES:
            return (
                f"its workers were lost {self._losses[number]} times without anything new: perhaps each was killed "
                "because memory was short there. What was recorded is kept."
            )
        run = self._runs[number]
        logger.warning(
            "%s  %s  seed %s: worker %s was lost, and another one goes on with it",
            *(run.game, run.algorithm, run.seed, self._attempts[number]),
        )
        self._submit(number)
        return None

    def receive(self) -> dict[int, float]:
        """Writes everything that has arrived, and returns the progress of runs that have told it."""
        progress = {}
        with deferred_signals(lambda: None):  # what was taken from the queue must be written
            for message in self.messages.get_nowait_batch(self.messages.qsize()):
                number = message.run
                if message.attempt != self._attempts[number] or number in self._failed:
                    continue  # of a worker that was only cut off
                self._started.add(number)
                progress[number] = message.progress
                try:
                    for name, content in message.files.items():
                        self._write(number, self._runs[number].folder / name, content)
                except MccfrPlusError as error:
                    self._failed[number] = " ".join(str(error).split())
                    self._ray.cancel(*(task for task, run in self.numbers.items() if run == number), force=True)
        return progress

    def _write(self, number: int, path: Path, content: bytes | None) -> None:
        if content is None:
            path.unlink(missing_ok=True)
            return
        if path == self._runs[number].record:
            self._losses[number] = 0
        with atomic_write(path, RecordError) as file:
            file.write(content)

    def end(self) -> None:
        """Waits until started runs have saved a checkpoint and ended; others do not start."""
        self.stop.put(None)
        self.receive()
        for reference, number in self.numbers.items():
            if number not in self._started:
                self._ray.cancel(reference)
        waiting, heard = [task for task, number in self.numbers.items() if number in self._started], time.monotonic()
        while waiting and time.monotonic() - heard < _PATIENCE_SECONDS:
            ended, waiting = self._ray.wait(waiting, num_returns=len(waiting), timeout=_POLL_SECONDS)
            if self.receive() or ended:
                heard = time.monotonic()
        self.receive()


# --- in a worker ---


class Sender:
    """Sends a run's files and progress, and finds out whether to go on. It is made in the program."""

    def __init__(self, run: int, attempt: int, messages: Any, stop: Any):
        self._run, self._attempt, self._messages, self._stop = run, attempt, messages, stop
        self._sent: dict[Path, tuple[int, int, int] | None] = {}
        self._told, self._is_stopped = 0.0, False

    def watch(self, run: Run) -> None:
        """Begins to send the files of a run, with the worker's folder, as they change from now on."""
        # The record that says the end comes after the policy.
        self._sent = {path: _version(path) for path in (run.policy, run.record, run.checkpoint)}
        self._put(0.0, {})

    def tell(self, progress: float) -> None:
        """Sends changed files, and waits until they have arrived; tells the progress now and then."""
        found = {path: _version(path) for path in self._sent}
        changed = {path: version for path, version in found.items() if version != self._sent[path]}
        if changed or time.monotonic() - self._told > _TELL_SECONDS:
            files = {path.name: path.read_bytes() if version else None for path, version in changed.items()}
            self._sent |= changed
            self._put(progress, files)

    def _put(self, progress: float, files: dict[str, bytes | None]) -> None:
        self._messages.put(Message(self._run, self._attempt, min(progress, 1.0), files))
        self._is_stopped = not self._stop.empty()
        self._told = time.monotonic()

    def stop(self) -> bool:
        """Returns whether the run shall end."""
        return self._is_stopped


def _version(path: Path) -> tuple[int, int, int] | None:
    """Returns what is different after a file was written or replaced; None: there is none."""
    if not path.exists():
        return None
    status = path.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns


def _work(run: Run, about: dict[str, Any], imports: tuple[str, ...], files: dict[str, bytes], sender: Sender) -> str:
    for name in imports:
        import_user_module(name)
    here = about_here(about["command"])
    about = about | {name: here[name] for name in ("versions", "machine")}
    with tempfile.TemporaryDirectory(prefix="mccfr_plus_") as folder:
        moved = dataclasses.replace(run, folder=Path(folder))
        for name, content in files.items():
            (moved.folder / name).write_bytes(content)
        sender.watch(moved)
        if sender.stop():
            return STOPPED
        return outcome_of(moved, about, sender.tell, sender.stop).replace(folder, str(run.folder))
