"""`solve --cluster=ray` that is ended, or whose workers are killed: the exit codes and results of the command."""

import json
import os
import subprocess
import sys
import threading

import psutil
import pytest

from mccfr_plus.cli.main import main

pytestmark = pytest.mark.slow

SOLVE = ("solve", "leduc_poker", "--workers=2", "--batch=80000", "--seed=1", "--quiet", "--json")


@pytest.mark.parametrize("number", ["SIGTERM", "SIGINT", "SIGHUP"])
@pytest.mark.parametrize("moment", ["connecting", "starting workers", "sampling"])
def test_a_signal(number, moment, tmp_path):
    """In a process of its own: a cluster is started for it. Signals come at the call of a function."""
    place, calls = {
        "connecting": ("mccfr_plus.cluster.cluster.Cluster._check_versions", 1),
        "starting workers": ("mccfr_plus.cluster.worker_pool.WorkerPool._get", 1),
        "sampling": ("mccfr_plus.cluster.worker_pool.WorkerPool._get", 60),
    }[moment]
    code = AT_CALL.format(name=place, calls=calls, number=number)
    files = (f"--checkpoint={tmp_path / 'run'}", f"--policy_out={tmp_path / 'policy.npz'}")
    arguments = [*SOLVE, "--cluster=ray", "--seconds=600", *files]
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "RAY_ADDRESS": "local"},
    )
    assert "Traceback" not in done.stderr
    if moment != "sampling":
        assert (done.returncode, done.stdout) == (130, "")
        assert done.stderr.splitlines()[-1] == "mccfr-plus: interrupted"
        assert not list(tmp_path.iterdir())
        return
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    assert (result["interrupted"], result["iterations"] > 0) == (True, True)
    assert {path.name for path in tmp_path.iterdir()} == {"run", "policy.npz"}


AT_CALL = """
import pkgutil, signal, sys
for each in ("SIGINT", "SIGTERM", "SIGHUP"):
    signal.signal(getattr(signal, each), signal.SIG_DFL if each != "SIGINT" else signal.default_int_handler)
from mccfr_plus.cli.main import main
place, _, attribute = "{name}".rpartition(".")
owner, calls = pkgutil.resolve_name(place), []
function = getattr(owner, attribute)

def call(*arguments):
    calls.append(1)
    if len(calls) == {calls}:
        signal.raise_signal(signal.{number})
    return function(*arguments)

setattr(owner, attribute, call)
sys.exit(main(sys.argv[1:]))
"""


def workers():
    """Yields the actors of the cluster of this process, with what they are doing."""
    for process in psutil.Process().children(recursive=True):
        try:
            title = process.cmdline()[:1]
        except psutil.Error:
            continue
        if title and title[0].startswith("ray::_Actor"):
            yield process


def test_killed_workers_change_no_result(cluster, capsys):
    """While they compile or load kernels, and while they sample."""
    results, killed, over = [], set(), threading.Event()

    def kill():
        while not over.wait(0.5) and len(killed) < 4:
            for process in workers():
                if process.pid not in killed:
                    process.kill()
                    killed.add(process.pid)
                    break

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        for where in ("ray", "local"):
            assert main([*SOLVE, f"--cluster={where}", "--iterations=300"]) == 0
            results.append(json.loads(capsys.readouterr().out.splitlines()[-1]))
            over.set()
    finally:
        over.set()
        killer.join()
    assert len(killed) >= 2
    assert results[0]["exploitability"] == results[1]["exploitability"]
