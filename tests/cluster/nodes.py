"""Clusters of two nodes on this machine, as processes of their own."""

import contextlib
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


class Nodes(NamedTuple):
    """Two nodes that are running."""

    address: str  # of the cluster
    client: str  # of its client server
    process: subprocess.Popen

    def kill_second(self):
        self.process.stdin.write("kill\n")
        self.process.stdin.flush()


@contextlib.contextmanager
def two_nodes(*arguments):
    """Yields `Nodes`; the arguments are those of two_nodes.py."""
    process = subprocess.Popen(
        [sys.executable, HERE / "two_nodes.py", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=ENVIRONMENT,
    )
    try:
        address, client = process.stdout.readline().split()
        yield Nodes(address, client, process)
    finally:
        process.stdin.close()
        process.wait(60)
        process.stdout.close()
