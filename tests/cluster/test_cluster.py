"""Connections: what is found, what is started, and errors before work begins."""

import contextlib
import sys

import psutil
import pytest

from mccfr_plus.cluster import Cluster, DistributedSolver
from mccfr_plus.cluster import cluster as module
from mccfr_plus.cluster.cluster import check_address
from mccfr_plus.errors import ClusterError, ConfigError

pytestmark = pytest.mark.integration


def test_without_ray(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    for connect in (Cluster, lambda: DistributedSolver("kuhn_poker")):
        with pytest.raises(ConfigError, match=r"pip install 'mccfr_plus\[ray\]'"):
            connect()


@pytest.mark.parametrize("address", ["", "nowhere", "ray://", "http://a:1", "a:0", "a:65536", "a b:1", None, "local"])
def test_malformed_addresses(address):
    with pytest.raises(ConfigError, match="give 'ray', 'ray://HOST:PORT' or 'HOST:PORT'"):
        check_address(address)


@pytest.mark.parametrize("address", ["127.0.0.1:9", "ray://127.0.0.1:9", "no-such-host.invalid:9", "ray"])
def test_a_missing_cluster_is_an_error(monkeypatch, address):
    monkeypatch.setattr("ray.is_initialized", lambda: False)  # as if this process were not connected
    monkeypatch.setattr("ray.shutdown", lambda: None)
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:9")
    with pytest.raises(ClusterError, match=r"^there is no cluster at .*:9: .*`ray start --head`"), Cluster(address):
        pass


def test_all_ports_are_on_localhost(cluster):
    found = set()
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):  # it has just ended
            found |= {each.laddr.ip for each in process.net_connections() if each.status == psutil.CONN_LISTEN}
    assert {ip.removeprefix("::ffff:") for ip in found} == {"127.0.0.1"}


def test_other_versions(cluster, monkeypatch):
    monkeypatch.setattr(module, "package_version", lambda name="mccfr_plus": "0.1")
    with pytest.raises(ClusterError, match=r"has mccfr_plus .*, but this program has 0\.1 .*Install the same version"):
        Cluster().__enter__()


def test_a_game_that_workers_cannot_load(cluster):
    cluster.check_game("kuhn_poker")
    with pytest.raises(ClusterError, match=r"node .* failed: .*no_such_game.* --import=MODULE"):
        cluster.check_game("no_such_game")
    with pytest.raises(ClusterError, match="no_such_module"):
        Cluster(imports=("no_such_module",)).check_game("kuhn_poker")
