"""Runs of comparisons on a Ray cluster: each is a task, which Ray restarts if its worker is lost.

A worker writes a run's files into a temporary folder, and sends them to the `ResultCollector` when they change. This
program fetches them there and writes them into its own directory. So machines need not share a directory, and this one
need not be a node (``ray://``).
"""

import contextlib
import dataclasses
import logging
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from mccfr_plus.checkpoints.atomic_write import atomic_write
from mccfr_plus.cluster.cluster import WORK_SECONDS, Cluster
from mccfr_plus.cluster.connection import ray_module
from mccfr_plus.errors import ClusterError, MccfrPlusError, RecordError
from mccfr_plus.experiments.comparison import about_here
from mccfr_plus.experiments.record import record_errors
from mccfr_plus.experiments.run_loop import STOPPED, Run, RunEvent, Runs, outcome_of, warm_up
from mccfr_plus.kernels.interrupts import deferred_signals
from mccfr_plus.user_modules import import_user_module

logger = logging.getLogger("mccfr_plus")

_POLL_SECONDS = 0.2
_TELL_SECONDS = 0.5
_PATIENCE_SECONDS = 60.0  # with runs that were stopped and send nothing more
_MOST_LOSSES = 10  # of workers, without a change of the record: the run itself ends them


# --- on the node of the program ---


class Start(NamedTuple):
    """What a worker gets when it starts a run."""

    attempt: int  # of the run, from 1
    files: dict[str, Any]  # references to the bytes of each file so far, by name
    goes_on: bool  # False: end without doing anything
    problem: str | None  # why the run is given up


@dataclasses.dataclass
class RunState:
    """What the collector keeps of a run."""

    files: dict[str, tuple[int, Any]]  # version, counted over all files, and reference to the bytes or None; by name
    record: bytes = b""
    attempt: int = 0
    losses: int = 0  # of workers, since the record has last changed
    is_dropped: bool = False


class ResultCollector:
    """Keeps the files of runs between the workers that send them and the program that fetches them.

    It is an actor on the program's node. A restarted run gets its files here. From then on, the previous worker of
    the run, which may only have been cut off, is told to stop, and its files are not taken.

    Args:
        files: References to the bytes of the files of each run so far, by name, by number of the run.
    """

    def __init__(self, files: dict[int, dict[str, Any]]):
        self._ray = ray_module()
        self._states = {run: RunState({name: (0, known[name]) for name in known}) for run, known in files.items()}
        self._version = 0
        self._progress: dict[int, float] = {}
        self._is_stopped = False

    def start(self, run: int) -> Start:
        """Starts a run, for the first time or because its worker was lost."""
        state = self._states[run]
        state.losses += state.attempt > 0
        state.attempt += 1
        problem = None
        if state.losses > _MOST_LOSSES:
            problem = (
                f"its workers were lost {state.losses} times without anything new: perhaps each was killed because "
                "memory was short there. What was recorded is kept."
            )
        files = {name: reference for name, (_, reference) in state.files.items() if reference is not None}
        return Start(state.attempt, files, self._goes_on(state), problem)

    def send(self, run: int, attempt: int, name: str, content: bytes | None) -> bool:
        """Replaces a file, or removes it if `content` is None; returns whether the worker shall go on."""
        state = self._states[run]
        if attempt != state.attempt:
            return False
        # The reference belongs to this actor: one of the worker would be lost with it.
        self._version += 1
        state.files[name] = self._version, None if content is None else self._ray.put(content)
        if content is not None and name.endswith(".jsonl") and content != state.record:
            state.record, state.losses = content, 0
        return self._goes_on(state)

    def tell(self, run: int, attempt: int, progress: float) -> bool:
        """Takes the progress of a run, from 0 to 1; returns whether the worker shall go on."""
        state = self._states[run]
        if attempt != state.attempt:
            return False
        self._progress[run] = progress
        return self._goes_on(state)

    def _goes_on(self, state: RunState) -> bool:
        return not state.is_dropped and not self._is_stopped

    def fetch(self, known: int) -> tuple[int, list[tuple[int, str, Any]], dict[int, int], dict[int, float]]:
        """Returns what has changed since a version.

        Args:
            known: The version of the last answer that has arrived; 0: none. A lost answer is repeated so.

        Returns:
            The version; run, name and reference of each file that was changed, in the order of the last changes; the
            number of attempts of each run; and the progress of runs since the last call.
        """
        changes = sorted(
            (version, run, name, reference)
            for run, state in self._states.items()
            for name, (version, reference) in state.files.items()
            if version > known
        )
        progress, self._progress = self._progress, {}
        attempts = {run: state.attempt for run, state in self._states.items()}
        return self._version, [change[1:] for change in changes], attempts, progress

    def stop(self) -> set[int]:
        """Makes all workers save a checkpoint and end; returns the runs that were ever started."""
        self._is_stopped = True
        return {run for run, state in self._states.items() if state.attempt}

    def drop(self, run: int) -> None:
        """Makes a run's worker end."""
        self._states[run].is_dropped = True


