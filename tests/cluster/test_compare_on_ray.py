"""`mccfr-plus compare --cluster`: same records as without, whatever happens to workers; and what is refused."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import lazy_games  # noqa: F401  (registers a game, here and not in workers)
import pytest
from records import num_ended, policies, without_times

from mccfr_plus.cli.compare import View
from mccfr_plus.cli.main import main
from mccfr_plus.cluster import Cluster, head_to_head
from mccfr_plus.errors import ClusterError
from mccfr_plus.experiments.comparison import Comparison, Directory, about_here, read_comparison
from mccfr_plus.experiments.evaluation_points import Limit
from mccfr_plus.experiments.papers.item import Setting, run_figure
from mccfr_plus.experiments.record import read_record
from mccfr_plus.experiments.run_all import DONE, in_order, run_all
from mccfr_plus.experiments.run_loop import outcome_of

GAMES = ["leduc_poker", "kuhn_poker"]


@pytest.fixture
def command(capsys):
    def call(*arguments):
        code = main(list(arguments))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def status(pid):
    """Returns what a process is called and its parent; None if it is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
        title = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0].decode()
    except (OSError, UnicodeDecodeError):
        return None
    return title, int(text.rpartition(")")[2].split()[1])


def busy_workers():
    """Returns the processes that execute a run: those of the cluster of this process, which others' are not."""
    found = {int(name): status(name) for name in os.listdir("/proc") if name.isdigit()}
    found = {pid: what for pid, what in found.items() if what is not None}
    raylets = {pid for pid, (title, parent) in found.items() if parent == os.getpid() and "raylet" in title}
    return [
        pid
        for pid, (title, parent) in found.items()
        if parent in raylets and title.startswith(tuple(f"ray::{game} " for game in GAMES))
    ]


class Killer(threading.Thread):
    """Kills workers that execute a run, spread at random over a comparison."""

    def __init__(self, path, num_runs, count, latest):
        super().__init__(daemon=True)
        self.path, self.killed, self.over = path, [], threading.Event()
        self._random = random.Random(num_runs)
        self._moments = sorted(self._random.sample(range(latest), count))  # as numbers of runs that have ended

    def run(self):
        for moment in self._moments:
            while not self.over.wait(0.05):
                if num_ended(self.path) >= moment and (busy := set(busy_workers()) - set(self.killed)):
                    pid = self._random.choice(sorted(busy))
                    os.kill(pid, signal.SIGKILL)
                    self.killed.append(pid)
                    break

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.join()


def compare_twice(command, tmp_path, arguments, num_runs, num_kills):
    """Runs a comparison while workers are killed, and one without Ray; returns how many workers were lost."""
    whole, path = tmp_path / "whole", tmp_path / "out"
    with Killer(path, num_runs, num_kills, num_runs - 4) as killer:
        code, out, err = command(*arguments, "--cluster=ray", f"--out={path}", "--json")
    assert code == 0, err
    assert "raylet" not in out
    assert json.loads(out.splitlines()[-1])["failed"] == []
    assert len(killer.killed) == num_kills
    assert err.count("  done\n") == num_runs == num_ended(path)
    code, _, err_whole = command(*arguments, "--processes=2", f"--out={whole}", "--quiet")
    assert code == 0, err_whole
    assert without_times(path) == without_times(whole)
    assert policies(path) == policies(whole)
    assert {file.name for file in path.iterdir()} == {file.name for file in whole.iterdir()}
    assert {file.name for file in (path / "runs").iterdir()} == {file.name for file in (whole / "runs").iterdir()}
    return err.count("was lost, and another one goes on with it\n")


SMALL = ["compare", *GAMES, "--algorithms=external,outcome/rm+", "--seeds=2", "--num_evaluations=8"]


def test_a_cluster_gives_the_records_of_one_process(cluster, command, tmp_path):
    path = tmp_path / "out"
    code, out, err = command(*SMALL, "--nodes=2e5", "--cluster=ray", f"--out={path}", "--json")
    assert (code, json.loads(out.splitlines()[-1])["failed"]) == (0, []), err
    assert err.count("  done\n") == 8 == num_ended(path)
    with Directory(tmp_path / "whole", read_comparison(path)) as directory:
        for run in in_order([directory]):
            assert outcome_of(run, about_here("test"), lambda progress: None, lambda: False) == DONE
    assert without_times(path) == without_times(directory.path)
    assert policies(path) == policies(directory.path)


@pytest.mark.slow
def test_lost_workers_lose_no_record(cluster, command, tmp_path):
    assert compare_twice(command, tmp_path, [*SMALL, "--nodes=8e6"], 8, 2) >= 1


