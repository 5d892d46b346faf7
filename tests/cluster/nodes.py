"""A cluster of two nodes on this machine: ``python nodes.py``.

The program prints the addresses of the cluster and of its client server, and ends with its standard input. A line on
standard input kills the second node.
"""

import contextlib
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple


class Nodes(NamedTuple):
    address: str  # of the cluster
    client: str  # of its client server
    process: subprocess.Popen

    def kill_second(self):
        self.process.stdin.write("kill\n")
        self.process.stdin.flush()


@contextlib.contextmanager
def two_nodes():
    process = subprocess.Popen(
        [sys.executable, Path(__file__)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # listen on localhost
        },
    )
    try:
        yield Nodes(*process.stdout.readline().split(), process)
    finally:
        process.stdin.close()
        process.wait(60)
        process.stdout.close()


def main():
    from ray.cluster_utils import Cluster

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    own = {"num_cpus": 1, "object_store_memory": 200 << 20, "node_ip_address": "127.0.0.1"}
    cluster = Cluster(initialize_head=True, head_node_args={**own, "ray_client_server_port": port})
    second = cluster.add_node(**own)
    time.sleep(3)  # in its first seconds the client server fails more often
    print(cluster.address, f"ray://127.0.0.1:{port}", flush=True)
    if sys.stdin.readline():
        cluster.remove_node(second, allow_graceful=False)
        sys.stdin.read()
    cluster.shutdown()


if __name__ == "__main__":
    main()