# --- in the program ---


def run_on_cluster(runs: Runs, about: dict[str, Any], cluster: Cluster) -> Iterator[RunEvent]:
    """Runs all, and yields what happens; see `run_all`.

    Args:
        runs: What to run, none of which has ended.
        about: See `about_here`; versions and machine are those of the worker that started the run.
    """
    ray = cluster.ray
    numbers: dict[Any, int] = {}  # of the runs, by their tasks
    writer: ResultWriter | None = None
    try:
        _warm_up(cluster)
        writer = ResultWriter(ray, runs)
        task = ray.remote(_work)
        for number, run in runs.items():
            named = task.options(num_cpus=1, max_retries=-1, name=f"{run.game} {run.algorithm} seed {run.seed}")
            numbers[named.remote(number, run, about, cluster.imports, writer.collector)] = number
        waiting, heard = list(numbers), time.monotonic()
        while waiting:
            ended, waiting = ray.wait(waiting, num_returns=len(waiting), timeout=_POLL_SECONDS)
            # Files of the ended runs are fetched now: they were sent before the ends.
            progress = writer.write()
            if progress or ended:
                heard = time.monotonic()
            elif time.monotonic() - heard > WORK_SECONDS:
                raise ClusterError(
                    f"no run has told anything for {WORK_SECONDS / 60:.0f} minutes: look at `ray status` whether a CPU "
                    "is free. What was recorded is kept: give the same command again to go on."
                )
            yield from (RunEvent(number, value, None) for number, value in progress.items())
            for reference in ended:
                number = numbers[reference]
                yield RunEvent(number, 1.0, writer.failed.get(number) or ray.get(reference))
    except BaseException as error:
        if _is_loss(ray, error):
            raise ClusterError(
                f"the cluster was lost ({type(error).__name__}): what was recorded is kept. Give the same command "
                "again to go on."
            ) from None
        if writer is not None:
            with contextlib.suppress(ray.exceptions.RayError, ConnectionError):
                _end(ray, writer, numbers)
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


def _end(ray: Any, writer: "ResultWriter", numbers: dict[Any, int]) -> None:
    """Waits until started runs have saved a checkpoint and ended; others do not start."""
    started = ray.get(writer.collector.stop.remote(), timeout=_PATIENCE_SECONDS)
    waiting = []
    for reference, number in numbers.items():
        if number in started:
            waiting.append(reference)
        else:
            ray.cancel(reference)
    heard = time.monotonic()
    while waiting and time.monotonic() - heard < _PATIENCE_SECONDS:
        ended, waiting = ray.wait(waiting, num_returns=len(waiting), timeout=_POLL_SECONDS)
        if writer.write() or ended:
            heard = time.monotonic()
    writer.write()


def _is_loss(ray: Any, error: BaseException) -> bool:
    """Returns whether an error says that the cluster, or the node of the collector, is gone."""
    if isinstance(error, ray.exceptions.RayTaskError):
        error = error.cause  # of a worker, which may have lost the collector
    return isinstance(error, ray.exceptions.RayError | ConnectionError)