@pytest.mark.slow
def test_many_runs_lose_no_record(cluster, command, tmp_path):
    algorithms = "external[batch=4],outcome,opponent/rm+,external/rm+/linear,openspiel:external"
    arguments = ["compare", *GAMES, f"--algorithms={algorithms}", "--seeds=3", "--nodes=2e6", "--num_evaluations=8"]
    assert compare_twice(command, tmp_path, arguments, 30, 8) >= 4


def test_what_is_told_while_runs_go_on(cluster, tmp_path):
    """Progress moves, and points are in the files, while the run that found them goes on."""
    comparison = Comparison(("leduc_poker",), ("external",), (1,), Limit("nodes", 6e7), 20)
    shown, recorded = [], []
    with Directory(tmp_path / "out", comparison) as directory:
        (run,) = directory.runs()
        for event in run_all([directory], about_here("test"), cluster=cluster):
            shown.append(event)
            if event.outcome is None and run.record.exists():
                recorded.append(len(read_record(run.record)[1]))
    assert shown[-1] == (0, 1.0, DONE)
    assert len(read_record(run.record)[1]) == 20
    assert any(0.0 < event.progress < 1.0 for event in shown[:-1])
    assert any(0 < count < 20 for count in recorded)


def test_a_figure_of_a_paper(cluster, tmp_path):
    watch = lambda directories: View(directories, quiet=True)  # noqa: E731
    setting = Setting("small", tmp_path, about_here("test"), None, watch, cluster)
    comparison = Comparison(("kuhn_poker",), ("external",), (1,), Limit("nodes", 2e3), 3)
    (curve,), _ = run_figure(setting, "figure9", {"kuhn": comparison})
    assert curve.algorithm == "external"
    assert num_ended(tmp_path / "figure9-runs" / "kuhn") == 1


# --- a program that is ended ---

ENDED = ["compare", "leduc_poker", "--algorithms=external,outcome", "--seeds=1", "--num_evaluations=12", "--nodes=1e8"]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory, cluster):
    path = tmp_path_factory.mktemp("undisturbed") / "out"
    assert main([*ENDED, "--cluster=ray", "--quiet", f"--out={path}"]) == 0
    return path


@pytest.fixture
def start(cluster):
    processes = []

    def call(*arguments, **environment):
        process = subprocess.Popen(
            [sys.executable, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
            start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
        processes.append(process)
        return process

    yield call
    for process in processes:
        process.kill()
        process.communicate()


@pytest.mark.slow
@pytest.mark.parametrize("how", ["ctrl-c", "sigterm", "sigkill"])
def test_a_program_that_is_ended_goes_on(start, command, cluster, undisturbed, tmp_path, how):
    path = tmp_path / "out"
    # Ctrl-C reaches all processes of a terminal: also those of a cluster that was started for the comparison.
    where = "ray" if how == "ctrl-c" else cluster.ray.get_runtime_context().gcs_address
    process = start("-m", "mccfr_plus", *ENDED, f"--cluster={where}", "--quiet", f"--out={path}", RAY_ADDRESS="local")
    deadline = time.monotonic() + 200
    # The longer one of the two runs is under way, whatever has become of the other one.
    while time.monotonic() < deadline and process.poll() is None and not any((path / "runs").glob("*outcome*.jsonl")):
        time.sleep(0.05)
    time.sleep(0.2)
    if how == "ctrl-c":
        os.killpg(process.pid, signal.SIGINT)
    else:
        process.send_signal(signal.SIGTERM if how == "sigterm" else signal.SIGKILL)
    out, err = process.communicate(timeout=120)
    before = {file.name: read_record(file)[1] for file in (path / "runs").glob("*.jsonl")}
    assert before, err
    assert num_ended(path) < 2
    if how != "sigkill":
        assert (process.returncode, out, err) == (130, "", "mccfr-plus: interrupted\n")
        assert any((path / "runs").glob("*outcome*.checkpoint"))
    code, _, err = command(*ENDED, "--cluster=ray", "--quiet", f"--out={path}")
    assert (code, err) == (0, "")
    for name, points in before.items():
        assert read_record(path / "runs" / name)[1][: len(points)] == points
    assert without_times(path) == without_times(undisturbed)
    assert policies(path) == policies(undisturbed)


def test_a_run_that_fails_does_not_end_the_others(cluster, command, tmp_path):
    path = tmp_path / "out"
    games = ["dark_hex(num_rows=1,num_cols=4)", "kuhn_poker"]
    short = ["--algorithms=external", "--seeds=2", "--nodes=2e3", "--num_evaluations=3"]
    code, _, err = command("compare", *games, *short, "--cluster=ray", f"--out={path}")
    assert code == 2
    assert (
        "2 of 4 runs failed: dark_hex(num_rows=1,num_cols=4) external seed 1: dark_hex(num_cols=4,num_rows=1), at his"
        in " ".join(err.split())
    )
    assert num_ended(path) == 2


def test_a_damaged_record_and_one_that_cannot_be_written(cluster, command, tmp_path):
    path = tmp_path / "out"
    arguments = ["compare", "kuhn_poker", "--algorithms=external", "--seeds=3", "--nodes=2e3", "--num_evaluations=3"]
    assert command(*arguments, "--cluster=ray", f"--out={path}", "--quiet")[0] == 0
    first, second, third = sorted((path / "runs").glob("*.jsonl"))
    kept = third.read_bytes()
    first.write_text("damaged\n")
    lines = second.read_text().splitlines(keepends=True)
    second.write_text("".join(lines[:-1]).replace('"seed": 2', '"seed": 7'))
    code, _, err = command(*arguments, "--cluster=ray", f"--out={path}")
    assert code == 2
    assert "seed 1  failed: " in err
    assert "damaged: see its line 1" in err
    assert f"seed 2  failed: {second} is the record of another run: its seed is 7, not 2" in err
    assert (first.read_text(), third.read_bytes()) == ("damaged\n", kept)


# --- what is refused, before anything is written ---

SHORT = ["compare", "kuhn_poker", "--algorithms=external", "--seeds=1", "--nodes=2e3", "--num_evaluations=3"]


def assert_refused(found, tmp_path, *parts):
    code, out, err = found
    assert (code, out) == (2, ""), err
    assert len(err.splitlines()) == 1, err
    for part in ("mccfr-plus: error: ", *parts):
        assert part in err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["--cluster=rai"], ["cluster", "must be local, ray, ray://HOST:PORT or HOST:PORT"]),
        (["--cluster=ray://nowhere"], ["must be local, ray, ray://HOST:PORT or HOST:PORT"]),
        (["--cluster="], ["must be local, ray, ray://HOST:PORT or HOST:PORT"]),
        (["--cluster=ray", "--processes=2"], ["--processes=2 is for --cluster=local", "free CPUs"]),
    ],
)
def test_flags_that_are_refused(command, tmp_path, arguments, parts):
    assert_refused(command(*SHORT, *arguments, f"--out={tmp_path / 'out'}"), tmp_path, *parts)


