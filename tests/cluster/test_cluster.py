"""Connections: what is found, what is started, and what is said where that cannot be."""

import http.server
import importlib.util
import os
import signal
import socketserver
import subprocess
import sys
import threading
import time
from contextlib import nullcontext

import psutil
import pytest

from mccfr_plus import compile_game
from mccfr_plus.cluster import Cluster, DistributedSolver
from mccfr_plus.cluster.cluster import check_address
from mccfr_plus.cluster.connection import on_localhost, own_sigterm
from mccfr_plus.errors import ClusterError, ConfigError


def test_nothing_imports_ray_before_it_is_asked_for():
    networks = ", mccfr_plus.cluster.neural" if importlib.util.find_spec("torch") else ""
    code = f"import sys, mccfr_plus.cluster, mccfr_plus.cli.main{networks}; sys.exit('ray' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_without_ray(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ConfigError, match=r"pip install 'mccfr_plus\[ray\]'"):
        Cluster()
    with pytest.raises(ConfigError, match=r"pip install 'mccfr_plus\[ray\]'"):
        DistributedSolver("kuhn_poker")


@pytest.mark.parametrize("address", ["", "nowhere", "ray://", "http://a:1", "a:0", "a:65536", "a b:1", None, "local"])
def test_addresses_that_make_no_sense(address):
    with pytest.raises(ConfigError, match="give 'ray', 'ray://HOST:PORT', or 'HOST:PORT'"):
        check_address(address)


@pytest.mark.parametrize("address", ["ray", "ray://head:10001", "10.0.0.1:6379", "[::1]:6379"])
def test_addresses_that_make_sense(address):
    assert check_address(address) == address


@pytest.mark.parametrize("prefix", ["", "ray://"])
@pytest.mark.parametrize("host", ["127.0.0.1", "no-such-host.invalid"])
def test_a_cluster_that_cannot_be_reached(monkeypatch, prefix, host):
    """Ray itself would try for half a minute, or for five."""
    monkeypatch.setattr("ray.is_initialized", lambda: False)  # as if this process were not connected
    begin = time.monotonic()
    with pytest.raises(ClusterError, match=f"no cluster at {prefix}{host}:9"), Cluster(f"{prefix}{host}:9"):
        pass
    assert time.monotonic() - begin < 20


class Silent(socketserver.BaseRequestHandler):
    def handle(self):
        self.request.recv(1000)
        time.sleep(2)


@pytest.mark.parametrize("handler", [http.server.BaseHTTPRequestHandler, Silent])
def test_something_else_listens(monkeypatch, handler):
    monkeypatch.setattr("ray.is_initialized", lambda: False)
    monkeypatch.setattr("mccfr_plus.cluster.connection._HELLO_SECONDS", 0.5)
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"127.0.0.1:{server.server_address[1]}"
        what = "timed out" if handler is Silent else "what listens there is not Ray"
        with pytest.raises(ClusterError, match=f"no cluster at {address}: {what}"), Cluster(address):
            pass
        server.shutdown()


NOT_RAY = """
import sys
from mccfr_plus.cluster import Cluster
from mccfr_plus.cluster import cluster
from mccfr_plus.errors import ClusterError
cluster.probe = lambda address: None
try:
    with Cluster(sys.argv[1]):
        pass
except ClusterError as error:
    print(error)
from ray._private.client_mode_hook import client_mode_should_convert
print(client_mode_should_convert())
"""


@pytest.mark.slow
def test_no_client_is_left_behind():
    """In a process of its own: it could not start a cluster any more."""
    command = [sys.executable, "-c", NOT_RAY, "ray://127.0.0.1:9"]
    environment = {**os.environ, "RAY_CLIENT_INITIAL_CONNECTION_TIMEOUT_S": "1"}
    process = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=200, env=environment)
    message, state = process.stdout.splitlines()
    assert message.startswith("cannot connect to Ray at ray://127.0.0.1:9: ")
    assert state == "False"


def test_the_cluster_of_the_environment(monkeypatch):
    monkeypatch.setattr("ray.is_initialized", lambda: False)
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:9")
    with pytest.raises(ClusterError, match=r"no cluster at 127\.0\.0\.1:9"), Cluster():
        pass


