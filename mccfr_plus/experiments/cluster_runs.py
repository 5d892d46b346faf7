"""Runs the runs of comparisons on a Ray cluster: each is a task, which Ray begins again if its worker is lost.

Files are written by this program alone, in its own directory, from what it fetches at the `Desk`; so no directory need
be shared between machines, and this one need not be a node (``ray://``).
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import time
from collections.abc import Iterator
from typing import Any

from mccfr_plus.cluster.cluster import Cluster
from mccfr_plus.errors import ClusterError, MccfrPlusError
from mccfr_plus.experiments.collected_records import DeskLedger
from mccfr_plus.experiments.comparison import Directory, about_here
from mccfr_plus.experiments.progress_events import STOPPED, News
from mccfr_plus.experiments.record import recorded_points
from mccfr_plus.experiments.result_collector import CHECKPOINT, END, HEADER, LOST, POINT, POLICY, Desk, Entry, Shelf
from mccfr_plus.experiments.run_records import FileLedger
from mccfr_plus.experiments.work import Key, outcome_of, warm_up
from mccfr_plus.solver.interrupts import deferred_signals

logger = logging.getLogger("mccfr_plus")

_POLL_SECONDS = 0.2
_PATIENCE_SECONDS = 60.0  # with runs that were told to stop, and of which nothing more is heard

Runs = dict[int, tuple[Directory, Key]]  # by number


def run_on_cluster(runs: Runs, about: dict[str, Any], cluster: Cluster) -> Iterator[News]:
    """Runs all, and yields what happens; see `run_all`.

    Args:
        runs: What to run, none of which has ended.
        about: See `about_here`; versions and machine are those of the worker that began the run.
        cluster: Entered.
    """
    ray = cluster.ray
    clerk = _Clerk(ray, runs)
    numbers: dict[Any, int] = {}  # of the runs, by their tasks
    waiting: list[Any] = []
    try:
        yield from (News(number, 1.0, problem) for number, problem in clerk.failed.items())
        _warm_up(cluster)
        clerk.open()
        # A task costs a core; the memory of a run is not known before its tree is there.
        task = ray.remote(_work)
        for number, (directory, key) in runs.items():
            if number not in clerk.failed:
                named = task.options(num_cpus=1, max_retries=-1, name="{} {} seed {}".format(*key))
                reference = named.remote(number, directory, key, about, cluster.imports, clerk.desk)
                numbers[reference] = number
        waiting = list(numbers)
        while waiting:
            ended, waiting = ray.wait(waiting, num_returns=len(waiting), timeout=_POLL_SECONDS)
            # What the ended ones have handed in is fetched now: it was there before they ended.
            progress = clerk.write()
            yield from (News(number, value, None) for number, value in progress.items())
            for reference in ended:
                outcome = ray.get(reference)
                yield News(numbers[reference], 1.0, clerk.failed.get(numbers[reference], outcome))
    except BaseException as error:
        if _is_loss(ray, error):
            raise ClusterError(
                f"the cluster was lost ({type(error).__name__}): what was recorded is kept. Give the same command "
                "again to go on."
            ) from None
        with contextlib.suppress(ray.exceptions.RayError, ConnectionError):
            _end(ray, clerk, numbers)
        raise


def _warm_up(cluster: Cluster) -> None:
    """Compiles the kernels on each node that will run something."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    task = cluster.ray.remote(_compile_kernels)
    nodes = [node["NodeID"] for node in cluster.nodes if node["Resources"].get("CPU", 0)]
    places = [NodeAffinitySchedulingStrategy(node_id=node, soft=True) for node in nodes]
    cluster.ray.get([task.options(num_cpus=0, scheduling_strategy=place).remote() for place in places])


def _end(ray: Any, clerk: _Clerk, numbers: dict[Any, int]) -> None:
    """Waits until runs under way have saved a checkpoint and ended; others do not begin."""
    if clerk.desk is None:
        return
    begun = ray.get(clerk.desk.stop.remote())
    for reference, number in numbers.items():
        if number not in begun:
            ray.cancel(reference)
    waiting = [reference for reference, number in numbers.items() if number in begun]
    heard = time.monotonic()
    while waiting and time.monotonic() - heard < _PATIENCE_SECONDS:
        ended, waiting = ray.wait(waiting, num_returns=len(waiting), timeout=_POLL_SECONDS)
        if clerk.write() or ended:
            heard = time.monotonic()
    clerk.write()