def test_without_ray(command, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    found = command(*SHORT, "--cluster=ray", f"--out={tmp_path / 'out'}")
    assert_refused(found, tmp_path, "needs Ray, which cannot be imported", "pip install 'mccfr_plus[ray]'")


def test_other_versions(cluster, command, tmp_path, monkeypatch):
    there = sys.modules["mccfr_plus.cluster.cluster"]
    here = there.versions()
    monkeypatch.setattr(there, "versions", lambda: {**here, "numpy": "0.1"})
    found = command(*SHORT, "--cluster=ray", f"--out={tmp_path / 'out'}")
    assert_refused(found, tmp_path, f"has numpy {here['numpy']}, and this program 0.1", "Install the same version")


@pytest.mark.parametrize("form", ["{}", "ray://{}"])
def test_a_cluster_that_cannot_be_reached(command, tmp_path, monkeypatch, form):
    monkeypatch.setattr("ray.is_initialized", lambda: False)  # as if this process were not connected
    where = form.format("127.0.0.1:1")
    found = command(*SHORT, f"--cluster={where}", f"--out={tmp_path / 'out'}")
    assert_refused(found, tmp_path, f"no cluster at {where}", "ray start --head")


def test_a_game_that_workers_do_not_know(cluster, command, tmp_path):
    game, path = "python_faulty(length=3)", tmp_path / "out"
    arguments = ["compare", game, *SHORT[2:], "--cluster=ray", f"--out={path}", "--quiet"]
    assert_refused(command(*arguments), tmp_path, "cannot load 'python_faulty", "--import=")
    with pytest.raises(ClusterError, match=r"python_faulty.* --import=MODULE"):
        head_to_head(game, {}, {}, cluster=cluster, num_games=16, num_batches=1)
    with Cluster(imports=("no_such_module",)) as wrong, pytest.raises(ClusterError, match="no_such_module"):
        wrong.check_game(game)
    code, _, err = command(*arguments, "--import=lazy_games")
    assert (code, err) == (0, "")
    assert num_ended(path) == 1
    with Cluster(imports=("lazy_games",)) as importing:
        assert head_to_head(game, {}, {}, cluster=importing, num_games=16, num_batches=1).estimate.samples == 16
