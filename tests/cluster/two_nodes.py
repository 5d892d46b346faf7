"""Two Ray nodes on this machine, until standard input ends: ``python two_nodes.py [PYTHONPATH of the second one]``.

Prints the addresses of the cluster and of its client server. A line on standard input kills the second node.
"""

import socket
import sys
import time

from mccfr_plus.cluster.connection import on_localhost

with on_localhost():
    from ray._common.utils import reset_ray_address
    from ray.cluster_utils import Cluster

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    own = {"num_cpus": 1, "object_store_memory": 200 << 20, "node_ip_address": "127.0.0.1"}
    cluster = Cluster(initialize_head=True, head_node_args={**own, "ray_client_server_port": port})
    other = {"env_vars": {"PYTHONPATH": sys.argv[1]}} if len(sys.argv) > 1 else {}
    second = cluster.add_node(**own, **other)
    reset_ray_address()  # or programs that look for a cluster would find this one
    time.sleep(3)  # in its first seconds a client server fails more often
    print(cluster.address, f"ray://127.0.0.1:{port}", flush=True)
    if sys.stdin.readline():
        cluster.remove_node(second, allow_graceful=False)
        sys.stdin.read()
    cluster.shutdown()