@pytest.mark.parametrize(("failures", "attempts"), [(1, 2), (5, 5)])
@pytest.mark.parametrize("what", ["RuntimeError: Starting Ray client server failed. See", "psutil.ZombieProcess: PID"])
def test_a_client_server_that_fails_now_and_then(monkeypatch, caplog, failures, attempts, what):
    """Ray forks a process for each client from one with threads, which hangs once in a while."""
    calls = []

    def init(address, **_):
        calls.append(address)
        if calls.count(address) <= failures:
            raise ConnectionAbortedError(f"Initialization failure from server:\n{what}")

    monkeypatch.setattr("ray.is_initialized", lambda: False)
    monkeypatch.setattr("ray.init", init)
    monkeypatch.setattr("ray.shutdown", lambda: calls.append("end"))
    monkeypatch.setattr("mccfr_plus.cluster.cluster.probe", lambda address: None)
    monkeypatch.setattr(Cluster, "_check_versions", lambda self: None)
    expected = pytest.raises(ClusterError, match=what) if failures == 5 else nullcontext()
    with expected, Cluster("ray://127.0.0.1:9"):
        pass
    assert [call for call in calls if call != "end"] == ["ray://127.0.0.1:9"] * attempts
    assert calls[1] == "end"  # or Ray would take itself for connected
    assert "trying again" in caplog.text


def test_a_connection_that_was_there_stays(cluster):
    with Cluster() as again:
        assert again.cpus == cluster.cpus == 2
    assert cluster.ray.is_initialized()


def test_all_ports_are_on_localhost(cluster):
    started = psutil.Process().children(recursive=True)
    found = {c.laddr.ip for process in started for c in connections(process) if c.status == psutil.CONN_LISTEN}
    assert sum("ray" in process.name() for process in started if process.is_running()) >= 2
    assert {ip.removeprefix("::ffff:") for ip in found} == {"127.0.0.1"}


def connections(process):
    try:
        return process.net_connections()
    except psutil.Error:  # it has just ended
        return []


def test_too_little_shared_memory(cluster):
    """The tests' object store has 256 MiB."""
    with pytest.raises(ClusterError, match=r"the tree takes 300 MiB.* has 256 MiB.*--object-store-memory"):
        cluster.check_room(300 << 20, "the tree")
    cluster.check_room(200 << 20, "the tree")


def test_a_tree_that_does_not_fit_is_refused_before_work(cluster, monkeypatch):
    node = cluster.ray.nodes()[0]
    small = {**node, "Resources": {"CPU": 4.0, "object_store_memory": 10_000.0}}
    monkeypatch.setattr("ray.nodes", lambda: [small])
    solver = DistributedSolver(compile_game("leduc_poker"), cluster=cluster)
    with pytest.raises(ClusterError, match="the tree with two strategies takes"):
        solver.iteration()


def test_more_workers_than_processors(cluster, caplog):
    cluster.check_workers(2)
    assert not caplog.records
    cluster.check_workers(3)
    assert "3 workers share the 2 CPUs that the cluster has" in caplog.text


def test_other_versions(cluster, monkeypatch):
    from mccfr_plus.cluster import cluster as module

    here = module.versions()
    monkeypatch.setattr(module, "versions", lambda: {**here, "numba": "0.1"})
    with pytest.raises(ClusterError, match=r"has numba .*, and this program 0\.1: results would not be the same"):
        Cluster().__enter__()


def test_sigterm_while_ray_connects_is_the_programs():
    """Ray's own handler would end it with another exit code, and without a word."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt), own_sigterm():
            sys.exit(signal.SIGTERM)  # as Ray's handler does
        assert signal.getsignal(signal.SIGTERM) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGTERM, before)


def test_localhost_is_a_matter_of_the_block(monkeypatch):
    from ray._private import ray_constants

    monkeypatch.delenv("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", raising=False)
    before = ray_constants.ENABLE_RAY_CLUSTER
    with on_localhost():
        assert ray_constants.ENABLE_RAY_CLUSTER is False
        assert os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] == "0"
    assert before == ray_constants.ENABLE_RAY_CLUSTER
    assert "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER" not in os.environ
