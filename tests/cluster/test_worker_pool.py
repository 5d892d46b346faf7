"""Results come in the order of the tasks, whichever worker is slow or lost; this process can do the work, too."""

import os
import signal
import threading
import time

import pool_workers
import pytest

from mccfr_plus.cluster.worker_pool import WorkerPool
from mccfr_plus.errors import ClusterError, ConfigError


def started(pool, kind=pool_workers.Echo, *constants):
    pool.start(kind, ("constant", *constants), 100, "a constant")
    return pool


def test_a_slow_worker_changes_no_order(cluster, monkeypatch):
    with started(WorkerPool(2, cluster)) as pool:
        tasks = [{"number": number, "seconds": 0.3 * (number == 0)} for number in range(5)]
        found = list(pool.work("shared", tasks))
        assert [result[:3] for result in found] == [("constant", "shared", number) for number in range(5)]
        assert len({result[3] for result in found} - {os.getpid()}) == 2
        assert sorted(result[3] for result in found[:2]) == sorted(
            pid for _, pid in cluster.ray.get([actor.where.remote() for actor in pool.actors])
        )
        list(pool.work("again", tasks[:1]))
        with pytest.raises(ClusterError, match="on purpose"):
            list(pool.work("shared", ["fail"]))
        monkeypatch.setattr("mccfr_plus.cluster.worker_pool.WORK_SECONDS", 0.1)
        with pytest.raises(ClusterError, match=r"a worker's task has not ended within .* `ray status`"):
            list(pool.work("shared", [{"number": 0, "seconds": 2.0}]))
    assert not pool.has_started
    assert cluster.ray.is_initialized()  # it was there before


@pytest.mark.slow
def test_a_killed_worker_changes_nothing(cluster, tmp_path):
    killed = []

    def kill():
        file, end = tmp_path / "pid", time.monotonic() + 60
        while not file.exists() and time.monotonic() < end:
            time.sleep(0.01)
        killed.append(int(file.read_text()))
        os.kill(killed[0], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    with started(WorkerPool(2, cluster), pool_workers.Mortal, str(tmp_path)) as pool:
        killer.start()
        begin = time.monotonic()
        found = list(pool.work("shared", [{"number": number} for number in range(8)]))
        killer.join()
        assert time.monotonic() - begin < 50  # it did not sleep to the end
        assert [result[2] for result in found] == list(range(8))
        assert killed[0] not in [pid for _, pid in cluster.ray.get([actor.where.remote() for actor in pool.actors])]


@pytest.mark.parametrize(("workers", "where"), [(0, "ray"), (None, "local"), (3, "local")])
def test_this_process_can_do_the_work(workers, where):
    with WorkerPool(workers, where) as pool:
        assert not pool.has_started
        started(pool)
        assert pool.has_started
        assert [result[2:] for result in pool.work("shared", [{"number": 1}, {"number": 2}])] == [
            (1, os.getpid()),
            (2, os.getpid()),
        ]


def test_constants_that_no_node_has_room_for(cluster):
    pool = WorkerPool(1, cluster)
    with pytest.raises(ClusterError, match="the tree takes 1,048,576 MiB"):
        pool.start(pool_workers.Echo, ("constant",), 1 << 40, "the tree")
    assert not pool.has_started


@pytest.mark.parametrize("workers", [-1, 1.5, True, "two"])
def test_wrong_numbers_of_workers(workers):
    with pytest.raises(ConfigError, match=f"workers={workers!r}: give a number of processes"):
        WorkerPool(workers, "local")


@pytest.mark.parametrize("cluster", ["nowhere", 5, None])
def test_wrong_clusters(cluster):
    with pytest.raises(ConfigError, match=f"cluster={cluster!r}: give 'ray'"):
        WorkerPool(2, cluster)