class ResultWriter:
    """Writes the files that it fetches from the collector, and starts the collector with those that are there.

    Attributes:
        collector: The handle of the `ResultCollector`, on this program's node or, if it is on none, on the node that
            it is connected to.
        failed: Of runs whose files cannot be written: why.
    """

    def __init__(self, ray: Any, runs: Runs):
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        self.failed: dict[int, str] = {}
        self._ray, self._runs = ray, runs
        self._known, self._attempts = 0, dict.fromkeys(runs, 1)
        files = {}
        for number, run in runs.items():
            with record_errors(run.record, "read"):
                files[number] = {
                    path.name: ray.put(path.read_bytes()) for path in (run.record, run.checkpoint) if path.exists()
                }
        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        self.collector = ray.remote(ResultCollector).options(num_cpus=0, scheduling_strategy=here).remote(files)

    def write(self) -> dict[int, float]:
        """Writes everything that has arrived, and returns the progress of runs that have told it."""
        version, changes, attempts, progress = self._ray.get(
            self.collector.fetch.remote(self._known), timeout=WORK_SECONDS
        )
        for number, attempt in attempts.items():
            if attempt > self._attempts[number]:
                self._attempts[number], run = attempt, self._runs[number]
                logger.warning(
                    "%s  %s  seed %s: worker %s was lost, and another one goes on with it",
                    *(run.game, run.algorithm, run.seed, attempt - 1),
                )
        for number, name, reference in changes:
            path, content = self._runs[number].folder / name, None if reference is None else self._ray.get(reference)
            if number in self.failed:
                continue
            try:
                with deferred_signals(lambda: None):
                    if content is None:
                        path.unlink(missing_ok=True)
                    else:
                        with atomic_write(path, RecordError) as file:
                            file.write(content)
            except MccfrPlusError as error:
                self.failed[number] = " ".join(str(error).split())
                self.collector.drop.remote(number)
        self._known = version
        return progress


# --- in a worker ---


class _Sender:
    """Sends files and progress to the collector, and receives whether to go on.

    Args:
        run: The run, with the worker's folder.
        start: The collector's answer to `start`; its files are written into the folder.
    """

    def __init__(self, collector: Any, number: int, run: Run, start: Start):
        self._ray, self._collector, self._number, self._attempt = ray_module(), collector, number, start.attempt
        for name, reference in start.files.items():
            (run.folder / name).write_bytes(self._ray.get(reference))
        self._files = (run.policy, run.record, run.checkpoint)  # the record that says the end comes after the policy
        self._sent = [_version(path) for path in self._files]
        self._goes_on, self._answer, self._told = start.goes_on, None, 0.0

    def tell(self, progress: float) -> None:
        """Sends changed files, and waits until they have arrived; tells the progress at times, without waiting."""
        for index, path in enumerate(self._files):
            if _version(path) != self._sent[index]:
                self._sent[index] = _version(path)
                content = path.read_bytes() if path.exists() else None
                self._receive(self._collector.send.remote(self._number, self._attempt, path.name, content))
        if self._answer is not None and self._ray.wait([self._answer], timeout=0)[0]:
            self._receive(self._answer)
            self._answer = None
        if self._answer is None and time.monotonic() - self._told > _TELL_SECONDS:
            self._told = time.monotonic()
            self._answer = self._collector.tell.remote(self._number, self._attempt, min(progress, 1.0))

    def _receive(self, answer: Any) -> None:
        self._goes_on = self._ray.get(answer) and self._goes_on

    def stop(self) -> bool:
        """Returns whether the run shall end."""
        return not self._goes_on


def _version(path: Path) -> tuple[int, int, int] | None:
    """Returns what is different after a file was written or replaced; None: there is none."""
    if not path.exists():
        return None
    status = path.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns


def _work(number: int, run: Run, about: dict[str, Any], imports: tuple[str, ...], collector: Any) -> str:
    for name in imports:
        import_user_module(name)
    ray = ray_module()
    start = ray.get(collector.start.remote(number))
    if start.problem is not None:
        return start.problem
    if not start.goes_on:
        return STOPPED
    here = about_here(about["command"])
    about = about | {name: here[name] for name in ("versions", "machine")}
    with tempfile.TemporaryDirectory(prefix="mccfr_plus_") as folder:
        moved = dataclasses.replace(run, folder=Path(folder))
        sender = _Sender(collector, number, moved, start)
        return outcome_of(moved, about, sender.tell, sender.stop).replace(folder, str(run.folder))