def _is_loss(ray: Any, error: BaseException) -> bool:
    """Returns whether an error says that the cluster, or the node of the desk, is gone."""
    if isinstance(error, ray.exceptions.RayTaskError):
        error = error.cause  # of a worker: it may be that it has lost the desk
    return isinstance(error, ray.exceptions.RayError | ConnectionError)


class _Clerk:
    """Writes into files what it fetches at the desk.

    Attributes:
        desk: The handle of the desk.
        failed: Of runs whose files cannot be read or written: why.
    """

    def __init__(self, ray: Any, runs: Runs):
        self.desk: Any = None
        self.failed: dict[int, str] = {}
        self._ray, self._runs = ray, runs
        self._ledgers: dict[int, FileLedger] = {}
        self._known = 0  # entries written
        self._shelves: dict[int, Shelf] = {}
        for number, (directory, key) in runs.items():
            run = directory.run_of(*key)
            try:
                self._shelves[number] = Shelf(recorded_points(run.record))
            except MccfrPlusError as error:
                self.failed[number] = " ".join(str(error).split())

    def open(self) -> None:
        """Opens the desk, on this program's node or, if it is on none, on the one that it is connected to."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        for number, shelf in self._shelves.items():
            directory, key = self._runs[number]
            checkpoint = directory.run_of(*key).checkpoint
            if checkpoint.exists():
                shelf.checkpoint = self._ray.put(checkpoint.read_bytes())
        here = NodeAffinitySchedulingStrategy(self._ray.get_runtime_context().get_node_id(), soft=False)
        self.desk = self._ray.remote(Desk).options(num_cpus=0, scheduling_strategy=here).remote(self._shelves)

    def write(self) -> dict[int, float]:
        """Writes everything that has come, and returns how far runs are of which something was heard."""
        entries, progress = self._ray.get(self.desk.fetch.remote(self._known))
        for entry in entries:
            value = self._ray.get(entry.value) if entry.kind in (CHECKPOINT, POLICY) else entry.value
            with deferred_signals(lambda: None):  # an entry is written, and then known, or neither
                self._write_one(entry, value)
                self._known += 1
        return progress

    def _write_one(self, entry: Entry, value: Any) -> None:
        if entry.run in self.failed:
            return
        directory, key = self._runs[entry.run]
        if entry.kind == LOST:
            logger.warning("%s  %s  seed %s: worker %s was lost, and another one goes on with it", *key, value)
            return
        try:
            if entry.kind == HEADER:
                if entry.run not in self._ledgers:
                    self._ledgers[entry.run] = FileLedger(directory.run_of(*key, value["points"]), value)
                return
            ledger = self._ledgers[entry.run]
            if entry.kind == POINT:
                ledger.add(value)
            elif entry.kind == CHECKPOINT:
                ledger.save_bytes(value)
            elif entry.kind == POLICY:
                ledger.publish_bytes(value)
            elif entry.kind == END:
                ledger.end(**value)
        except MccfrPlusError as error:
            self.failed[entry.run] = " ".join(str(error).split())
            self.desk.drop.remote(entry.run)


# --- on the cluster ---


def _compile_kernels() -> None:
    warm_up()


def _work(
    number: int, directory: Directory, key: Key, about: dict[str, Any], imports: tuple[str, ...], desk: Any
) -> str:
    from mccfr_plus.cluster.connection import ray_module

    for name in imports:
        importlib.import_module(name)
    begun = ray_module().get(desk.begin.remote(number))
    if begun.problem is not None:
        return begun.problem
    if not begun.is_wanted:
        return STOPPED
    ledger = DeskLedger(desk, number, begun)
    here = about_here(about["command"])

    def open_ledger(_: Any, header: dict[str, Any]) -> DeskLedger:
        ledger.open(header)
        return ledger

    where = {name: here[name] for name in ("versions", "machine")}
    return outcome_of(directory, key, about | where, ledger.tell, ledger.stop, open_ledger)
